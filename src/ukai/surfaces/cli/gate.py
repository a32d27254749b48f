"""`ukai gate replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _gate() -> None:  # pyright: ignore[reportUnusedFunction]
    """The write gate, tried out."""


@app.command()
def replay(
    schema: Annotated[Path, typer.Option("--schema", help="A domain file.")],
    deltas: Annotated[Path, typer.Option("--deltas", help="One JSON object a line: {id, author, delta, expect?, ..}.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Judge each line against the empty database; keep nothing.")
    ] = False,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Propose every line in order on an empty database that is thrown away, and compare with what the line expects.

    Ends with 1 when a line came out otherwise than expected.
    """
    from ukai.app import replay as replaying

    def progress(message: str) -> None:
        output.progress(message, quiet=quiet)

    report = replaying.replay(workspace, schema=schema, deltas=deltas, dry_run=dry_run, progress=progress)
    output.emit(report.as_json(), as_json=as_json, text=report.text())
    if report.failed:
        raise typer.Exit(output.REFUSED)
