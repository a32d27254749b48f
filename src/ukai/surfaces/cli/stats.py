"""`ukai stats gate`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _stats() -> None:  # pyright: ignore[reportUnusedFunction]
    """What happened, counted."""


@app.command()
def gate(
    since: Annotated[str | None, typer.Option("--since", help="2026-01-31T09:00:00Z.", show_default=False)] = None,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """By kind of author and by author: share of commits, first-pass rate, attempts to accept, what was taken back; and
    what is refused most often. Needs the right `audit`.
    """
    from ukai.app import desk as desks
    from ukai.app import history, stats

    try:
        start = None if since is None else history.instant(since)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--since") from None

    async def ask() -> Any:
        async with desks.opened(workspace, named=principal, max_size=2) as desk:
            return await stats.gate(desk, since=start)

    found = asyncio.run(ask())
    output.emit(found.as_json(), as_json=as_json, text="\n".join(found.lines()))
