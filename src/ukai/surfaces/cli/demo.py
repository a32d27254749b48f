"""`ukai demo`."""

from __future__ import annotations

import asyncio

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def demo(as_json: output.Json = False, quiet: output.Quiet = False) -> None:
    """Load the sample company and watch an agent answer from its records."""
    from ukai.app import demo as verb

    shown = asyncio.run(verb.demo(output.live(quiet=quiet or as_json)))
    document = {"records": shown.records, "run": shown.run, "other": shown.other}
    output.emit(document, as_json=as_json, text=verb.text(shown))
