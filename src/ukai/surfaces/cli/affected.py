"""`ukai affected --since REV`."""

from __future__ import annotations

from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def affected(
    since: Annotated[str, typer.Option("--since", help="The revision to compare with.")],
    until: Annotated[
        str | None, typer.Option("--until", help="The revision to look at; none is the folder as it is.")
    ] = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Which agents a change reaches: through their own folder, family, tools, guardrails, access and models."""
    from ukai.app import affected as reaching

    report = reaching.affected(workspace, since=since, until=until)
    lines: list[str] = []
    for found in report.agents:
        lines.append(f"{found.agent} ({found.status})")
        lines += [f"  {r.path}: {r.because}" for r in found.reasons]
    if report.elsewhere:
        lines.append("reaching no agent: " + ", ".join(report.elsewhere))
    output.emit(report.as_json(), as_json=as_json, text="\n".join(lines) or "no agent is affected")
