"""`ukai init DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the workspace is made.")],
    force: Annotated[
        bool, typer.Option("--force", help="Add what is missing to a folder that is not empty; change nothing.")
    ] = False,
    as_json: output.Json = False,
) -> None:
    """Make a small workspace: one agent, access that denies by default, nothing that needs a key."""
    from ukai.app import init as making

    made = making.init(folder, add_missing=force)
    output.made(made.folder, made.written, made.kept, made.next, as_json=as_json)
