"""Old records brought to a new schema: values computed from what stands, written through the gate in batches (W11).

A batch is one delta. What the gate refuses of it is set aside with its reasons, and the rest is proposed again; so a
record that cannot follow costs only itself. Records that hold the values already are left alone: run again, it goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ukai import store
from ukai.gate import domains, rows
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection
from ukai.gate.rights import Rights
from ukai.gate.submit import Committed, submit
from ukai.kit import ids
from ukai.kit.clock import Clock

BATCH = 200
SHOWN = 20
"""Refused records of which the reasons are kept."""
_OP = re.compile(r"/ops/(\d+)")

Compute = Callable[[Mapping[str, Any]], Mapping[str, Any] | str | None]
"""The values that a record is to have, from those that it has (its state as `state`). None: it is not meant. A text:
why there are none.
"""
Progress = Callable[[str], None]


@dataclass(kw_only=True)
class Reformed:
    """What came of the records of one type."""

    type: str
    changed: int = 0
    unchanged: int = 0
    """They hold the values already."""
    left_out: int = 0
    """Not meant."""
    refused: int = 0
    why: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Handle and reason of the first refused ones."""

    def refuse(self, name: str, reason: str) -> None:
        """One record cannot follow."""
        self.refused += 1
        if len(self.why) < SHOWN:
            self.why.append((name, reason))

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "why": [{"record": n, "reason": r} for n, r in self.why]}


async def reform(
    db: store.Database,
    type: str,
    compute: Compute,
    *,
    author: Author,
    rights: Rights,
    clock: Clock,
    dry_run: bool,
    progress: Progress = lambda _: None,
    entropy: ids.Entropy = os.urandom,
) -> Reformed:
    """Every living record of a type that `rights` may read, by key. A dry run judges every batch by itself."""
    work = _Work(db=db, author=author, rights=rights, clock=clock, dry_run=dry_run, entropy=entropy)
    done = Reformed(type=type)
    await domains.known(db, fresh=True)
    async with db.snapshot() as tx:
        allowed = rights.sql("n", await rows.owning_edges(tx))
    last = ""
    while True:
        async with db.snapshot() as tx:
            part = await rows.nodes_after(tx, type, last, allowed=allowed, limit=BATCH)
        if not part:
            return done
        last = part[-1]["key"]
        await work.batch(done, part, compute)
        progress(f"{type}: {done.changed + done.unchanged + done.left_out + done.refused} records")


@dataclass(frozen=True, kw_only=True)
class _Work:
    db: store.Database
    author: Author
    rights: Rights
    clock: Clock
    dry_run: bool
    entropy: ids.Entropy

    async def batch(self, done: Reformed, part: Sequence[Mapping[str, Any]], compute: Compute) -> None:
        ops: list[dict[str, Any]] = []
        for row in part:
            name = f"{done.type}#{row['key']}"
            wanted = compute({**row["props"], "state": row["state"]})
            if wanted is None:
                done.left_out += 1
            elif isinstance(wanted, str):
                done.refuse(name, wanted)
            elif all(row["props"].get(k) == v for k, v in wanted.items()):
                done.unchanged += 1
            else:
                target = {"handle": name}
                op = {"kind": "update_node", "target": target, "if_version": row["version"], "set": dict(wanted)}
                ops.append(op)
        while ops:
            answer = await submit(
                self.db,
                {"ops": ops},
                author=self.author,
                rights=self.rights,
                clock=self.clock,
                dry_run=self.dry_run,
                entropy=self.entropy,
            )
            if isinstance(answer, Committed):
                done.changed += len(ops)
                return
            ops = _left(done, ops, answer.rejections)


def _left(done: Reformed, ops: Sequence[dict[str, Any]], rejections: Sequence[Rejection]) -> list[dict[str, Any]]:
    """The operations against which nothing was said; all are refused where it is not said which one is meant."""
    against: dict[int, str] = {}
    for rejection in rejections:
        if rejection.severity == "error":
            found = _OP.match(rejection.where)
            if found is None:
                against = dict.fromkeys(range(len(ops)), rejection.message)
                break
            against.setdefault(int(found[1]), f"[{rejection.code}] {rejection.message}")
    for i, reason in sorted(against.items()):
        done.refuse(ops[i]["target"]["handle"], reason)
    return [op for i, op in enumerate(ops) if i not in against]
