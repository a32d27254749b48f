"""`ukai review`: what waits for a human, and what they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ukai.app import desk as desks
from ukai.app import history, propose
from ukai.gate import review
from ukai.kit.errors import PermanentError

STATES = review.STATES
TYPE = review.TYPE


class NoItem(PermanentError):
    """There is no such item, or none that may be read."""

    hint = "`ukai review list` shows those that you may see"


async def listed(desk: desks.Desk, *, state: str | None = "open") -> list[dict[str, Any]]:
    """Items in a state (all, for None), newest first, that whoever stands here may read."""
    return [item.as_json() for item in await review.items(desk.db, rights=desk.rights, state=state)]


async def shown(desk: desks.Desk, name: str) -> dict[str, Any]:
    """One item, with what it holds. Raises NoItem."""
    return (await _item(desk, name)).as_json()


async def approved(
    desk: desks.Desk, name: str, *, instead: propose.Given | None = None, note: str = "", dry_run: bool = False
) -> propose.Outcome:
    """Propose what is held, or a corrected delta, as whoever stands here; the item is approved with it.

    Raises NoItem.
    """
    answer = await review.approve(
        desk.db,
        await _item(desk, name),
        author=desk.standing.author,
        rights=desk.rights,
        clock=desk.clock,
        instead=None if instead is None else _plain(instead),
        note=note,
        dry_run=dry_run,
    )
    return propose.Outcome(answer=answer)


async def rejected(desk: desks.Desk, name: str, *, note: str = "") -> propose.Outcome:
    """The item is rejected. Raises NoItem."""
    answer = await review.decline(
        desk.db,
        await _item(desk, name),
        author=desk.standing.author,
        rights=desk.rights,
        clock=desk.clock,
        note=note,
    )
    return propose.Outcome(answer=answer)


def lines(items: list[dict[str, Any]]) -> Iterator[str]:
    """Items in one line each."""
    for item in items:
        told = history.shown(item.get("summary", ""))
        yield f"{item['item']}  {item['state']:<8}  {item.get('reason', ''):<18}  {told}"


def _plain(given: propose.Given) -> Any:
    return given.value if given.doc is None else given.doc.data


async def _item(desk: desks.Desk, name: str) -> review.Item:
    found = await review.item(desk.db, name, rights=desk.rights)
    if found is None:
        raise NoItem(f"there is no item {name!r} that you may see")
    return found
