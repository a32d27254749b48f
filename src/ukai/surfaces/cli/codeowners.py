"""`ukai codeowners [--check | --write]`."""

from __future__ import annotations

from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def codeowners(
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 when the file on disk differs.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the file.")] = False,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """The CODEOWNERS of this monorepo, from `owners` in ukai.yaml."""
    from ukai.app import codeowners as owning

    if check and write:
        raise typer.BadParameter("choose --check or --write")
    found = owning.codeowners(workspace)
    if write and not found.is_current:
        owning.write(found)
    document = {
        "file": str(found.file),
        "text": found.text,
        "current": found.is_current or write,
        "without_owner": list(found.without_owner),
    }
    text = found.text
    if write:
        text = f"{found.file} is written"
    elif check:
        text = f"{found.file} is {'as it should be' if found.is_current else 'out of date: ukai codeowners --write'}"
    if found.without_owner:
        output.progress(f"without a team in owners.agents: {', '.join(found.without_owner)}")
    output.emit(document, as_json=as_json, text=text)
    if check and not found.is_current:
        raise typer.Exit(output.REFUSED)
