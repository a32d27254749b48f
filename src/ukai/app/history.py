"""`ukai history`: who changed what, when, from what to what; records as they were; the feed of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from ukai.app import desk as desks
from ukai.gate import feed as feeds
from ukai.gate import history
from ukai.kit import handle
from ukai.kit.errors import PermanentError

Gone = history.Gone
BEGINNING = feeds.BEGINNING
MAX_LIMIT = feeds.MAX_LIMIT


class NoRecord(PermanentError):
    """There never was such a record, or none that may be read."""

    hint = "write Type#key, as records are shown everywhere"


async def of_record(
    desk: desks.Desk, name: str, *, limit: int = 100, before: int | None = None, edges: bool = True
) -> dict[str, Any]:
    """`{"handle", "changes": [..], "before"}`, newest first; `before` is the next page. Raises NoRecord."""
    wanted = _handle(name)
    window = history.Window(limit=_limited(limit), before=before)
    async with desk.db.transaction() as tx:
        if await history.find(tx, wanted, rights=desk.rights) is None:
            raise NoRecord(f"there is no record {wanted} that may be read")
        found = await history.of_node(tx, wanted, rights=desk.rights, window=window, edges=edges)
    return {"handle": wanted, "changes": [c.as_json() for c in found], "before": _next(found, window)}


async def as_of(desk: desks.Desk, name: str, at: datetime) -> dict[str, Any]:
    """The record as it stood then. Raises NoRecord when it did not exist (yet), Gone when that is no longer kept."""
    wanted = _handle(name)
    async with desk.db.transaction() as tx:
        past = await history.as_of(tx, wanted, at, rights=desk.rights)
    if past is None:
        raise NoRecord(f"there was no record {wanted} at {_written(at)} that may be read")
    return {
        "handle": past.handle,
        "at": _written(at),
        "version": past.version,
        "state": past.state,
        "alive": past.alive,
        "fields": dict(past.props),
    }


async def of_commit(desk: desks.Desk, commit: str) -> dict[str, Any]:
    """What one commit changed, in order, as far as it may be read. Raises NoRecord."""
    try:
        id = UUID(commit)
    except ValueError:
        raise NoRecord(f"{commit!r} is no id of a commit", hint="`ukai propose` prints it") from None
    async with desk.db.transaction() as tx:
        found = await history.of_commit(tx, id, rights=desk.rights)
    if not found:
        raise NoRecord(
            f"there is no commit {commit} of which anything may be read", hint="`ukai propose` prints its id"
        )
    return {"commit": str(id), "changes": [c.as_json() for c in found]}


async def search(desk: desks.Desk, words: str, *, limit: int = 100, before: int | None = None) -> dict[str, Any]:
    """Changes whose values, before or after, hold the words; newest first."""
    window = history.Window(limit=_limited(limit), before=before)
    async with desk.db.transaction() as tx:
        found = await history.search(tx, _stored(words), rights=desk.rights, window=window)
    return {"search": words, "changes": [c.as_json() for c in found], "before": _next(found, window)}


async def authors(desk: desks.Desk, *, by_author: bool = True) -> dict[str, Any]:
    """How much each author wrote, and how much of it was refused first. Needs the right `audit`: raises NoRight."""
    desk.standing.need("audit", "see who wrote how much")
    async with desk.db.transaction() as tx:
        found = await history.shares(tx, by_author=by_author)
    return {"authors": [vars(s) for s in found]}


async def feed(desk: desks.Desk, after: str, *, limit: int = 100) -> dict[str, Any]:
    """`{"changes", "cursor", "more"}`: what changed after the cursor, oldest first. Raises Gone."""
    page = await feeds.read(desk.db, after, rights=desk.rights, limit=limit)
    return {"changes": [c.as_json() for c in page.changes], "cursor": page.cursor, "more": page.more}


def instant(text: str) -> datetime:
    """ISO 8601; without an offset UTC is meant. Raises ValueError."""
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no instant such as 2026-01-31T09:00:00Z") from None


def lines(changes: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Changes as people read them: one line each, with the commit for `ukai undo`, and one for each field."""
    for change in changes:
        author = change["author"]
        who = f"{author['id']} ({author['kind']}{', run ' + author['run'] if 'run' in author else ''})"
        what = f"{change['op']} {change['handle']}  version {change['version']}"
        yield f"{change['at']}  {change['commit']}  {what}  by {who}"
        for name in change["fields"]:
            before, after = change["before"].get(name), change["after"].get(name)
            told = f"{shown(before)} -> {shown(after)}" if change["op"] == "update" else shown(after or before)
            yield f"    {name}: {told}"


def _handle(name: str) -> str:
    parsed = handle.parse(name)
    if parsed is None or not _is_storable(name):
        raise NoRecord(f"{name!r} names no record")
    return str(parsed.whole)


def _is_storable(text: str) -> bool:
    """Whether the database can hold it: what it cannot, is nowhere in it."""
    return _stored(text) == text


def _stored(text: str) -> str:
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _limited(limit: int) -> int:
    return max(1, min(limit, MAX_LIMIT))


def _next(found: Sequence[history.Change], window: history.Window) -> int | None:
    return found[-1].seq if len(found) == window.limit else None


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def shown(value: Any) -> str:
    """A value in one line."""
    text = "none" if value is None else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
