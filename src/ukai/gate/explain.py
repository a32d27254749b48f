"""The database's problems as rejections: with the place, what stands there now, who put it there, and what to do.

Read in a transaction of its own, after the refused one is gone. What the writer may not read is not named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import DamerauLevenshtein

from ukai import store
from ukai.gate import delta as deltas
from ukai.gate import history, render, rows
from ukai.gate import plan as plans
from ukai.gate import program as programs
from ukai.gate.rejection import MASK, Rejection, reject
from ukai.gate.rights import ALL, Rights
from ukai.graph import schema
from ukai.graph.catalogue import Catalogue
from ukai.kit import canonical, handle

NEAREST = 3
"""Handles that are offered for one that does not exist."""
HIDDEN = "a record that you may not read"
UNTOLD = "what you may not read of it"
_OF_VALUES = frozenset({"conflict", "immutable_field", "invalid_transition", "precondition_failed"})
"""Told with values that stand, or with who wrote them."""
HOLDERS = 5
"""The database names at most so many."""

Problem = Mapping[str, Any]
Seen = Callable[[Problem, str], bool]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What had to be looked up for the words."""

    seen: Seen
    """Whether the writer may read a field of the problem's node."""
    handles: Mapping[str, str]
    """Node id -> handle, of those that may be read."""
    changes: Mapping[int, Mapping[str, Any]]
    """Change -> its row with the author, of deletions."""
    fields: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Node or edge id -> field -> the change that gave it its present value."""
    near: Mapping[tuple[str, str], Sequence[str]]
    """(type, key) that is not there -> the nearest handles that are."""
    dead: Mapping[tuple[str, str], Mapping[str, Any]]
    """(type, key) that was there -> the change that deleted it, with its author."""


async def rejections(
    tx: store.Transaction,
    problems: Sequence[Problem],
    *,
    program: programs.Program,
    plan: plans.Plan,
    catalogue: Catalogue,
    rights: Rights,
) -> list[Rejection]:
    """All problems in words, the earliest operation first."""
    problems = list(_tellable(problems, plan))
    facts = await _facts(tx, problems, rights)
    kept = {p["type"] for p in problems if p["code"] == "restricted_delete"}
    # What follows from another problem is not told beside it.
    shown = [p for p in problems if not (p["code"] == "cardinality_min" and p["follows"] and p["type"] in kept)]
    writer = _Writer(facts=facts, program=program, plan=plan, catalogue=catalogue)
    found = [writer.rejection(p) for p in shown if p["code"] != "needs"]
    found += [r for p in shown if p["code"] == "needs" for r in program.by_node[p["n"]].on_create]
    order = {op.at: i for i, op in enumerate(plan.delta.singles())}
    return sorted(found, key=lambda r: (_place(order, r.where), r.where, r.code))


def _tellable(problems: Sequence[Problem], plan: plans.Plan) -> Iterator[Problem]:
    """What may be told: of an operation that is denied, nothing that the store's content says beside that.

    A node that is hidden and one that is not there get the same answer, so that no problem beside it tells them apart.
    """
    order = {op.at: i for i, op in enumerate(plan.delta.singles())}
    gone = {_place(order, p["where"]) for p in problems if _is_missing(p)} - {-1}
    denied = {_place(order, p["where"]) for p in problems if p["code"].startswith("forbidden_")} - {-1}
    hidden = {p["n"] for p in problems if p.get("hidden")}
    for p in problems:
        at = _place(order, p["where"])
        if at in gone:
            if _is_missing(p):
                yield p
        elif p.get("n") not in hidden and (at not in denied or p["code"].startswith("forbidden_")):
            yield p


def _is_missing(p: Problem) -> bool:
    return p["code"] == "unknown_id" and "edge" not in p


def _place(order: Mapping[str, int], where: str) -> int:
    while where and where not in order:
        where = where.rpartition("/")[0]
    return order.get(where, -1)


async def _facts(tx: store.Transaction, problems: Sequence[Problem], rights: Rights) -> Facts:
    allowed = rights.sql("n", await rows.owning_edges(tx))
    ids = {p[k] for p in problems for k in ("id", "holder") if p.get(k)} | {
        h for p in problems for h in p.get("holders", ())
    }
    conflicts = [(p["id"], p["expected"]) for p in problems if p["code"] == "conflict"]
    missing = {(p["type"], p["key"]) for p in problems if p["code"] == "unknown_id" and p.get("type") and p.get("key")}
    dead = await rows.deletions(tx, sorted(missing), allowed)
    return Facts(
        seen=await _reading(tx, problems, rights),
        dead=dead,
        handles=await rows.handles(tx, ids, rights),
        changes=await rows.changes_numbered(tx, [p["seq"] for p in problems if p.get("seq")]),
        fields=await rows.last_changes(tx, conflicts),
        # For as many as a model is shown.
        near=await _near(tx, sorted(missing - dead.keys())[: render.TOOL_LINES], rights),
    )


async def _reading(tx: store.Transaction, problems: Sequence[Problem], rights: Rights) -> Seen:
    """Rights on the values that stand: nobody is told what a field holds, or who changed it, who may not read it."""
    if rights is ALL:
        return lambda p, field: True
    named = {_handle(p) for p in problems if p["code"] in _OF_VALUES and "edge" not in p}
    parsed = [found for h in named if (found := handle.parse(h)) is not None]
    ids = await rows.ids_of(tx, parsed) if parsed else {}
    records = await history.records(tx, set(ids.values())) if ids else {}

    def seen(p: Problem, field: str) -> bool:
        record = records.get(ids[_handle(p)]) if _handle(p) in ids else None
        return "edge" in p or (record is not None and rights.read(record, field).allowed)

    return seen


def _handle(p: Problem) -> str:
    return f"{p.get('type')}#{p.get('key')}"


async def _near(
    tx: store.Transaction, missing: Sequence[tuple[str, str]], rights: Rights
) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for type in dict.fromkeys(t for t, _ in missing):
        keys = [k for t, k in missing if t == type]
        known = await rows.keys_near(tx, type, keys, rights)
        found |= {(type, key): nearest(key, known, type=type) for key in keys}
    return found


def nearest(key: str, keys: Sequence[str], *, type: str) -> list[str]:
    """The handles whose keys differ least from `key`, best first."""
    limit = max(2, len(key) // 2)
    ranked = [(DamerauLevenshtein.distance(key.casefold(), k.casefold(), score_cutoff=limit), k) for k in keys]
    return [f"{type}#{k}" for distance, k in sorted(ranked) if distance <= limit][:NEAREST]


@dataclass(frozen=True, kw_only=True)
class _Writer:
    facts: Facts
    program: programs.Program
    plan: plans.Plan
    catalogue: Catalogue

    def rejection(self, p: Problem) -> Rejection:
        return _WORDS[p["code"]](self, p)

    def said(self, p: Problem, code: str, message: str, *, where: str = "", **more: Any) -> Rejection:
        op = self.op(p["where"])
        more.setdefault("type", p.get("type") or "")
        return reject(
            code, where=where or p["where"], message=message, layer=3, op=op.kind if op else "", ref=_ref(op), **more
        )

    def op(self, where: str) -> deltas.Single | None:
        for op in self.plan.delta.singles():
            if where == op.at or where.startswith(op.at + "/"):
                return op
        return None

    def target_place(self, p: Problem) -> str:
        """The pointer of the name by which the node was meant."""
        op, where = self.op(p["where"]), p["where"]
        if op is None:
            return where
        targets = [t for t in (getattr(op, "source", None), getattr(op, "target", None)) if t is not None]
        for target in targets:
            if where == target.at or (where == op.at and len(targets) == 1):
                return target.pointer
        return op.pointer("match") if isinstance(op, deltas.UpsertNode) else where

    def field(self, p: Problem) -> schema.Field | None:
        declared = self.catalogue.edge(p["type"]) if "edge" in p else self.catalogue.type(p["type"])
        return declared.type.by_key.get(p["field"]) if declared else None

    def value(self, p: Problem, name: str) -> str:
        field = self.field(p)
        if not self.facts.seen(p, p["field"]):
            return UNTOLD
        if p.get(name) is None:
            return "no value"
        return MASK if field is not None and field.sensitive else canonical.dumps(p[name])

    def given(self, p: Problem) -> str:
        """The value that the operation gives to the problem's field."""
        op, field = self.op(p["where"]), self.field(p)
        value = {**getattr(op, "match", {}), **getattr(op, "set", {})}.get(p["field"])
        return MASK if field is not None and field.sensitive else canonical.dumps(value)

    def name(self, p: Problem) -> str:
        if "edge" in p:
            op = self.op(p["where"])
            ends = f"from {_named(op.source)} to {_named(op.target)}" if isinstance(op, _EDGE_OPS) else ""
            return f"the edge {p['type']} {ends}".strip()
        return f"{p['type']}#{p['key']}" if p.get("key") else str(p.get("type") or "the record")


_EDGE_OPS = (deltas.CreateEdge, deltas.UpdateEdge, deltas.DeleteEdge)


def _named(target: deltas.Target) -> str:
    return target.value


def _ref(op: deltas.Single | None) -> str:
    if op is None:
        return ""
    if isinstance(op, deltas.CreateNode | deltas.UpsertNode):
        return op.ref
    return str(op.target)


def _by(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "somebody"
    return f"{row['author_kind']} {row['author_id']} at {row['at'].isoformat(timespec='seconds')}"


def _unknown(w: _Writer, p: Problem) -> Rejection:
    if "edge" in p:
        return w.said(
            p,
            "unknown_id",
            f"there is no {w.name(p).removeprefix('the ')}",
            expected=f"an existing edge {p['type']}",
            hint="read the record's edges, or create this one first",
        )
    named = (p.get("type") or "", p.get("key") or "")
    if named in w.facts.dead and not p.get("hidden"):
        return _deleted(w, {**p, "seq": w.facts.dead[named]["seq"]})
    near = w.facts.near.get(named, ())
    type = p.get("type") or "record"
    return w.said(
        p,
        "unknown_id",
        f"there is no {w.name(p)}",
        where=w.target_place(p),
        expected=f"an existing {type}",
        received=str(p.get("key") or ""),
        expected_value={"nearest": list(near)},
        hint=f"the nearest are {', '.join(near)}; read before you choose" if near else f"look up the {type} first",
    )


def _deleted(w: _Writer, p: Problem) -> Rejection:
    if p.get("here"):
        return w.said(
            p,
            "deleted_target",
            f"{w.name(p)} is deleted by this same delta",
            where=w.target_place(p),
            expected="a record that lives on",
            hint="leave out the deletion, or this operation",
        )
    row = w.facts.changes.get(p["seq"]) or w.facts.dead.get((p.get("type") or "", p.get("key") or ""))
    return w.said(
        p,
        "deleted_target",
        f"{w.name(p)} was deleted by {_by(row)}",
        where=w.target_place(p),
        expected="a living record",
        received=f"deleted in change {p['seq']}",
        hint="read what is there now; create it again if it is still needed",
    )


def _wrong_type(w: _Writer, p: Problem) -> Rejection:
    op = w.op(p["where"])
    allowed = ", ".join(p["expected"])
    return w.said(
        p,
        "edge_endpoint_type" if isinstance(op, _EDGE_OPS) else "ref_type_mismatch",
        f"{w.name(p)} cannot stand here",
        where=w.target_place(p),
        expected=allowed,
        received=str(p["type"]),
        hint=f"name a record of the type {allowed}",
    )


def _conflict(w: _Writer, p: Problem) -> Rejection:
    changed = p["fields"]
    latest = w.facts.fields.get(p["id"], {})
    if changed is None and p["expected"] > p["received"]:
        return w.said(
            p,
            "conflict",
            f"{w.name(p)} has no version {p['expected']} yet",
            where=p["where"] + "/if_version",
            expected=f"version {p['received']}",
            received=str(p["expected"]),
            hint="read the record again and use the version that it has",
        )
    every = sorted(latest) if changed is None else list(changed)
    names = [n for n in every if w.facts.seen(p, n)]
    told = [
        {
            "field": n,
            "author": f"{latest[n]['author_kind']}:{latest[n]['author_id']}",
            "at": canonical.dumps(latest[n]["at"]).strip('"'),
        }
        for n in names
        if n in latest
    ]
    listed = "; ".join(f"{n} by {_by(latest.get(n))}" for n in names)
    return w.said(
        p,
        "conflict",
        f"{w.name(p)} has changed since version {p['expected']}: {listed or (UNTOLD if every else 'its edges')}",
        where=p["where"] + "/if_version",
        expected=f"version {p['received']}",
        received=str(p["expected"]),
        expected_value={"version": p["received"], "changed": told},
        received_value=p["expected"],
        hint="read the changed fields, decide again, and name the new version",
    )


def _precondition(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "precondition_failed",
        f"{w.name(p)}: {p['field']} is not what was tested for",
        where=f"{p['where']}/test/{p['field']}",
        field=p["field"],
        expected=w.value(p, "expected"),
        received=w.value(p, "received"),
        hint="read the record again and decide with the value that it has",
    )


def _transition(w: _Writer, p: Problem) -> Rejection:
    found = w.catalogue.type(p["type"])
    type = found.type if found else None
    if not w.facts.seen(p, "state"):
        return w.said(
            p,
            "invalid_transition",
            f"no transition leads {w.name(p)} to {p['received']} from the state that it is in",
            where=p["where"] + "/to_state",
            field="state",
            expected="a transition from the state that it is in",
            received=str(p["received"]),
            hint="leave out `to_state`, or ask somebody who may read the state",
        )
    ways = type.states.allowed_from(p["state"]) if type and type.states else ()
    allowed = [str(s) for s in ways]
    return w.said(
        p,
        "invalid_transition",
        f"{w.name(p)} is {p['state'] or 'in no state'}, from where no transition leads to {p['received']}",
        where=p["where"] + "/to_state",
        field="state",
        expected=" | ".join(allowed) or "no further state",
        received=str(p["received"]),
        expected_value={"from": p["state"], "to": allowed},
        received_value=p["received"],
        hint=f"choose one of: {', '.join(allowed)}" if allowed else "leave out `to_state`",
    )


def _immutable(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "immutable_field",
        f"{w.name(p)}: {p['field']} keeps its first value",
        where=f"{p['where']}/set/{p['field']}",
        field=p["field"],
        expected=w.value(p, "expected"),
        received=w.value(p, "received"),
        hint=f"leave out {p['field']!r}",
    )


def _unique(w: _Writer, p: Problem) -> Rejection:
    holder = w.facts.handles.get(p.get("holder") or "")
    what = p.get("field") or "key"
    from_here = p.get("holder") and not p.get("holder_type")
    who = "another operation of this delta" if from_here else holder or HIDDEN
    return w.said(
        p,
        "unique_violation",
        f"{what} is taken by {who}",
        field=p.get("field") or "",
        expected=f"a {what} that no other {p['type']} has",
        received=w.given(p) if p.get("field") else str(p.get("key") or ""),
        expected_value={"holder": holder},
        hint=f"update {holder} instead, or choose another {what}" if holder else f"choose another {what}",
    )


def _twice(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "duplicate_target",
        f"{w.name(p)} is written by {p['first']} already",
        where=w.target_place(p),
        expected="one operation for each record",
        received=p["first"],
        hint="put both changes into one operation",
    )


def _duplicate_edge(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "duplicate_edge",
        f"{w.name(p)} is there already" + (f", made by {p['first']}" if "first" in p else ""),
        expected="one edge of a type between two records",
        received=str(p.get("first") or p.get("id")),
        hint="update the edge, or leave the operation out",
    )


def _cycle(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "edge_cycle",
        f"{w.name(p)} would lead back to where it begins",
        expected=f"edges {p['type']} without a circle",
        hint="connect other records, or delete an edge of the circle first",
    )


def _count(w: _Writer, p: Problem) -> Rejection:
    who = w.facts.handles.get(p.get("id") or "") or (
        f"the new {p.get('node_type') or 'record'}" if not p.get("key") else HIDDEN
    )
    side = "leave" if p["side"] == "out" else "reach"
    if p["code"] == "cardinality_max":
        held = [w.facts.handles[h] for h in p.get("holders", ()) if h in w.facts.handles]
        return w.said(
            p,
            "cardinality_max",
            f"more than {p['expected']} {p['type']} would {side} {who}",
            expected=f"at most {p['expected']}",
            # How many there are would tell of those that may not be read.
            received=str(p["received"])
            if len(held) == len(p.get("holders", ())) < HOLDERS
            else f"more than {p['expected']}",
            expected_value={"max": p["expected"], "holders": held},
            hint=(f"it has {', '.join(held)}; " if held else "") + f"delete or replace an edge {p['type']} first",
        )
    return w.said(
        p,
        "cardinality_min",
        f"fewer than {p['expected']} {p['type']} would {side} {who}",
        expected=f"at least {p['expected']} at the end of the delta",
        received=str(p["received"]),
        expected_value={"min": p["expected"]},
        hint=f"add an edge {p['type']} in the same delta",
    )


def _restricted(w: _Writer, p: Problem) -> Rejection:
    named = [w.facts.handles[h] for h in p["holders"] if h in w.facts.handles]
    # How many there are would tell of those that may not be read.
    count = p["received"] if len(named) == p["received"] else None
    return w.said(
        p,
        "restricted_delete",
        f"{'some' if count is None else count} edges {p['type']} stand in the way of the deletion",
        expected="no such edge",
        received="some" if count is None else str(count),
        expected_value={"count": count, "sample": named},
        hint=f"delete the edges {p['type']} first" + (f", for example with {', '.join(named)}" if named else ""),
    )


def _cascade(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "cascade_too_large",
        "what follows from this delta is larger than one delta may be",
        expected=f"at most {p['expected']} records that follow",
        hint="delete the dependent records in smaller deltas first",
    )


def _schema(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "schema_changed",
        f"the domain {p['domain']!r} was uploaded again while the delta was being written",
        expected=f"version {p['received']}",
        received=f"version {p['expected']}",
        hint="read the types again, then propose the delta again",
    )


def _key_reused(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        "key_reused",
        f"the key was used for another delta at {p['time']}",
        expected="one key for one delta",
        hint="give the delta a key of its own; resend the other one unchanged to read its result",
    )


def _busy(w: _Writer, p: Problem) -> Rejection:
    said = {
        "busy": "other writers hold what the delta needs, and did not let go in time",
        "in_progress": "the same delta under the same key is being written right now",
    }
    return w.said(p, p["code"], said[p["code"]], hint="send the same delta again in a moment")


def _forbidden(w: _Writer, p: Problem) -> Rejection:
    return w.said(
        p,
        p["code"],
        p["refusal"] or "this change is not yours to make",
        field=p.get("field") or "",
        expected=", ".join(p.get("missing", ())),
        hint="ask whoever keeps access/ for the right, or leave the operation out",
    )


def _judged(w: _Writer, p: Problem) -> Rejection:
    return p["rejection"]


_WORDS: dict[str, Callable[[_Writer, Problem], Rejection]] = {
    "unknown_id": _unknown,
    "deleted_target": _deleted,
    "wrong_type": _wrong_type,
    "conflict": _conflict,
    "precondition_failed": _precondition,
    "invalid_transition": _transition,
    "immutable_field": _immutable,
    "unique_violation": _unique,
    "duplicate_target": _twice,
    "duplicate_edge": _duplicate_edge,
    "edge_cycle": _cycle,
    "cardinality_max": _count,
    "cardinality_min": _count,
    "restricted_delete": _restricted,
    "cascade_too_large": _cascade,
    "schema_changed": _schema,
    "key_reused": _key_reused,
    "busy": _busy,
    "in_progress": _busy,
    "forbidden_type": _forbidden,
    "forbidden_field": _forbidden,
    "forbidden_row": _forbidden,
    "forbidden_transition": _forbidden,
    "judged": _judged,
}
