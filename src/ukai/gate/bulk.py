"""Bulk: many deltas through the same door, a batch in one commit, in which a refused row costs only itself (W11).

Every row is a delta of its own, judged by the code that judges a single one: form, schema, rules, rights, locks,
counts. What is left of a batch is one program. When the database refuses a row, a savepoint undoes the batch, the row
is taken out, and the others are tried again: a batch without a mistake costs one statement, and each mistake one more.

docs/design/bulk.md has the reasons and the figures.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ukai import store
from ukai.gate import audit, commit, domains, door, explain, judge, program, render, rows, shape, turns, veil
from ukai.gate import delta as deltas
from ukai.gate import limits as limits_
from ukai.gate import plan as plans
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rights import Rights
from ukai.gate.submit import NO_RIGHTS, SCHEMA_RETRIES, folded, may_be_stale, typed
from ukai.graph import schema
from ukai.graph.catalogue import Catalogue
from ukai.kit import canonical, ids
from ukai.kit.clock import Clock
from ukai.kit.finding import errors
from ukai.store import failures

BATCH = 500
"""Rows of one commit: fewer pay for round trips, more for the squares of what a program compares pairwise."""
KEPT = 50
"""Refused deltas of a batch whose bodies are kept with the record of the attempt."""
LOOK_UP = 16
"""Rows that are judged before the loop is given to the batch that is being written."""
AGAIN = 5
"""Tries of a batch that other writers are in the way of."""
_ABSENT = frozenset({"unknown_id", "deleted_target"})
_ROW = re.compile(r"/rows/(\d+)")


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One row: a delta in plain data, as `submit` takes it."""

    delta: Any
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Where its values come from; kept with every node and edge that it writes."""


@dataclass(frozen=True, kw_only=True)
class Lot:
    """The rows of one batch."""

    key: str
    """Idempotency key: the same lot sent again under it has one effect."""
    proposals: Sequence[Proposal]
    note: Any = None
    """The caller's own, handed back with the batch."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What became of a lot."""

    lot: Lot
    rejections: Sequence[tuple[Rejection, ...]]
    """Row by row; a row without an error was written. `where` points into the row's own delta."""
    changes: Mapping[tuple[str, str], int]
    """(`node` | `edge`, `create` | `update` | `delete`) -> how many changes the history has of it."""
    replayed: bool = False
    """It had been written before under the same key."""

    def is_refused(self, n: int) -> bool:
        """Whether row `n` was not written."""
        return bool(errors(self.rejections[n]))


Along = Callable[[store.Transaction, Batch], Awaitable[None]]


async def submit_many(
    db: store.Database,
    lots: AsyncIterable[Lot],
    *,
    author: Author,
    rights: Rights | None,
    clock: Clock,
    along: Along | None = None,
    done: Callable[[Batch], None] = lambda _: None,
    dry_run: bool = False,
    entropy: ids.Entropy = os.urandom,
    limits: limits_.Limits = limits_.LIMITS,
) -> None:
    """Write lot after lot, each in one transaction; while one is written the next is taken from `lots` and judged.

    `along` writes in the transaction of the batch what must stand or fall with it; it is not called for a batch that
    was written before. `done` is told afterwards. Both get the report, row by row. Refused rows are recorded as one
    attempt a batch.

    A dry run is the same code without effect: each lot is judged by what stands, not by the lots before it.

    Raises DatabaseAway (sent again under its key a lot has one effect) and DatabaseBusy.
    """
    work = _Work(
        db=db, author=author, rights=rights, clock=clock, along=along, dry_run=dry_run, entropy=entropy, limits=limits
    )

    async def land(ready: _Ready) -> None:
        done(await work.landed(ready))

    flying: asyncio.Task[None] | None = None
    try:
        async for lot in lots:
            ready = await work.judged(lot)
            if flying is not None:
                await flying
            flying = asyncio.create_task(land(ready))
            await asyncio.sleep(0)
        if flying is not None:
            await flying
    finally:
        if flying is not None:
            await asyncio.gather(flying, return_exceptions=True)


@dataclass(kw_only=True)
class _Ready:
    """A lot that the static half has judged."""

    lot: Lot
    plans: list[plans.Plan | None]
    told: list[list[Rejection]]
    known: dict[str, str]
    catalogue: Catalogue
    rights: Rights | None

    @cached_property
    def seen(self) -> Catalogue | None:
        """What of the catalogue is there for the writer, found out once for all rows that are refused."""
        return None if self.rights is None else veil.seen(self.catalogue, self.rights)


class _Stale(Exception):
    """The domains got a new version in the meantime."""


@dataclass(kw_only=True)
class _Work:
    db: store.Database
    author: Author
    rights: Rights | None
    clock: Clock
    along: Along | None
    dry_run: bool
    entropy: ids.Entropy
    limits: limits_.Limits

    async def judged(self, lot: Lot) -> _Ready:
        """Every row against the domains as this process knows them, and once more if it may know old ones."""
        catalogue = await domains.known(self.db)
        ready = await self._judged(lot, catalogue)
        for _ in range(SCHEMA_RETRIES):
            if not any(may_be_stale(told) for told in ready.told):
                break
            newest = await domains.known(self.db, fresh=True)
            if newest is catalogue:
                break
            catalogue = newest
            ready = await self._judged(lot, catalogue)
        return ready

    async def _judged(self, lot: Lot, catalogue: Catalogue) -> _Ready:
        ready = _Ready(lot=lot, plans=[], told=[], known={}, catalogue=catalogue, rights=self.rights)
        for n, proposal in enumerate(lot.proposals):
            if n % LOOK_UP == 0:
                await asyncio.sleep(0)
            plan, told = await self._row(n, proposal, ready)
            ready.plans.append(None if errors(told) else plan)
            ready.told.append(told)
        return ready

    async def _row(self, n: int, proposal: Proposal, ready: _Ready) -> tuple[plans.Plan | None, list[Rejection]]:
        delta, told = door.read(proposal.delta, self.limits, at=_root(n))
        if delta is None or self.rights is None:
            return None, told or [NO_RIGHTS]
        now = self.clock.now()
        checked = shape.check(delta, ready.catalogue, author=self.author, now=now, context={}, rights=self.rights)
        if checked.plan is None:
            told = veil.told(checked.rejections, delta, ready.seen, author=self.author, now=now, context={}, known={})
            return None, list(told)
        plan, found, known = await typed(self.db, checked.plan, checked.scene, {})
        ready.known |= known
        return plan, [*checked.rejections, *found]

    async def landed(self, ready: _Ready) -> Batch:
        """The lot, written. Begins again while other writers are in the way, or when the domains changed."""
        for turn in range(AGAIN):
            told = [list(t) for t in ready.told]
            try:
                async with self.db.transaction() as tx:
                    batch = await _Landing(work=self, tx=tx, ready=ready, told=told, careful=turn > 0).batch()
                    if not self.dry_run and not batch.replayed:
                        await self._settled(tx, batch, ready.catalogue)
                return batch
            except _Stale:
                ready = await self._judged(ready.lot, await domains.known(self.db, fresh=True))
            except failures.DatabaseBusy:
                if turn + 1 == AGAIN:
                    raise
                await asyncio.sleep(commit.pause(self.entropy) * 2**turn)
        raise failures.DatabaseBusy("the domains change faster than a batch is written")

    async def _settled(self, tx: store.Transaction, batch: Batch, catalogue: Catalogue) -> None:
        refused = [n for n in range(len(batch.rejections)) if batch.is_refused(n)]
        if refused:
            bodies = [batch.lot.proposals[n].delta for n in refused[:KEPT]]
            found = [r for n in refused for r in render.errors_of(batch.rejections[n])]
            await audit.written(
                tx,
                author=self.author,
                body={"refused": len(refused), "rows": audit.kept(bodies, catalogue)},
                key=batch.lot.key,
                rejections=found[: self.limits.shown],
                at=self.clock.now(),
                entropy=self.entropy,
            )
        if self.along is not None:
            await self.along(tx, batch)


@dataclass(kw_only=True)
class _Landing:
    """One try at a lot, inside its transaction."""

    work: _Work
    tx: store.Transaction
    ready: _Ready
    told: list[list[Rejection]]
    careful: bool
    """Look for problems thoroughly from the start: somebody was in the way before."""
    commits: list[str] = field(default_factory=list[str])
    waves: int = 0
    replayed: bool = False
    changes: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    @property
    def rights(self) -> Rights:
        """The writer's."""
        assert self.work.rights is not None  # without any, the static half lets no row through
        return self.work.rights

    @cached_property
    def touches(self) -> Mapping[int, turns.Touch]:
        """Row -> what it has to do with others."""
        return {n: turns.touch(plan) for n, plan in enumerate(self.ready.plans) if plan is not None}

    async def batch(self) -> Batch:
        alive = [n for n, plan in enumerate(self.ready.plans) if plan is not None and not errors(self.told[n])]
        while alive:
            alive = await self.wave(alive)
        if self.commits and not self.replayed:
            self.changes |= await rows.counted(self.tx, self.commits)
        rejections = [tuple(_relative(r, n) for r in told) for n, told in enumerate(self.told)]
        return Batch(lot=self.ready.lot, rejections=rejections, changes=self.changes, replayed=self.replayed)

    async def wave(self, alive: list[int]) -> list[int]:
        """Write `alive` but for those that are refused; what must come after them, in a wave of its own.

        Two rows of a lot may change the same record, or want the same unique value: the later waits for the earlier.
        """
        self.waves += 1
        alive, waiting = turns.first(alive, self.touches)
        thorough = self.careful
        while alive:
            await asyncio.sleep(0)
            made, plan = self.program(alive, thorough=thorough)
            problems, again = await self.tried(made, plan)
            if again:
                if thorough:
                    raise failures.DatabaseBusy("other writers are in the way of a batch")
                thorough = True
                continue
            if not problems:
                break
            refused = await self.refused(problems, made, plan)
            if not refused and len(alive) > 1:
                # Too much for one program, whichever row it is: half of them now, the others afterwards.
                half = len(alive) // 2
                alive, waiting = alive[:half], [*alive[half:], *waiting]
                continue
            refused = self.causes(refused) or {alive[0]: await self.explained(problems, made, plan)}
            await self.follow(refused, alive, problems)
            twice = {n for n, told in refused.items() if all(r.code == "duplicate_target" for r in told)} - {alive[0]}
            waiting += sorted(twice)
            for n in refused.keys() - twice:
                self.told[n] += refused[n]
            alive = [n for n in alive if n not in refused]
        return sorted(waiting)

    def program(self, alive: Sequence[int], *, thorough: bool) -> tuple[program.Program, plans.Plan]:
        work, ready = self.work, self.ready
        parts = [part for n in alive if (part := ready.plans[n]) is not None]
        whole = plans.Plan(
            delta=deltas.Delta(ops=tuple(op for part in parts for op in part.delta.singles())),
            nodes=tuple(node for part in parts for node in part.nodes),
            edges=tuple(edge for part in parts for edge in part.edges),
        )
        sources = {
            op.at: proposal.provenance
            for n, part in zip(alive, parts, strict=True)
            if (proposal := ready.lot.proposals[n]).provenance
            for op in part.delta.singles()
        }
        at = work.clock.now()
        made = program.of_many(
            parts,
            author=work.author,
            known=ready.known,
            domains=_domains(whole),
            inherited=program.inherited(ready.catalogue.domains.values()),
            at=at,
            new_id=lambda: ids.time_ordered(at, entropy=work.entropy),
            cascade_limit=work.limits.follow,
            provenance=sources,
        )
        made.body["lock_timeout"] = f"{int(work.limits.lock_s * 1000)}ms"
        if ready.lot.key and not work.dry_run:
            made.body |= {
                "scope": work.author.scope,
                "key": ready.lot.key if self.waves == 1 else f"{ready.lot.key}:{self.waves}",
                "hash": canonical.sha256([p.delta for p in ready.lot.proposals]),
            }
        made.body |= ({"dry": True} if work.dry_run else {}) | ({"thorough": True} if thorough else {})
        return made, whole

    async def tried(self, made: program.Program, plan: plans.Plan) -> tuple[list[rows.Answer], bool]:
        """The problems of a program, none when it is written; and whether it has to begin again."""
        work, rights = self.work, self.rights
        broken = render.errors_of(folded(made, self.ready.catalogue, work.author, self.rights))
        before = [*made.problems, *({"code": "judged", "where": r.where, "rejection": r} for r in broken)]
        if before:
            return before, False
        asked = None
        if judge.is_needed(plan, self.ready.catalogue, rights):
            asked = judge.Judge(
                program=made, plan=plan, catalogue=self.ready.catalogue, rights=rights, author=work.author
            )
        answer = await rows.commit_within(self.tx, made.body, asked)
        if "retry" in answer:
            return [], True
        problems: list[rows.Answer] = answer.get("problems") or []
        if any(p["code"] == "schema_changed" for p in problems):
            raise _Stale
        if not problems:
            self.commits.append(answer["commit"])
            self.replayed = self.replayed or bool(answer.get("replayed"))
            for change in answer.get("would_change") or ():
                named = (change["kind"], change["op"])
                self.changes[named] = self.changes.get(named, 0) + 1
        return problems, False

    async def refused(
        self, problems: Sequence[rows.Answer], made: program.Program, plan: plans.Plan
    ) -> dict[int, list[Rejection]]:
        """Row -> why it is refused; empty when the problems are those of all rows together."""
        found: dict[int, list[Rejection]] = {}
        for r in await self.explained(problems, made, plan):
            row = _ROW.match(r.where)
            if row is not None:
                found.setdefault(int(row[1]), []).append(r)
        return found

    def causes(self, refused: dict[int, list[Rejection]]) -> dict[int, list[Rejection]]:
        """Without the rows that name what another refused row would make: in the program the name meant that one. What
        is wrong with them without it, the next try will tell.
        """
        made: dict[str, set[int]] = {}
        for n in refused:
            for handle in self.touches[n].makes:
                made.setdefault(handle, set()).add(n)
        first = {
            n: told for n, told in refused.items() if not any(made.get(h, {n}) - {n} for h in self.touches[n].names)
        }
        return first or refused

    async def follow(
        self, refused: dict[int, list[Rejection]], alive: Sequence[int], problems: Sequence[rows.Answer]
    ) -> None:
        """Add the rows that name what is not there as well, or what only a refused row would have made, and those that
        follow from them: they would otherwise be found one by one, with a try for each.
        """
        made, named = {n: self.touches[n].makes for n in alive}, {n: self.touches[n].names for n in alive}
        absent = {f"{p['type']}#{p['key']}" for p in problems if p["code"] in _ABSENT and p.get("key")}
        lost = absent.union(*(made[n] for n in refused))
        if not any(named[n].keys() & lost for n in named.keys() - refused.keys()):
            return
        stand = await rows.standing(self.tx, sorted(set[str]().union(*made.values()))) - absent
        before = -1
        while before != len(refused):
            before = len(refused)
            lost = absent.union(*(made[n] for n in refused)) - stand
            for n in named.keys() - refused.keys():
                if missing := named[n].keys() & lost:
                    refused[n] = [_follows(handle, named[n][handle]) for handle in sorted(missing)]

    async def explained(
        self, problems: Sequence[rows.Answer], made: program.Program, plan: plans.Plan
    ) -> list[Rejection]:
        told = await explain.rejections(
            self.tx, problems, program=made, plan=plan, catalogue=self.ready.catalogue, rights=self.rights
        )
        return render.errors_of(told)


def _follows(handle: str, target: deltas.Target) -> Rejection:
    return reject(
        "unknown_id",
        where=target.pointer,
        message=f"there is no {handle}, or a refused row would have made it",
        expected="an existing record",
        received=handle,
        hint="bring that record in first",
        layer=3,
        ref=handle,
    )


def _domains(plan: plans.Plan) -> Iterable[schema.Domain]:
    nodes = {n.domain.domain: n.domain for n in plan.nodes if n.domain}
    return (nodes | {e.domain.domain: e.domain for e in plan.edges}).values()


def _root(n: int) -> str:
    """The pointer of a row. Of several operations that are too many together, the store names the last by its text."""
    return f"/rows/{n:06}"


def _relative(rejection: Rejection, n: int) -> Rejection:
    """With its pointers into the row's own delta."""
    root = f"{_root(n)}/"
    if not rejection.where.startswith(root):
        return rejection
    patch = tuple(
        {k: v[len(root) - 1 :] if k in ("path", "from") and str(v).startswith(root) else v for k, v in p.items()}
        for p in rejection.fix_hint.patch
    )
    return replace(rejection, where=rejection.where[len(root) - 1 :], fix_hint=replace(rejection.fix_hint, patch=patch))
