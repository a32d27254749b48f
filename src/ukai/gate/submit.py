"""The door: one proposal in, a commit or every reason against it out. People and agents use the same one (W3)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate import (
    audit,
    commit,
    domains,
    door,
    explain,
    graph_store,
    guard,
    judge,
    preview,
    program,
    rows,
    shape,
    veil,
)
from ukai.gate import contract as contracts
from ukai.gate import delta as deltas
from ukai.gate import limits as limits_
from ukai.gate import plan as plans
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rights import ALL, Rights
from ukai.gate.rules import conditions
from ukai.gate.scene import Scene
from ukai.graph.catalogue import Catalogue
from ukai.kit import handle, ids
from ukai.kit.clock import Clock
from ukai.kit.finding import errors

SCHEMA_RETRIES = 3

_STALE = frozenset(
    {"unknown_type", "unknown_edge_kind", "unknown_domain", "unknown_field", "state_unknown", "schema_changed"}
)
"""Codes that may only say that this process has not seen the newest upload."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A node as a commit left it."""

    id: UUID
    handle: str
    version: int

    def as_json(self) -> dict[str, Any]:
        """`{"id", "handle", "version"}`."""
        return {"id": str(self.id), "handle": self.handle, "version": self.version}


@dataclass(frozen=True, kw_only=True)
class Committed:
    """The delta is stored; of a dry run: it would have been."""

    commit: UUID
    nodes: Mapping[str, Node]
    """Ref, or handle where an operation has none -> the node. Deleted ones are absent."""
    replayed: bool = False
    """The same delta under the same key had been committed before; this is that commit."""
    dry_run: bool = False
    would_change: tuple[Mapping[str, Any], ...] = ()
    """Of a dry run: every change, cascades included. A later commit can still meet a conflict."""
    warnings: tuple[Rejection, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The document of formats §4; a dry run says `valid` and has `would_change`."""
        nodes = {name: n.as_json() for name, n in self.nodes.items()}
        warnings = {"warnings": [w.as_json() for w in self.warnings]} if self.warnings else {}
        if self.dry_run:
            return {"status": "valid", "would_change": [dict(c) for c in self.would_change], "nodes": nodes} | warnings
        done = {"status": "committed", "commit": str(self.commit), "nodes": nodes, "replayed": self.replayed}
        return done | warnings


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Nothing was stored, for these reasons."""

    rejections: tuple[Rejection, ...]
    attempt: int = 0
    """Which refused attempt of the step (or under the key) this was; 0 for a dry run, which is no attempt."""

    @property
    def status(self) -> int:
        """The HTTP status of the gravest error."""
        return max((r.status for r in self.rejections if r.severity == "error"), default=422)

    def as_json(self) -> dict[str, Any]:
        """`{"status": "rejected", "attempt", "findings"}`; the loop adds `attempts_left`."""
        return {"status": "rejected", "attempt": self.attempt, "findings": [r.as_json() for r in self.rejections]}


async def submit(
    db: store.Database,
    delta: deltas.Delta | Any,
    *,
    author: Author,
    rights: Rights | None,
    clock: Clock,
    contract: contracts.Contract | None = None,
    context: Mapping[str, str] | None = None,
    dry_run: bool = False,
    entropy: ids.Entropy = os.urandom,
    limits: limits_.Limits = limits_.LIMITS,
    provenance: program.Provenance | None = None,
) -> Committed | Rejected:
    """Judge a delta and, if nothing speaks against it, store it at once.

    `delta` is a parsed one, plain data or JSON text. `context` maps what the run holds to handles or ids. Without
    `rights` everything is denied; `rights.ALL` is for the system itself. A dry run is the same code, rolled back at its
    end. `provenance` says where the values come from, by pointer of the operation or under "" for all of them; it is
    kept with each node and edge beside the writer and the time. Refused attempts are recorded (dry runs are no
    attempts); when that fails, AuditFailed is raised.

    Raises DatabaseAway when the connection is lost: the delta may then be stored or not. Sent again under the same key
    it has exactly one effect. Raises ValueError for a context that holds neither handles nor ids.
    """
    for value in (context or {}).values():
        if handle.parse(value) is None:
            UUID(value)  # a ValueError names the text
    work = _Work(
        db=db,
        author=author,
        rights=rights,
        contract=contract,
        context=context or {},
        dry_run=dry_run,
        at=clock.now(),
        entropy=entropy,
        limits=limits,
        provenance=provenance or {},
    )
    outcome = await work.decide(delta)
    if isinstance(outcome, Committed) or dry_run:
        return outcome
    source = delta.source if isinstance(delta, deltas.Delta) else delta
    number = await audit.refused(
        db,
        author=author,
        source=source,
        key=work.key,
        rejections=outcome.rejections,
        catalogue=await domains.known(db),
        at=work.at,
        entropy=entropy,
    )
    return replace(outcome, attempt=number)


@dataclass(kw_only=True)
class _Work:
    """One proposal on its way."""

    db: store.Database
    author: Author
    rights: Rights | None
    contract: contracts.Contract | None
    context: Mapping[str, str]
    dry_run: bool
    at: datetime
    entropy: ids.Entropy
    limits: limits_.Limits
    provenance: program.Provenance
    key: str = ""

    async def decide(self, delta: deltas.Delta | Any) -> Committed | Rejected:
        parsed, found = (delta, []) if isinstance(delta, deltas.Delta) else door.read(delta, self.limits)
        if parsed is None:
            return Rejected(rejections=tuple(found))
        self.key = parsed.key
        if self.rights is None:
            return Rejected(rejections=(NO_RIGHTS,))
        catalogue = await domains.known(self.db)
        outcome = await self._under(parsed, catalogue, self.rights)
        for _ in range(SCHEMA_RETRIES):
            if isinstance(outcome, Committed) or not may_be_stale(outcome.rejections):
                break
            newest = await domains.known(self.db, fresh=True)
            if newest is catalogue:
                break
            catalogue = newest
            outcome = await self._under(parsed, catalogue, self.rights)
        return outcome

    async def _under(self, delta: deltas.Delta, catalogue: Catalogue, rights: Rights) -> Committed | Rejected:
        """Decide under the versions in `catalogue`, and tell what its writer may be told."""
        if self.contract is None and not any(True for _ in delta.singles()):
            return Rejected(rejections=(NO_OPERATIONS,))
        known: dict[str, str] = {}
        outcome = await self._judged(delta, catalogue, rights, known)
        if isinstance(outcome, Committed):
            return outcome
        told = veil.told(
            outcome.rejections,
            delta,
            veil.seen(catalogue, rights),
            author=self.author,
            now=self.at,
            context=self.context,
            known=known,
            contract=self.contract,
        )
        return replace(outcome, rejections=told)

    async def _judged(
        self, delta: deltas.Delta, catalogue: Catalogue, rights: Rights, known: dict[str, str]
    ) -> Committed | Rejected:
        """`known` is filled with the handles of what is named by its id."""
        checked = shape.check(delta, catalogue, author=self.author, now=self.at, context=self.context, rights=rights)
        promised = contracts.compare(self.contract, checked.scene) if self.contract is not None else []
        if checked.plan is None or errors(promised):
            return Rejected(rejections=(*checked.rejections, *promised))
        plan, found, named = await typed(self.db, checked.plan, checked.scene, self.context)
        known |= named
        found += promised
        if errors(found):
            return Rejected(rejections=tuple(found))
        made = self._program(plan, catalogue, known)
        problems = made.problems
        if not problems:
            found += folded(made, catalogue, self.author, rights)
            if errors(found):
                return Rejected(rejections=tuple(found))
            judging = judge.is_needed(plan, catalogue, rights)
            asked = judge.Judge(program=made, plan=plan, catalogue=catalogue, rights=rights, author=self.author)
            asking = asked if delta.undoing is None else guard.Guard(judge=asked, undoing=delta.undoing)
            graph = graph_store.Postgres(db=self.db)
            answer = await commit.run(graph, made, judge=asking if judging else None, entropy=self.entropy)
            problems = answer.get("problems")
            if not problems:
                return await self._committed(answer, (*plan.warnings, *found, *asked.warnings), rights)
        async with self.db.transaction() as tx:
            told = await explain.rejections(tx, problems, program=made, plan=plan, catalogue=catalogue, rights=rights)
        return Rejected(rejections=(*told, *plan.warnings))

    def _program(self, plan: plans.Plan, catalogue: Catalogue, known: Mapping[str, str]) -> program.Program:
        used = {n.domain.domain: n.domain for n in plan.nodes if n.domain} | {
            e.domain.domain: e.domain for e in plan.edges
        }
        made = program.of(
            plan,
            author=self.author,
            context=self.context,
            known=known,
            domains=used.values(),
            inherited=program.inherited(catalogue.domains.values()),
            at=self.at,
            new_id=lambda: ids.time_ordered(self.at, entropy=self.entropy),
            cascade_limit=self.limits.follow + _going(plan.delta),
            provenance=self.provenance,
        )
        made.body["lock_timeout"] = f"{int(self.limits.lock_s * 1000)}ms"
        if self.key:
            made.body |= {"scope": self.author.scope, "key": self.key, "hash": audit.hash_of(plan.delta.source)}
        if self.dry_run:
            made.body["dry"] = True
        return made

    async def _committed(self, answer: rows.Answer, warnings: Sequence[Rejection], rights: Rights) -> Committed:
        would = answer.get("would_change") or ()
        if would and rights is not ALL:
            async with self.db.transaction() as tx:
                would = await preview.seen(tx, would, rights=rights)
        return Committed(
            commit=UUID(answer["commit"]),
            nodes={
                name: Node(id=UUID(n["id"]), handle=n["handle"], version=n["version"])
                for name, n in sorted(answer["nodes"].items())
            },
            replayed=answer.get("replayed", False),
            dry_run=self.dry_run,
            would_change=tuple(would),
            warnings=tuple(warnings),
        )


def _going(delta: deltas.Delta) -> int:
    """Records that an undo deletes in its own name: they do not follow from it."""
    return 0 if delta.undoing is None else len(delta.undoing.touched)


NO_RIGHTS = reject(
    "forbidden_type",
    where="",
    message="the proposal came without rights, and without rights nothing is allowed",
    hint="send it as somebody who may write",
    layer=0,
)


NO_OPERATIONS = reject(
    "malformed_delta",
    where="/ops",
    message="the delta has no operations",
    expected="at least one operation",
    received="[]",
    hint="say what to change, or propose nothing",
    layer=0,
)


async def typed(
    db: store.Database, plan: plans.Plan, scene: Scene, context: Mapping[str, str]
) -> tuple[plans.Plan, list[Rejection], Mapping[str, str]]:
    """The plan with the operations judged whose target's type only the database knows, and handles by id."""
    wanted = sorted(set(_named_by_id(plan, context)))
    if not wanted:
        return plan, [], {}
    async with db.transaction() as tx:
        known = await rows.named(tx, wanted)
    found: list[Rejection] = []
    nodes: list[plans.NodePlan] = []
    for node in plan.nodes:
        if node.type is None and isinstance(node.op, deltas.UpdateNode | deltas.DeleteNode):
            named = handle.parse(known.get(_id(node.op.target, context), ""))
            if named is None:
                found.append(_unknown_id(node.op))
                continue
            again, told = shape.recheck(node, named.type, scene)
            found += told
            node = again or node
        nodes.append(node)
    return replace(plan, nodes=tuple(nodes)), found, known


def may_be_stale(rejections: Iterable[Rejection]) -> bool:
    """Whether the reasons may only say that this process has not seen the newest upload."""
    return any(r.code in _STALE for r in rejections)


def folded(made: program.Program, catalogue: Catalogue, author: Author, rights: Rights) -> list[Rejection]:
    """Rules of new nodes that a later operation of the delta has changed."""
    found: list[Rejection] = []
    for n, plan in made.folded.items():
        owner = catalogue.type(plan.type.type) if plan.type else None
        if owner is not None:
            row = made.nodes[n]
            state = {} if owner.type.states is None else {"state": row["state"]}
            given = row["set"].keys() - {f.key for f in owner.filled}
            seen = conditions.seen_of_new(owner.type.type, given, rights)
            new = {**row["set"], **state}
            found += conditions.judged(plan.op, owner, new=new, old=None, author=author.id, seen=seen)
    return found


def _named_by_id(plan: plans.Plan, context: Mapping[str, str]) -> Iterable[str]:
    for node in plan.nodes:
        if node.type is None and isinstance(node.op, deltas.UpdateNode | deltas.DeleteNode):
            yield _id(node.op.target, context)
    for part in (*plan.nodes, *plan.edges):
        for targets in part.refs.values():
            yield from (i for t in targets if t.kind in ("id", "context_ref") and _is_id(i := _id(t, context)))


def _id(target: deltas.Target, context: Mapping[str, str]) -> str:
    return context.get(target.value, "") if target.kind == "context_ref" else target.value


def _is_id(text: str) -> bool:
    return handle.parse(text) is None


def _unknown_id(op: deltas.UpdateNode | deltas.DeleteNode) -> Rejection:
    return reject(
        "unknown_id",
        where=op.target.pointer,
        message=f"there is no record {op.target.value}",
        expected="an existing record",
        received=op.target.value,
        hint="name the record by its handle, as it was read",
        layer=3,
        op=op.kind,
        ref=str(op.target),
    )
