"""`ukai skill suggest`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def skill() -> None:
    """What people repeat, and what could become of it."""


@app.command()
def suggest(
    agent: Annotated[str | None, typer.Option(help="Of this agent alone.")] = None,
    days: Annotated[int, typer.Option(min=1, help="How far back.")] = 30,
    zone: Annotated[str, typer.Option("--timezone", help="An IANA zone, for days and hours.")] = "UTC",
    write: Annotated[bool, typer.Option("--write", help="Write the drafts; nothing is written over.")] = False,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Prompts that recur, as draft skills; skills that run often, as draft reports; each with its evidence."""
    from ukai.app import promotion as verb

    found = asyncio.run(verb.suggest(workspace, principal=principal, agent=agent, days=days, zone=zone, write=write))
    output.emit(found.as_json(), as_json=as_json, text=verb.text(found))
