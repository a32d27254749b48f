"""What is judged between the locks and the writing, on the values as they stand: CEL rules and rights.

Most deltas need none of it: creates were judged before, and rights that hold for a whole type need no record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ukai import store
from ukai.access import record
from ukai.access.decision import Decision
from ukai.access.write import Transition
from ukai.gate import delta as deltas
from ukai.gate import plan as plans
from ukai.gate import program as programs
from ukai.gate import rows
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection
from ukai.gate.rights import ALL, Rights
from ukai.gate.rules import conditions
from ukai.graph.catalogue import Catalogue, CompiledType

Problem = rows.Answer


def is_needed(plan: plans.Plan, catalogue: Catalogue, rights: Rights) -> bool:
    """Whether something must be judged on what is read under the locks."""
    if any(not isinstance(n.op, deltas.CreateNode | deltas.DeleteNode) and n.type and n.type.rules for n in plan.nodes):
        return True
    if plan.delta.undoing is not None:
        return True
    tested = any(n.test for n in plan.nodes) or any(e.test for e in plan.edges)
    return rights is not ALL and (tested or any(not d for d in _blanket(plan, rights)))


def _blanket(plan: plans.Plan, rights: Rights) -> Iterator[bool]:
    """Operation by operation, whether it is allowed whatever the record is."""
    for node in plan.nodes:
        name = node.type.type if node.type else ""
        yield node.to_state is None and rights.may_write(name, _fields(node)).allowed
    for edge in plan.edges:
        for type in edge.type.sources:
            yield rights.may_write(type, frozenset({edge.type.edge})).allowed


def _fields(node: plans.NodePlan) -> record.Fields:
    if isinstance(node.op, deltas.DeleteNode):
        return record.ALL
    names = {*node.set, *node.match} if isinstance(node.op, deltas.UpsertNode) else set(node.set)
    if isinstance(node.op, deltas.CreateNode):
        # An undo brings back with a node what the server had set.
        names -= {*node.server_set, *(f.key for f in (node.type.fields if node.type else ()) if f.server_set)}
    return frozenset(names)


@dataclass(frozen=True, kw_only=True)
class Judge:
    """`judge(tx, begun)` gives the problems; see `rows.Judge`."""

    program: programs.Program
    plan: plans.Plan
    catalogue: Catalogue
    rights: Rights
    author: Author
    warnings: list[Rejection] = field(default_factory=list[Rejection])
    """What does not stop, of the last time that it was asked."""
    records: dict[str, record.Record] = field(default_factory=dict[str, record.Record])
    """Id -> the node that is written and its owners, dead or alive, of the last time."""

    async def __call__(self, tx: store.Transaction, begun: Mapping[str, Any]) -> list[Problem]:
        self.warnings.clear()
        ids: list[str | None] = begun["opened"]["nodes"]
        found: dict[str, dict[str, Any]] = begun["rows"] or {}
        owners = await self._owners(tx, [i for i in ids if i]) if self.rights is not ALL else {}
        problems: list[Problem] = []
        standing: dict[int, record.Record | None] = {}
        for n, row in enumerate(self.program.nodes):
            named = ids[n] or ""
            now = found.get(named)
            old = _record(now, owners.get(named, ())) if now and now["alive"] else None
            standing[n] = old or self._made(row, owners.get(named, ()))
            plan = self.program.by_node.get(n)
            before = old or (_record(now, owners.get(named, ())) if now else None)  # what an undo brings back, too
            if before is not None:
                self.records[named] = before
            if before is not None and not self.rights.read(before).allowed:
                # Said in the words for a record that is not there: whether it is, is not theirs to know.
                problems.append(_unseen(row, before.key))
            elif plan is not None:
                problems += self._node(n, row, plan, old)
        for row, edge in zip(self.program.edges, self.plan.edges, strict=True):
            problems += self._edge(row, edge, standing[row["src"]])
        return problems

    def _node(
        self, n: int, row: Mapping[str, Any], plan: plans.NodePlan, old: record.Record | None
    ) -> Iterator[Problem]:
        if old is None and not isinstance(plan.op, deltas.CreateNode | deltas.UpsertNode):
            return  # not there: the check says so
        type = plan.type.type if plan.type else ""
        subject = old or self._made(row, ())
        moved = self._moved(plan, old)
        decision = self.rights.may_write(type, _fields(plan), moved, subject)
        if not decision.allowed and old is None and isinstance(plan.op, deltas.UpsertNode):
            yield _unseen(row, row.get("key"))  # in the same words as a record that is there and hidden
            return
        if not decision.allowed:
            yield self._forbidden(row, n, plan, moved, subject, decision)
        if old is not None:
            yield from self._tested(row, n, plan, old)
        compiled = self.catalogue.type(type)
        if compiled is not None and not isinstance(plan.op, deltas.CreateNode | deltas.DeleteNode):
            yield from self._rules(n, plan, compiled, old, new=_after(row, old))

    def _moved(self, plan: plans.NodePlan, old: record.Record | None) -> Transition | None:
        """The transition that the right is needed for. Whoever may take one may take it back."""
        backwards = self.plan.delta.undoing is not None
        stateless = isinstance(plan.op, deltas.UpdateNode) and plan.op.stateless
        if old is None or (plan.to_state is None and not stateless) or plan.to_state == old.fields.get("state"):
            return None
        now = old.fields.get("state")
        return (plan.to_state, now) if backwards else (now, plan.to_state)

    def _tested(self, row: Mapping[str, Any], n: int, plan: plans.NodePlan, old: record.Record) -> Iterator[Problem]:
        """A value that may not be read may not be guessed at either."""
        for name in sorted(plan.test):
            decision = self.rights.read(old, name)
            if not decision.allowed:
                told = {"refusal": decision.refusal, "missing": decision.missing}
                where = f"{row['at']}/test/{name}"
                yield {"code": "forbidden_field", "where": where, "n": n, "type": old.type, "field": name, **told}

    def _rules(
        self, n: int, plan: plans.NodePlan, owner: CompiledType, record: record.Record | None, *, new: dict[str, Any]
    ) -> Iterator[Problem]:
        old = dict(record.fields) if record else None
        if owner.type.states is None:
            new.pop("state", None)
            (old or {}).pop("state", None)
        known = {*plan.set, "state"} if plan.to_state is not None else {*plan.set}
        made = conditions.seen_of_new(owner.type.type, {*plan.set, *plan.match}, self.rights)

        def seen(name: str) -> bool:
            return made(name) if record is None else name in known or self.rights.read(record, name).allowed

        undoing = self.plan.delta.undoing is not None
        for rejected in conditions.judged(
            plan.op, owner, new=new, old=old, author=self.author.id, undoing=undoing, seen=seen
        ):
            if rejected.severity == "error":
                yield {"code": "judged", "where": plan.op.at, "n": n, "rejection": rejected}
            else:
                self.warnings.append(rejected)

    def _edge(self, row: Mapping[str, Any], edge: plans.EdgePlan, source: record.Record | None) -> Iterator[Problem]:
        """An edge is a matter of the record that it leaves: the right to write the field of the edge's name there."""
        if source is None:
            return
        decision = self.rights.may_write(source.type, frozenset({edge.type.edge}), None, source)
        if not decision.allowed:
            told = {"refusal": decision.refusal, "missing": decision.missing}
            yield {"code": "forbidden_row", "where": row["at"], "edge": row["n"], "type": edge.type.edge, **told}
        if edge.test and not (decision := self.rights.read(source, edge.type.edge)).allowed:
            told = {"refusal": decision.refusal, "missing": decision.missing}
            where = f"{row['at']}/test"
            yield {"code": "forbidden_field", "where": where, "edge": row["n"], "type": edge.type.edge, **told}

    def _forbidden(
        self,
        row: Mapping[str, Any],
        n: int,
        plan: plans.NodePlan,
        moved: Transition | None,
        subject: record.Record | None,
        decision: Decision,
    ) -> Problem:
        """The narrowest thing that is forbidden: the transition, one field, the record, or the whole type."""
        type = plan.type.type if plan.type else ""
        fields = _fields(plan)
        code, field = "forbidden_row", ""
        if moved and self.rights.may_write(type, fields, None, subject).allowed:
            code, field = "forbidden_transition", "state"
        elif fields is not record.ALL:
            denied = [
                f for f in sorted(fields) if not self.rights.may_write(type, frozenset({f}), None, subject).allowed
            ]
            if denied and len(denied) < len(fields):
                code, field = "forbidden_field", denied[0]
        told = {"refusal": decision.refusal, "missing": decision.missing}
        return {"code": code, "where": row["at"], "n": n, "type": type, "field": field, **told}

    def _made(self, row: Mapping[str, Any], owners: tuple[record.Record, ...]) -> record.Record | None:
        """What a create (or an upsert that finds nothing) would make."""
        if row["act"] not in ("create", "upsert"):
            return None
        state = row.get("born", row.get("state"))
        readers = row.get("readers")
        return record.Record(
            type=row["type"],
            key=row["key"],
            path=row["path"],
            fields={**row.get("set", {}), **row.get("fill", {}), "state": state},
            readers=None if readers is None else frozenset(readers),
            owners=owners,
        )

    async def _owners(self, tx: store.Transaction, ids: list[str]) -> dict[str, tuple[record.Record, ...]]:
        """The owners of the nodes (of new ones, by the delta's edges) with their own, as far up as rights go."""
        owning = dict(await rows.owning(tx))
        if not owning:
            return {}
        above: dict[str, list[str]] = {}
        for row in self.program.edges:
            if row["type"] in owning and row["act"] == "create":
                ends = (ids_at(self.program, row["src"]), ids_at(self.program, row["dst"]))
                owned, owner = ends if owning[row["type"]] == "target" else ends[::-1]
                if owned and owner:
                    above.setdefault(owned, []).append(owner)
        wanted = sorted({*ids, *(o for many in above.values() for o in many)})
        for owned, owner in await rows.owners_of(tx, wanted, depth=record.OWNERS_DEPTH):
            above.setdefault(owned, []).append(owner)
        found = await rows.records(tx, sorted({o for many in above.values() for o in many}))

        def chain(id: str, depth: int) -> tuple[record.Record, ...]:
            if depth == 0:
                return ()
            return tuple(_record(found[o], chain(o, depth - 1)) for o in above.get(id, ()) if o in found)

        return {id: chain(id, record.OWNERS_DEPTH) for id in ids}


def _after(row: Mapping[str, Any], old: record.Record | None) -> dict[str, Any]:
    """The values as they would be."""
    given: Mapping[str, Any] = row.get("set") or {}
    filled: Mapping[str, Any] = {} if old else row.get("fill") or {}
    unset: list[str] = row.get("unset") or []
    new = {**(old.fields if old else {}), **given, **filled}
    for name in unset:
        new.pop(name, None)
    if old is None:
        new["state"] = row.get("born", row.get("state"))
    elif row.get("stateless"):
        new["state"] = None
    elif row.get("state") is not None:
        new["state"] = row["state"]
    return new


def ids_at(program: programs.Program, n: int) -> str | None:
    """The id of a node that the program makes; None for one that is found."""
    row = program.nodes[n]
    return row.get("id") if row.get("look") in ("new", "id") else None


def _unseen(row: Mapping[str, Any], known: str | None) -> Problem:
    key = row.get("key") or row.get("id") or known
    return {
        "code": "unknown_id",
        "where": row["at"],
        "n": row["n"],
        "type": row.get("type"),
        "key": key,
        "hidden": True,
    }


def _record(row: Mapping[str, Any], owners: tuple[record.Record, ...]) -> record.Record:
    readers = row["readers"]
    return record.Record(
        type=row["type"],
        key=row["key"],
        path=row["path"],
        fields={**row["props"], "state": row["state"]},
        readers=None if readers is None else frozenset(readers),
        owners=owners,
    )
