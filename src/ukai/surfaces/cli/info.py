"""`ukai info [AGENT] [--explain]`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def info(
    agent: Annotated[str | None, typer.Argument(help="An agent; none lists them.", show_default=False)] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say where each value came from.")] = False,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """What an agent resolved to: its own values, its family's, models.yaml, access/, defaults."""
    from ukai.app import info as informing

    if agent is None:
        rows = informing.agents(workspace)
        lines = [f"{r['agent']:<24} {r['model']:<28} {r['tools']:>3} tools  {r['description']}" for r in rows]
        output.emit({"agents": rows}, as_json=as_json, text="\n".join(lines) or "no agents yet: ukai new agent NAME")
        return
    values = informing.explain(workspace, agent)
    document: dict[str, Any] = {"agent": agent, "values": [vars(v) for v in values]}
    if not explain:
        document = {"agent": agent, "values": {v.field: v.value for v in values}}
    lines = [f"{v.field:<24} {_short(v.value)}" + (_from(v) if explain else "") for v in values]
    output.emit(document, as_json=as_json, text="\n".join(lines))


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value, ensure_ascii=False)


def _from(row: Any) -> str:
    return f"\n{'':<24}   from {row.source}" + (f", {row.where}" if row.where else "")
