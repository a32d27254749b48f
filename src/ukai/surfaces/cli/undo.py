"""`ukai undo COMMIT`."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def undo(
    commit: Annotated[str | None, typer.Argument(help="The id of a commit.", show_default=False)] = None,
    run: Annotated[str | None, typer.Option("--run", help="All that this run committed.", show_default=False)] = None,
    author: Annotated[
        str | None, typer.Option("--author", help="All that they committed since --since.", show_default=False)
    ] = None,
    since: Annotated[str | None, typer.Option("--since", help="2026-01-31T09:00:00Z.", show_default=False)] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="Exclusive; now, if it is not given.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Take back what was committed: whole, or not at all. History keeps both, and an undo can be undone.

    Ends with 1 when somebody wrote there since, or it is not yours to change; all of it is named.
    """
    from ukai.app import desk as desks
    from ukai.app import history
    from ukai.app import undo as undoing

    def instant(text: str | None, option: str) -> datetime | None:
        try:
            return None if text is None else history.instant(text)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint=option) from None

    span = {"since": instant(since, "--since"), "until": instant(until, "--until")}
    if [commit, run, author].count(None) != 2 or (author is None) != (since is None):
        raise typer.BadParameter("give one of COMMIT, --run RUN, and --author AUTHOR with --since TIME")

    async def ask() -> Any:
        async with desks.opened(workspace, named=principal, max_size=2) as desk:
            return await undoing.undo(desk, commit, run=run, author=author, dry_run=dry_run, **span)

    done = asyncio.run(ask())
    output.emit(done.as_json(), as_json=as_json, text=done.text())
    if done.is_refused:
        raise typer.Exit(output.REFUSED)
