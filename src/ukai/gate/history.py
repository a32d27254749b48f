"""Reading back what was written: timelines, the graph as it was, who wrote what, and the words in it (W10, W11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.access import record
from ukai.gate import rows
from ukai.gate.author import Author
from ukai.gate.rights import ALL, Rights
from ukai.kit import handle
from ukai.kit.errors import PermanentError


class Gone(PermanentError):
    """What was asked for lies before the oldest change that is kept."""

    hint = "read the current state, and go on from there"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change of one node or edge."""

    seq: int
    commit: UUID
    op: str
    """create, update or delete. What an undo brings back is a create, with its last values before."""
    kind: str
    """node or edge."""
    id: UUID
    domain: str
    type: str
    handle: str
    """`Type#key`; of an edge `Type#key -edge-> Type#key`."""
    version: int
    """After the change; a deletion keeps it."""
    fields: tuple[str, ...]
    """What changed. `state` is the node's state; `@readers` are readers that follow a neighbour's."""
    before: Mapping[str, Any]
    """The changed fields that had a value."""
    after: Mapping[str, Any]
    at: datetime
    author: Author
    key: str = ""
    """The commit's idempotency key."""

    def as_json(self) -> dict[str, Any]:
        """Plain data, in a fixed order."""
        return {
            "seq": self.seq,
            "commit": str(self.commit),
            "op": self.op,
            "kind": self.kind,
            "id": str(self.id),
            "domain": self.domain,
            "type": self.type,
            "handle": self.handle,
            "version": self.version,
            "fields": list(self.fields),
            "before": dict(self.before),
            "after": dict(self.after),
            "at": self.at.isoformat().replace("+00:00", "Z"),
            "author": self.author.as_json(),
        }


@dataclass(frozen=True, kw_only=True)
class Past:
    """A node as it was."""

    id: UUID
    type: str
    key: str
    props: Mapping[str, Any]
    state: str | None
    version: int
    alive: bool
    """False: it had been deleted by then; the values are its last ones."""

    @property
    def handle(self) -> str:
        return f"{self.type}#{self.key}"


@dataclass(frozen=True, kw_only=True)
class Share:
    """How much one kind of author, or one author, wrote."""

    kind: str
    id: str
    commits: int
    changes: int
    refused: int
    """Attempts that were turned down."""
    first_pass: float | None
    """Of the steps (run and step, else commit) that ended in a commit, the share without a refused attempt before."""


Window = rows.Window
NOW = Window()


async def of_node(
    tx: store.Transaction, named: str | UUID, *, rights: Rights | None, window: Window = NOW, edges: bool = True
) -> list[Change]:
    """The timeline of a node, newest first, with that of its edges. Empty when it never was, or may not be read.

    `named` is a handle or an id; a handle means the living node, else the one that was deleted last. Fields that may
    not be read are left out, and so are edges to nodes that may not be read.
    """
    id = await find(tx, named, rights=rights)
    if id is None or rights is None:
        return []
    found = [_change(r) for r in await rows.changes_of(tx, id, window, edges=edges, allowed=await _allowed(tx, rights))]
    return await seen(tx, found, rights=rights)


async def of_commit(tx: store.Transaction, commit: UUID, *, rights: Rights | None) -> list[Change]:
    """The changes of one commit, in order: with `rights.ALL` what an undo starts from."""
    if rights is None:
        return []
    found = await rows.visible(tx, await rows.changes_in(tx, [commit]), rights)
    return await seen(tx, [_change(r) for r in found], rights=rights)


async def seen(tx: store.Transaction, changes: Sequence[Change], *, rights: Rights) -> list[Change]:
    """Changes of records that may be read, without the fields that may not. A change of which nothing is left is not
    there; edges have no fields that are read one by one.
    """
    if rights is ALL:
        return list(changes)
    known = await records(tx, {c.id for c in changes if c.kind == "node"})
    found: list[Change] = []
    for change in changes:
        if change.kind != "node":
            found.append(change)
        elif change.id in known:
            left = _seen(change, known[change.id], rights)
            found += [left] if left.fields or change.op != "update" else []
    return found


async def search(tx: store.Transaction, text: str, *, rights: Rights | None, window: Window = NOW) -> list[Change]:
    """Changes of nodes whose values, before or after, hold the words of `text` (as a web search writes them).

    Newest first; only nodes that may be read now, and of them only fields that may.
    """
    if rights is None:
        return []
    found = await rows.changes_about(tx, text, window, allowed=await _allowed(tx, rights))
    whole = {r["seq"]: len(r["fields"]) for r in found}
    shown = await seen(tx, [_change(r) for r in found], rights=rights)
    # Words that stand only in what may not be read find nothing: else a search would tell them.
    return [
        c for c in shown if len(c.fields) == whole[c.seq] or await rows.holds(tx, text, before=c.before, after=c.after)
    ]


async def index(db: store.Database, *, batch: int = 5_000) -> int:
    """Take the words of new changes into the index; how many changes. `search` finds them before too, only slower."""
    total = 0
    while True:
        async with db.transaction() as tx:
            done = await rows.index_text(tx, batch)
        total += done
        if done < batch:
            return total


async def as_of(tx: store.Transaction, named: str | UUID, at: datetime, *, rights: Rights | None) -> Past | None:
    """The node as it stood at the instant `at`: today's values with the later changes taken back.

    None when it did not exist yet or may not be read. Raises Gone when changes since then are no longer kept.
    """
    id = await find(tx, named, rights=rights, at=at)
    row = await rows.node(tx, id) if id is not None else None
    if row is None or rights is None:
        return None
    if (floor := await rows.floor(tx)) is not None and floor > at:
        raise Gone(f"history is kept from {floor.isoformat()} on, {at.isoformat()} was asked for")
    if row["created_at"] > at:
        return None
    values, version, alive = {**row["props"], "state": row["state"]}, row["version"], row["alive"]
    for change in await rows.changes_after(tx, row["id"], at):
        before: dict[str, Any] = change["before"] or {}
        for name in change["fields"]:
            values.pop(name, None)
        values |= {name: before[name] for name in change["fields"] if name in before and not name.startswith("@")}
        if change["op"] == "delete":
            alive = True
            continue
        alive = alive and change["op"] != "create"  # brought back by an undo later: then it was deleted
        if change["fields"] != ["@readers"]:
            version = change["version"] - 1
    about = (await records(tx, {row["id"]}))[row["id"]]
    values = {k: v for k, v in values.items() if rights.read(about, k).allowed}
    state = values.pop("state", None)
    return Past(id=row["id"], type=row["type"], key=row["key"], props=values, state=state, version=version, alive=alive)


async def shares(tx: store.Transaction, *, window: Window = NOW, by_author: bool = False) -> list[Share]:
    """Who wrote what: one line a kind of author (or an author), most commits first."""
    return [Share(**row) for row in await rows.shares(tx, window, by_author=by_author)]


async def find(
    tx: store.Transaction, named: str | UUID, *, rights: Rights | None, at: datetime | None = None
) -> UUID | None:
    """The id behind a handle or an id, if that node may be read. At an earlier time, the one that lived then."""
    if rights is None:
        return None
    allowed = await _allowed(tx, rights)
    if isinstance(named, UUID):
        return await rows.readable(tx, id=named, allowed=allowed)
    parsed = handle.parse(named)
    if parsed is None:
        return None
    return await rows.readable(tx, type=parsed.type, key=parsed.key, at=at, allowed=allowed)


async def _allowed(tx: store.Transaction, rights: Rights) -> rows.Allowed:
    return rights.sql("n", await rows.owning_edges(tx))


async def records(tx: store.Transaction, wanted: Collection[UUID]) -> dict[UUID, record.Record]:
    """Nodes as they stand, deleted or not, with their owners: what rights are decided about."""
    ids = [str(id) for id in wanted]
    above: dict[str, list[str]] = {}
    for owned, owner in await rows.owners_of(tx, ids, depth=record.OWNERS_DEPTH):
        above.setdefault(owned, []).append(owner)
    owners = await rows.records(tx, sorted({o for many in above.values() for o in many}))

    def chain(id: str, depth: int) -> tuple[record.Record, ...]:
        named = above.get(id, ()) if depth else ()
        return tuple(_as_record(owners[o], chain(o, depth - 1)) for o in named if o in owners)

    found: dict[UUID, record.Record] = {}
    for row in await rows.nodes(tx, ids):
        found[row["id"]] = _as_record(row, chain(str(row["id"]), record.OWNERS_DEPTH))
    return found


def _as_record(row: Mapping[str, Any], owners: tuple[record.Record, ...]) -> record.Record:
    return record.Record(
        type=row["type"],
        key=row["key"],
        path=row["path"],
        fields={**row["props"], "state": row["state"]},
        readers=None if row["readers"] is None else frozenset(row["readers"]),
        owners=owners,
    )


def _seen(change: Change, of: record.Record, rights: Rights) -> Change:
    """The change without the fields that may not be read."""
    fields = tuple(f for f in change.fields if f.startswith("@") or rights.read(of, f).allowed)
    if fields == change.fields:
        return change
    before = {k: v for k, v in change.before.items() if k in fields}
    after = {k: v for k, v in change.after.items() if k in fields}
    return replace(change, fields=fields, before=before, after=after)


def _change(row: Mapping[str, Any]) -> Change:
    author = Author(kind=row["author_kind"], id=row["author_id"], run=row["run"] or "", step=row["step"] or "")
    return Change(
        seq=row["seq"],
        commit=row["commit"],
        op=row["op"],
        kind=row["kind"],
        id=row["id"],
        domain=row["domain"],
        type=row["type"],
        handle=row["handle"],
        version=row["version"],
        fields=tuple(row["fields"]),
        before=row["before"] or {},
        after=row["after"] or {},
        at=row["at"],
        author=author,
        key=row["key"] or "",
    )


change = _change
"""A row of `change` joined with its commit, as a value."""
