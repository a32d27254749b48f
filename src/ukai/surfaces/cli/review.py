"""`ukai review list | show | approve | reject`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="What waits for a human.")

Item = Annotated[str, typer.Argument(help="ReviewItem#id, or the id.")]
Note = Annotated[str, typer.Option("--note", help="What you say about it; it is kept with the item.")]


@app.command(name="list")
def list_(
    state: Annotated[str, typer.Option("--state", help="open, approved, rejected, expired or all.")] = "open",
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """The items that you may see, newest first."""
    from ukai.app import review

    if state not in (*review.STATES, "all"):
        raise typer.BadParameter(f"{state!r} is no state", param_hint="--state")
    found = _at(workspace, principal, lambda d: review.listed(d, state=None if state == "all" else state))
    output.emit({"items": found}, as_json=as_json, text="\n".join(review.lines(found)) or "nothing waits")


@app.command()
def show(
    item: Item,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """One item: why it waits, what it would change, and what was said against every attempt."""
    from ukai.app import review

    found = _at(workspace, principal, lambda d: review.shown(d, item))
    parts = [(k, v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, indent=2)) for k, v in found.items()]
    output.emit(found, as_json=as_json, text="\n".join(f"{name}: {text}" for name, text in parts))


@app.command()
def approve(
    item: Item,
    instead: Annotated[
        Path | None, typer.Option("--with", help="A corrected delta, instead of the one held.", show_default=False)
    ] = None,
    note: Note = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge it and write nothing.")] = False,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Propose what the item holds, in your name and under your rights; it is approved with it, or stays open.

    Ends with 1 when the gate refuses it.
    """
    from ukai.app import propose, review

    given = None
    if instead is not None:
        given, findings = propose.read(propose.read_file(instead, most=propose.ENOUGH), name=instead.name)
        if given is None:
            raise output.refused(findings, as_json=as_json)
    _told(
        _at(workspace, principal, lambda d: review.approved(d, item, instead=given, note=note, dry_run=dry_run)),
        as_json,
    )


@app.command()
def reject(
    item: Item,
    note: Note = "",
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """The item is decided, and nothing else is written."""
    from ukai.app import review

    _told(_at(workspace, principal, lambda d: review.rejected(d, item, note=note)), as_json)


def _at(workspace: Path, principal: str | None, ask: Callable[[Any], Awaitable[Any]]) -> Any:
    from ukai.app import desk as desks

    async def run() -> Any:
        async with desks.opened(workspace, named=principal, max_size=2) as desk:
            return await ask(desk)

    return asyncio.run(run())


def _told(outcome: Any, as_json: bool) -> None:
    output.emit(outcome.as_json(), as_json=as_json, text=outcome.text())
    if outcome.is_refused:
        raise typer.Exit(output.REFUSED)
