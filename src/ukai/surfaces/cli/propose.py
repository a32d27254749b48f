"""`ukai propose FILE|-`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def propose(
    file: Annotated[str, typer.Argument(help="A delta in JSON or YAML; - reads it from standard input.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge it and write nothing.")] = False,
    contract: Annotated[
        Path | None, typer.Option("--contract", help="Hold it against this contract.", show_default=False)
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", help="What a context_ref means: name=Type#key.", show_default=False),
    ] = None,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Propose a change: it lands whole, or you are told everything that is wrong with it.

    Ends with 0 when it was committed (or would be), with 1 when it was rejected.
    """
    from ukai.app import propose as proposing

    try:
        held = proposing.read_context(context or ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--context") from None
    path = None if file == "-" else Path(file)
    most = proposing.ENOUGH
    raw = sys.stdin.buffer.read(most) if path is None else proposing.read_file(path, most=most)
    done = asyncio.run(
        proposing.run(workspace, path, raw, named=principal, dry_run=dry_run, contract=contract, context=held)
    )
    if isinstance(done, list):
        raise output.refused(done, as_json=as_json)
    output.emit(done.as_json(), as_json=as_json, text=done.text())
    if done.is_refused:
        raise typer.Exit(output.REFUSED)
