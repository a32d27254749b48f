"""`ukai export AGENT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def export(
    agent: Annotated[str, typer.Argument(help="The agent.")],
    to_format: Annotated[str, typer.Option("--format", help="The format: agent-skills.")] = "agent-skills",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the whole folder here; else SKILL.md is printed.")
    ] = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """An agent in the open Agent Skills format, without loss: `ukai lint` reads it back to the same agent."""
    from ukai.app import export as exporting

    if to_format not in exporting.FORMATS:
        raise typer.BadParameter(f"no format {to_format!r}; known: {', '.join(exporting.FORMATS)}")
    exported = exporting.export(workspace, agent)
    if out is not None:
        written = exporting.write(exported, out)
        document = {"agent": agent, "written": [str(p) for p in written]}
        output.emit(document, as_json=as_json, text="\n".join(str(p) for p in written))
        return
    output.emit(exported.as_json(), as_json=as_json, text=exported.manifest)
