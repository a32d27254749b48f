"""Undo: commits taken back by a delta that puts back what stood before them (W11). History only grows.

The delta goes to the gate like any other: the rights of whoever undoes, the rules, the locks, the audit. What it may
beyond others, and what stands against it: docs/design/undo.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate import delta as deltas
from ukai.gate import guard, rows
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rights import Rights
from ukai.gate.submit import NO_RIGHTS, Committed, Rejected, submit
from ukai.kit import ids
from ukai.kit.clock import Clock

Row = Mapping[str, Any]
Outcome = Committed | Rejected


@dataclass(frozen=True, kw_only=True)
class Span:
    """What somebody committed in a time."""

    author: str
    """A principal, or the name of an agent, workflow or connector."""
    since: datetime
    until: datetime
    """Exclusive."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run committed."""

    id: str


async def undo(
    db: store.Database,
    what: UUID | Run | Span,
    *,
    author: Author,
    rights: Rights | None,
    clock: Clock,
    dry_run: bool = False,
    entropy: ids.Entropy = os.urandom,
) -> Outcome:
    """Take back one commit, or all that a run or somebody committed: as one commit, or not at all.

    A later write that is in force to a field, an edge or a state that would be put back is a `conflict`, with its
    author, time and commit. A dry run says what would change. What was taken back already is left out of a run or a
    span, and `already_undone` when it is asked for by itself; the undo of an undo is an undo.
    """
    if rights is None:
        return Rejected(rejections=(NO_RIGHTS,))
    async with db.transaction() as tx:
        delta = await _read(tx, what, rights)
    if isinstance(delta, Rejection):
        return Rejected(rejections=(delta,))
    return await submit(db, delta, author=author, rights=rights, clock=clock, dry_run=dry_run, entropy=entropy)


async def _read(tx: store.Transaction, what: UUID | Run | Span, rights: Rights) -> deltas.Delta | Rejection:
    if isinstance(what, UUID):
        found = await rows.commits(tx, [what])
        chosen = [row["id"] for row in found]
    elif isinstance(what, Run):
        found = await rows.commits_of_run(tx, what.id)
        chosen = await _in_force(tx, found)
    else:
        found = await rows.commits_of_author(tx, what.author, what.since, what.until)
        chosen = await _in_force(tx, found)
    changes = await rows.changes_in(tx, chosen)
    trouble = await _trouble(tx, what, found, changes, seen=len(await rows.visible(tx, changes, rights)))
    if trouble is not None:
        return trouble
    for row in await rows.taken_back(tx, chosen):
        return guard.taken_back(row)
    edges = await rows.ends_of(tx, [c["id"] for c in changes if c["kind"] == "edge"])
    return _Writer(ends=edges).delta(chosen, changes)


async def _in_force(tx: store.Transaction, found: Sequence[Row]) -> list[UUID]:
    """Of a run's or a span's commits, those that are in force and did not take back another of them: the rest is
    undone already.
    """
    among = {row["id"]: row["undone_by"] for row in found}
    undone = await rows.undoes(tx, list(among))
    return [id for id, by in among.items() if by is None and not any(among.get(u) == id for u in undone.get(id, ()))]


async def _trouble(
    tx: store.Transaction, what: UUID | Run | Span, found: Sequence[Row], changes: Sequence[Row], *, seen: int
) -> Rejection | None:
    """Why there is nothing to take back, or not for these eyes: of the changes they see so many."""
    named = f"the commit {what}" if isinstance(what, UUID) else "the run" if isinstance(what, Run) else "the span"
    if not changes and found:
        floor = await rows.floor(tx)
        if floor is not None and min(row["at"] for row in found) < floor:
            return _gone(named, f"changes are kept from {floor.isoformat(timespec='seconds')} on")
        if isinstance(what, UUID) or all(row["undone_by"] is None for row in found):
            return _refused("nothing_to_undo", f"{named} changed nothing", "a commit that changed something")
        return _refused("nothing_to_undo", f"all of {named} is taken back already", "a commit that is in force")
    if not seen:
        hint = "`ukai history` and `ukai propose` tell the ids of commits"
        return _refused("unknown_commit", f"there is no {named[4:]} of which you may read anything", "a commit", hint)
    if seen < len(changes):
        return _refused("forbidden_row", f"{named} also changed records that you may not read", "rights on all of it")
    erased = next((c for c in changes if c["erased_at"] is not None), None)
    if erased is not None:
        return _gone(named, f"a person was erased from it at {erased['erased_at'].isoformat(timespec='seconds')}")
    return None


def _gone(named: str, why: str) -> Rejection:
    return _refused("history_gone", f"what stood before {named} is no longer kept: {why}", "changes that are kept")


def _refused(code: str, message: str, expected: str, hint: str = "") -> Rejection:
    return reject(code, where="", message=message, expected=expected, hint=hint, layer=0, op="undo")


@dataclass(kw_only=True)
class _Past:
    """One node or edge, from before the first of the changes to after the last."""

    first: Row
    last: Row
    before: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the changed fields held at first; absent ones held nothing."""
    seqs: dict[str, int] = field(default_factory=dict[str, int])
    """Field -> its first change."""

    def add(self, change: Row) -> None:
        self.last = change
        values: Mapping[str, Any] = change["before"] or {}
        for name in change["fields"]:
            if name not in self.seqs and not name.startswith("@"):
                self.seqs[name] = change["seq"]
                if name in values:
                    self.before[name] = values[name]

    def whole(self) -> dict[str, Any]:
        """Of what was deleted: all values that it had at first."""
        last: Mapping[str, Any] = self.last["before"] or {}
        return {n: v for n, v in {**last, **{n: self.before.get(n) for n in self.seqs}}.items() if v is not None}

    @property
    def was_alive(self) -> bool:
        return self.first["op"] != "create"

    @property
    def is_alive(self) -> bool:
        return self.last["op"] != "delete"


@dataclass(kw_only=True)
class _Writer:
    """Changes as the operations that put back what was before them."""

    ends: Mapping[UUID, tuple[UUID, UUID]]
    ops: list[deltas.Single] = field(default_factory=list[deltas.Single])
    touched: list[deltas.Touched] = field(default_factory=list[deltas.Touched])

    def delta(self, commits: Sequence[UUID], changes: Sequence[Row]) -> deltas.Delta:
        pasts: dict[UUID, _Past] = {}
        for change in changes:
            if change["fields"] == ["@readers"]:
                continue  # they follow their neighbour by themselves
            pasts.setdefault(change["id"], _Past(first=change, last=change)).add(change)
        for past in pasts.values():
            (self._node if past.first["kind"] == "node" else self._edge)(past, f"/ops/{len(self.ops)}")
        return deltas.Delta(
            ops=tuple(self.ops),
            source={"undo": [str(c) for c in commits]},
            undoing=deltas.Undoing(commits=tuple(commits), touched=tuple(self.touched)),
        )

    def _node(self, past: _Past, at: str) -> None:
        id, type = past.first["id"], past.first["type"]
        target = deltas.Target(kind="id", value=str(id), at=f"{at}/target")
        if past.was_alive and past.is_alive:
            values = {name: past.before.get(name) for name in past.seqs if name != "state"}
            state = past.before.get("state")
            stateless = "state" in past.seqs and state is None
            self.ops.append(
                deltas.UpdateNode(at=at, target=target, node_type=type, set=values, to_state=state, stateless=stateless)
            )
            self._touch(past, at, *past.seqs)
        elif past.was_alive:
            values = past.whole()
            state = values.pop("state", None)
            back = deltas.Revived(id=id, key=past.first["handle"].partition("#")[2])
            self.ops.append(deltas.CreateNode(at=at, node_type=type, set=values, to_state=state, revives=back))
            self._touch(past, at, "")
        elif past.is_alive:
            self.ops.append(deltas.DeleteNode(at=at, target=target, node_type=type))
            self._touch(past, at, "")

    def _edge(self, past: _Past, at: str) -> None:
        id = past.first["id"]
        source, target = (
            deltas.Target(kind="id", value=str(end), at=f"{at}/{name}")
            for name, end in zip(("from", "to"), self.ends[id], strict=True)
        )
        named: dict[str, Any] = {"at": at, "edge_type": past.first["type"], "source": source, "target": target}
        if past.was_alive and past.is_alive:
            self.ops.append(deltas.UpdateEdge(**named, set={n: past.before.get(n) for n in past.seqs}))
            self._touch(past, at, *past.seqs)
        elif past.was_alive:
            self.ops.append(deltas.CreateEdge(**named, set=past.whole(), revives=id))
            self._touch(past, at, "")
        elif past.is_alive:
            self.ops.append(deltas.DeleteEdge(**named))
            self._touch(past, at, "")

    def _touch(self, past: _Past, at: str, *names: str) -> None:
        for name in names:
            seq = past.seqs[name] if name else past.first["seq"]
            self.touched.append(
                deltas.Touched(at=at, kind=past.first["kind"], id=past.first["id"], field=name, seq=seq)
            )
