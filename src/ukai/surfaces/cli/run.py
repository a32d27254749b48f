"""`ukai run show | list`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

ASKED = 60
"""Characters of a question that a list shows."""

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Saved runs.")


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="As `ukai ask` and `ukai run list` print it.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """One run: answer, sources, every call."""
    from ukai.app import ask, run

    found = asyncio.run(run.show(workspace, run_id, principal=principal))
    asked = found.run
    head = f"{asked.agent} asked by {asked.principal} at {asked.started_at.isoformat()}\n{asked.question}\n"
    output.emit(found.as_json(), as_json=as_json, text=f"{head}\n{ask.shown(found, again=True)}")


@app.command("list")
def listed(
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    after: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 20,
    as_json: output.Json = False,
) -> None:
    """Runs that you may read, newest first."""
    from ukai.app import run

    page = asyncio.run(run.listed(workspace, principal=principal, after=after, limit=limit))
    rows = [_row(r) for r in page["runs"]]
    more = [f"more: --after {page['after']}"] if page["after"] else []
    output.emit(page, as_json=as_json, text="\n".join([*rows, *more]) or "no runs")


def _row(run: dict[str, Any]) -> str:
    question = " ".join(run["question"].split())
    asked = question if len(question) <= ASKED else question[: ASKED - 1] + "…"
    status = run.get("status") or "running"
    return f"{run['run_id']}  {run['started_at'][:19]}Z  {run['agent']:<14} {status:<9} {run['principal']}  {asked}"
