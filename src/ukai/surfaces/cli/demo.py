"""`ukai demo`."""

from __future__ import annotations

import asyncio

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def demo(as_json: output.Json = False, quiet: output.Quiet = False) -> None:
    """Load the sample company and watch an agent answer from its records."""
    from ukai.app import ask
    from ukai.app import demo as verb

    shown = asyncio.run(verb.demo(output.live(quiet=quiet or as_json)))
    document = {"records": shown.records, "run": shown.run, "other": shown.other}
    text = "\n".join(
        [
            f"{shown.records} records of the sample company stand in the graph.",
            "",
            f"{shown.run['principal']} asks {shown.run['agent']}: {shown.run['question']}",
            "",
            ask.shown(shown.run),
            "",
            f"{shown.other['principal']} asks the same:",
            "",
            ask.shown(shown.other),
        ]
    )
    output.emit(document, as_json=as_json, text=text)
