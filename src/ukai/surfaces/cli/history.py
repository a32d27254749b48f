"""`ukai history HANDLE`, and the other ways into what was written."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def history(
    handle: Annotated[str | None, typer.Argument(help="Type#key.", show_default=False)] = None,
    commit: Annotated[
        str | None, typer.Option("--commit", help="What this commit changed.", show_default=False)
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="The record as it stood then: 2026-01-31T09:00:00Z.", show_default=False),
    ] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="Changes that hold these words.", show_default=False)
    ] = None,
    authors: Annotated[bool, typer.Option("--authors", help="Who wrote how much. Needs the right `audit`.")] = False,
    feed: Annotated[bool, typer.Option("--feed", help="Every change, oldest first.")] = False,
    after: Annotated[str, typer.Option("--after", help="Of the feed: what came after this cursor.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most so many changes.")] = 100,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Who changed what, when, from what to what; as far as you may read it."""
    from ukai.app import desk as desks
    from ukai.app import history as asking

    _one_of(handle=handle, commit=commit, search=search, authors=authors or None, feed=feed or None)
    if as_of is not None and handle is None:
        raise typer.BadParameter("it asks for a record: name one", param_hint="--as-of")
    ask: Callable[[Any], Awaitable[dict[str, Any]]]
    if commit is not None:
        ask = partial(asking.of_commit, commit=commit)
    elif search is not None:
        ask = partial(asking.search, words=search, limit=limit)
    elif authors:
        ask = asking.authors
    elif feed:
        ask = partial(asking.feed, after=after, limit=limit)
    elif as_of is not None:
        try:
            ask = partial(asking.as_of, name=handle or "", at=asking.instant(as_of))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--as-of") from None
    else:
        ask = partial(asking.of_record, name=handle or "", limit=limit)

    async def run() -> dict[str, Any]:
        async with desks.opened(workspace, named=principal, max_size=2) as desk:
            return await ask(desk)

    try:
        found = asyncio.run(run())
    except asking.Gone as gone:
        output.emit({"error": "gone", "message": str(gone)}, as_json=as_json, text=str(gone))
        raise typer.Exit(output.REFUSED) from None
    output.emit(found, as_json=as_json, text="\n".join(_lines(found, asking.lines)))


def _one_of(**ways: object) -> None:
    given = [f"--{n}" if n != "handle" else "HANDLE" for n, value in ways.items() if value is not None]
    if len(given) != 1:
        said = " and ".join(given) or "nothing"
        raise typer.BadParameter(f"give one of HANDLE, --commit, --search, --authors, --feed; {said} was given")


def _lines(found: dict[str, Any], lines: Callable[[Any], Iterator[str]]) -> Iterator[str]:
    if "authors" in found:
        for a in found["authors"]:
            first = "" if a["first_pass"] is None else f", {a['first_pass']:.0%} at the first attempt"
            name = f"{a['kind']}:{a['id']}"
            yield f"{name:<32} {a['commits']:>6} commits {a['changes']:>6} changes {a['refused']:>5} refused{first}"
    elif "fields" in found:
        gone = "" if found["alive"] else " (deleted by then)"
        yield f"{found['handle']} at {found['at']}: version {found['version']}{gone}"
        state = {} if found["state"] is None else {"state": found["state"]}
        yield from (f"    {name}: {value}" for name, value in {**found["fields"], **state}.items())
    else:
        yield from lines(found["changes"]) if found["changes"] else ("nothing",)
        if "cursor" in found:
            yield f"cursor: {found['cursor']}{' (there is more)' if found['more'] else ''}"
