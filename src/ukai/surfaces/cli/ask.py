"""`ukai ask AGENT QUESTION`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def ask(
    agent: Annotated[str, typer.Argument(help="The agent's name, as its folder is called.")],
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Ask an agent, and see its answer, its sources and what it considered."""
    from ukai.app import ask as verb

    show = verb.lines(output.live(quiet=quiet or as_json))
    outcome = asyncio.run(verb.at(workspace, agent, question, principal=principal, progress=show))
    output.emit(outcome.as_json(), as_json=as_json, text=verb.shown(outcome))
    if outcome.status != "answered":
        raise typer.Exit(output.REFUSED)
