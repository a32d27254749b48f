"""`ukai new agent|skill|report|guardrail NAME`."""

from __future__ import annotations

from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def new(
    kind: Annotated[str, typer.Argument(help="agent, skill, report or guardrail.")],
    name: Annotated[str, typer.Argument(help="Its name: lower case letters, digits and hyphens.")],
    agent: Annotated[
        str | None, typer.Option("--agent", help="The agent that a skill or report lies under, or a guardrail reaches.")
    ] = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Make one new file that lints clean, and say what to do with it. Nothing is ever overwritten."""
    from ukai.app import new as making

    if kind not in making.KINDS:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(making.KINDS)}", param_hint="KIND")
    made = making.new(workspace, kind, name, agent=agent)
    output.made(made.folder, made.written, made.kept, made.next, as_json=as_json)
