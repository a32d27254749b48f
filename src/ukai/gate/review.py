"""What waits for a human: items of the domain `review_queue`, an ordinary domain that comes with the product (W5, W6).

An item holds a delta. Approving it proposes that delta again, as whoever approves and under their rights, together with
the item's own transition: both land, or neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from ukai import store
from ukai.gate import audit, domains, history, rows
from ukai.gate import limits as limits_
from ukai.gate.author import Author
from ukai.gate.loop import Escalated
from ukai.gate.rejection import reject
from ukai.gate.rights import ALL, Rights
from ukai.gate.submit import Committed, Rejected, submit
from ukai.graph import schema, shipped
from ukai.kit import handle, ids
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError

DOMAIN = "review_queue"
TYPE = "ReviewItem"
STATES = ("open", "approved", "rejected", "expired")
KEPT = timedelta(days=30)
"""How long an item waits before it may expire."""
KEEPER = Author(kind="workflow", id="service:review")
"""Who lets items expire."""


class NotHeld(PermanentError):
    """An item could not be made. Nothing waits for anybody then, which must not pass in silence."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One item, as far as whoever asks may read it."""

    id: UUID
    state: str
    version: int
    fields: Mapping[str, Any]
    by: str
    """Who wrote it last: `human:ann@example.com`."""

    @property
    def handle(self) -> str:
        return f"{TYPE}#{self.id}"

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"item": self.handle, "state": self.state, "by": self.by, **self.fields}


def domain() -> schema.Domain:
    """The domain as it is shipped."""
    return shipped.domains()[DOMAIN]


async def ensure(db: store.Database, *, at: datetime) -> None:
    """The domain is in the store, in the version that this release brings."""
    known = (await domains.known(db)).domains.get(domain().domain)
    if known is None or known.fingerprint != domain().fingerprint:
        done = await domains.upload(db, domain(), author=KEEPER, at=at)
        if done.domain is None:
            raise NotHeld(f"the domain {domain().domain!r} cannot be uploaded: {done.findings[0]}")


async def hold(
    db: store.Database,
    *,
    reason: str,
    summary: str,
    reviewers: Sequence[str],
    author: Author,
    clock: Clock,
    delta: Any = None,
    context: Mapping[str, str] | None = None,
    attempts: Sequence[Any] = (),
    key: str = "",
    kept: timedelta = KEPT,
    entropy: ids.Entropy = os.urandom,
) -> str:
    """Make an item that waits for `reviewers` (principals), and give its handle.

    `delta` is what is proposed when it is approved; without one, the approval is all there is: a step that only asks.
    `context` says what its context_refs mean. Raises NotHeld.
    """
    await ensure(db, at=clock.now())
    values = {
        "reviewers": list(reviewers),
        "reason": reason,
        "summary": summary[:2000],
        "delta": delta,
        "context": dict(context) if context else None,
        "attempts": list(attempts) or None,
        "run": author.run or None,
        "step": author.step or None,
        "expires_at": (clock.now() + kept).isoformat(),
    }
    op = {
        "kind": "create_node",
        "ref": "$item",
        "node_type": TYPE,
        "set": {k: v for k, v in values.items() if v is not None},
    }
    proposal = {"ops": [op]} | ({"key": key} if key else {})
    limits = replace(limits_.LIMITS, depth=2 * audit.DEPTH_KEPT)
    done = await submit(db, proposal, author=author, rights=ALL, clock=clock, entropy=entropy, limits=limits)
    if isinstance(done, Rejected):
        raise NotHeld(f"an item for review could not be made: {done.rejections[0]}")
    return done.nodes["$item"].handle


async def hold_escalated(
    db: store.Database,
    escalated: Escalated,
    *,
    reviewers: Sequence[str],
    author: Author,
    clock: Clock,
    context: Mapping[str, str] | None = None,
) -> str:
    """An item for what the loop gave up: the last proposal is held, every attempt stands beside it. Raises NotHeld."""
    catalogue = await domains.known(db)
    item = audit.storable(escalated.review_item())
    last: Any = audit.storable(escalated.attempts[-1].value)
    return await hold(
        db,
        reason=escalated.reason,
        summary=f"{author} could not write this: {escalated.rejection.message}",
        reviewers=reviewers,
        author=author,
        clock=clock,
        delta=last if isinstance(last, dict) else None,
        context=context,
        attempts=[{**a, "proposal": audit.kept(a["proposal"], catalogue)} for a in item["attempts"]],
    )


async def items(
    db: store.Database, *, rights: Rights | None, state: str | None = "open", limit: int = 100
) -> list[Item]:
    """Items in a state (all, for None), newest first, that `rights` may read."""
    if rights is None:
        return []
    async with db.transaction() as tx:
        allowed = rights.sql("n", await rows.owning_edges(tx))
        found = await rows.in_state(tx, TYPE, state, allowed=allowed, limit=limit)
        known = await history.records(tx, {r["id"] for r in found})
    return [_item(r, known[r["id"]], rights) for r in found]


async def item(db: store.Database, name: str, *, rights: Rights | None) -> Item | None:
    """One item by its handle or its id; None when there is none that may be read."""
    parsed = handle.parse(name)
    named: str | UUID | None = name if parsed is not None else _uuid(name)
    if named is None or rights is None or (parsed is not None and parsed.type != TYPE):
        return None
    async with db.transaction() as tx:
        id = await history.find(tx, named, rights=rights)
        row = await rows.node(tx, id) if id is not None else None
        if row is None or row["type"] != TYPE or not row["alive"]:
            return None
        known = await history.records(tx, {row["id"]})
    return _item(row, known[row["id"]], rights)


async def approve(
    db: store.Database,
    item: Item,
    *,
    author: Author,
    rights: Rights,
    clock: Clock,
    instead: Any = None,
    note: str = "",
    dry_run: bool = False,
) -> Committed | Rejected:
    """Propose what is held (or `instead`, a corrected delta) as `author`, and the item is approved with it.

    Rejections point into the held delta. An item that somebody else has decided meanwhile is `precondition_failed`.
    """
    held: Any = item.fields.get("delta") if instead is None else instead
    ops: Any = cast("dict[str, Any]", held).get("ops", []) if isinstance(held, dict) else []
    if held is not None and not isinstance(ops, list):
        return Rejected(rejections=(_NO_DELTA,))
    proposal = {"ops": [*cast("list[Any]", ops), _decision(item, "approved", note)]}
    return await submit(
        db,
        proposal,
        author=author,
        rights=rights,
        clock=clock,
        context=item.fields.get("context"),
        dry_run=dry_run,
        limits=replace(limits_.LIMITS, ops=limits_.LIMITS.ops + 1, items=limits_.LIMITS.items + 1),
    )


async def decline(
    db: store.Database, item: Item, *, author: Author, rights: Rights, clock: Clock, note: str = ""
) -> Committed | Rejected:
    """The item is rejected, and nothing else is written."""
    proposal = {"ops": [_decision(item, "rejected", note)]}
    return await submit(db, proposal, author=author, rights=rights, clock=clock)


async def expire(db: store.Database, *, clock: Clock) -> int:
    """Open items whose time is over become expired; how many."""
    if domain().domain not in (await domains.known(db, fresh=True)).domains:
        return 0
    async with db.transaction() as tx:
        due = await rows.expired(tx, TYPE, clock.now())
    count = 0
    for id in due:
        op = {"kind": "update_node", "target": {"id": str(id)}, "test": {"state": "open"}, "to_state": "expired"}
        done = await submit(db, {"ops": [op]}, author=KEEPER, rights=ALL, clock=clock)
        count += isinstance(done, Committed)
    return count


def _decision(item: Item, state: str, note: str) -> dict[str, Any]:
    op: dict[str, Any] = {"kind": "update_node", "target": {"handle": item.handle}, "test": {"state": "open"}}
    return op | {"to_state": state} | ({"set": {"note": note}} if note else {})


def _item(row: Mapping[str, Any], record: Any, rights: Rights) -> Item:
    shown = {k: v for k, v in row["props"].items() if rights.read(record, k).allowed}
    return Item(
        id=row["id"], state=row["state"], version=row["version"], fields=shown, by=row["provenance"].get("by", "")
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


_NO_DELTA = reject(
    "list_expected",
    where="/ops",
    message="what is held is no delta",
    expected="a list of operations",
    hint="approve it with a delta of your own instead, or reject it",
)
