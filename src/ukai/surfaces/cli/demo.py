"""`ukai demo`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    as_json: output.Json = False,
    quiet: output.Quiet = False,
    workspace: Annotated[Path | None, typer.Option(hidden=True)] = None,
    accounts: Annotated[int | None, typer.Option(hidden=True)] = None,
    embed: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Load the sample company and watch an agent answer from its records."""
    from ukai.app import demo as verb

    progress = output.live(quiet=quiet or as_json)
    shown = asyncio.run(verb.demo(progress, path=workspace or verb.WORKSPACE, accounts=accounts, embed=embed))
    document = {"records": shown.records, "run": shown.run.as_json(), "other": shown.other.as_json()}
    output.emit(document, as_json=as_json, text=verb.text(shown))
