"""Author time: a workflow held against itself and the domains. Every reference has a producer that comes before it and
gives the right kind; every emitted key has a consumer; every write passes layer 1 and its own contract.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from ukai.gate import contract as contracts
from ukai.gate import door, shape, steps
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection
from ukai.gate.scene import Later
from ukai.gate.steps import Step, Workflow
from ukai.graph import kinds
from ukai.graph.catalogue import Catalogue
from ukai.graph.problem import Problem
from ukai.graph.schema import Field
from ukai.kit import document, principal, suggest
from ukai.kit.finding import Finding, excerpt

_STEP = re.compile(r"[A-Za-z_][\w-]*\Z")
_TEXTS = frozenset({"string", "text"})


def findings(workflow: Workflow, doc: document.Document, catalogue: Catalogue) -> Iterator[Finding]:
    """Everything that is wrong with a workflow of the right shape."""
    return _Checker(workflow, doc, catalogue).all()


class _Checker:
    def __init__(self, workflow: Workflow, doc: document.Document, catalogue: Catalogue) -> None:
        self.workflow, self.doc, self.catalogue = workflow, doc, catalogue

    def all(self) -> Iterator[Finding]:
        workflow = self.workflow
        known = self.catalogue.domains
        if workflow.domain and workflow.domain not in known:
            yield self._find("unknown_domain", "/domain", workflow.domain, list(known), "no domain")
        node_type = workflow.on.node_type
        if node_type and self.catalogue.type(node_type) is None:
            yield self._find("unknown_type", "/on/node_type", node_type, self.catalogue.types(), "no node type")
        seen: set[str] = set()
        for i, step in enumerate(workflow.steps):
            at = document.pointer("steps", i)
            if step.id in seen:
                yield self._said(
                    "duplicate_name", f"{at}/id", f"two steps are called {step.id!r}", "each name once", "rename one"
                )
            seen.add(step.id)
            yield from self._form(step, at)
            yield from self._references(i, step, at)
            yield from self._unconsumed(step, at)
            yield from self._condition(i, step, at)
            yield from self._write(i, step, at)
            yield from self._contract(step, at)

    def _form(self, step: Step, at: str) -> Iterator[Finding]:
        if not _STEP.match(step.id):
            yield self._said(
                "invalid_name", f"{at}/id", f"{step.id!r} is not a usable name", "letters, digits, _ and -", "rename it"
            )
        ways = [bool(step.agent), bool(step.write), bool(step.human)]
        if sum(ways) != 1:
            yield self._said(
                "invalid_value",
                at,
                f"the step {step.id!r} does {'nothing' if not any(ways) else 'several things'}",
                "one of: agent, write, human",
                "give the step an agent, a write, or a human; split it if it needs two of them",
            )
        if step.emits and not step.agent:
            yield self._said(
                "invalid_option", f"{at}/emits", "only an agent emits values", "emits beside agent", "remove emits"
            )
        if step.human and principal.canonical(step.human) is None:
            yield self._said(
                "invalid_value",
                f"{at}/human",
                f"{step.human!r} names nobody",
                "ann@example.com or group:x",
                "name a person or a group",
            )

    def _references(self, index: int, step: Step, at: str) -> Iterator[Finding]:
        told: set[tuple[str, str]] = set()
        for place, producer, key in steps.references(step):
            if place == "/when" or (producer, key) in told:
                continue  # a condition is checked with its types
            told.add((producer, key))
            yield from self._reference(index, f"{at}{place}", producer, key)

    def _reference(self, index: int, place: str, producer: str, key: str) -> Iterator[Finding]:
        workflow = self.workflow
        name = f"$ref:{producer}.{key}"
        known = [f"$ref:{s.id}.{k}" for s in workflow.steps[:index] for k in s.emits]
        position = workflow.by_id.get(producer)
        if position is not None and position >= index:
            yield self._said(
                "contract_cycle",
                place,
                f"{name} is needed here, and produced {'by this very step' if position == index else 'only later'}",
                "values of earlier steps",
                f"move the step {producer!r} before this one" if position > index else "read another value",
                received=name,
            )
        elif position is None or key not in workflow.steps[position].emits:
            who = (
                f"the step {producer!r} does not emit {key!r}"
                if position is not None
                else f"no step is called {producer!r}"
            )
            yield self._find("contract_unproduced", place, name, known, f"{who}: nobody produces")
        else:
            condition = workflow.steps[position].when
            if condition and condition not in (workflow.steps[index].when or "").split(" && "):
                yield self._said(
                    "contract_unreachable",
                    place,
                    f"{name} is only produced when {condition}",
                    f"the same condition on the step {workflow.steps[index].id!r}",
                    f"give this step `when: {condition}`, or produce {key!r} always",
                    received=name,
                )

    def _unconsumed(self, step: Step, at: str) -> Iterator[Finding]:
        consumed = self.workflow.consumed.get(step.id, ())
        for key in step.emits:
            if key not in consumed:
                yield self._said(
                    "contract_unconsumed",
                    f"{at}/emits/{key}",
                    f"no later step reads {key!r}: it is misspelt, or nobody needs it",
                    f"keys that are read: {', '.join(consumed) or 'none'}",
                    suggest.hint_for(key, consumed)
                    if consumed
                    else f"read $ref:{step.id}.{key} in a later step, or remove it",
                    received=key,
                )

    def _condition(self, index: int, step: Step, at: str) -> Iterator[Finding]:
        if not step.when:
            return
        place = f"{at}/when"
        found = steps.environment_of(self.workflow.steps[:index]).compile(step.when)
        if isinstance(found, list):
            for fault in found:
                yield self._said(
                    "invalid_rule",
                    place,
                    f"{fault.message} (column {fault.column} of the expression)",
                    fault.expected,
                    fault.hint or "correct the expression",
                    received=excerpt(step.when),
                )
            return
        for producer, key, value in re.findall(r"\bsteps\.(\w+)\.(\w+)\s*==\s*['\"]([^'\"]*)['\"]", step.when):
            field = self.workflow.steps[self.workflow.by_id[producer]].emits[key]
            if field.kind == "enum" and value not in field.values:
                yield self._find(
                    "contract_unreachable",
                    place,
                    value,
                    [str(v) for v in field.values],
                    f"{producer}.{key} never becomes this value, so the step never runs:",
                )

    def _write(self, index: int, step: Step, at: str) -> Iterator[Finding]:
        if not step.write:
            return
        fields = {(s.id, k): f for s in self.workflow.steps[:index] for k, f in s.emits.items()}
        source = steps.replaced(list(step.write), lambda producer, key: Later(f"$ref:{producer}.{key}"))
        delta, told = door.read({"ops": source} | ({"domain": self.workflow.domain} if self.workflow.domain else {}))
        if delta is not None:
            checked = shape.check(
                delta, self.catalogue, author=_NOBODY, now=_NEVER, context=self._context() if self._is_typed() else None
            )
            told = [*checked.rejections]
            if step.contract is not None and checked.plan is not None:
                told += contracts.compare(step.contract, checked.scene)
            yield from self._types(at, checked, fields)
        yield from (self._from_rejection(r, at) for r in told)

    def _types(self, at: str, checked: shape.Checked, fields: dict[tuple[str, str], Field]) -> Iterator[Finding]:
        """Each value that will be put in, held against the field that takes it."""
        plan = checked.plan
        for node in [*plan.nodes, *plan.edges] if plan else []:
            for key, value in node.set.items():
                found = steps.REFERENCE.fullmatch(value) if isinstance(value, Later) else None
                emitted = fields.get((found[1], found[2])) if found else None
                if node.type is None or found is None or emitted is None:
                    continue
                taken = node.type.by_key[key]
                reason, expected = _unfit(emitted, taken), kinds.expected_of(taken)
                if reason:
                    yield self._said(
                        "contract_type",
                        _in_file(node.op.pointer("set", key), at),
                        f"{found[0]} does not fit {key!r}: {reason}",
                        expected,
                        f"let the step {found[1]!r} emit {found[2]!r} as {expected}",
                        received=kinds.expected_of(emitted),
                    )

    def _is_typed(self) -> bool:
        return bool(self.workflow.on.node_type)

    def _context(self) -> dict[str, str]:
        return {steps.SUBJECT: f"{self.workflow.on.node_type}#subject"}

    def _contract(self, step: Step, at: str) -> Iterator[Finding]:
        for i, produced in enumerate(step.contract.produces.deltas if step.contract else ()):
            place = f"{at}/contract/produces/deltas/{i}"
            owner = self.catalogue.type(produced.node_type) or self.catalogue.edge(produced.edge_type)
            named = "edge_type" if "edge" in produced.kind else "node_type"
            if owner is None:
                known = self.catalogue.edges() if named == "edge_type" else self.catalogue.types()
                name = produced.edge_type or produced.node_type
                yield self._find("unknown_type", f"{place}/{named}", name, known, f"no {named.replace('_', ' ')}")
                continue
            for j, key in enumerate(produced.required_fields):
                if key not in owner.type.by_key and key != "to_state":
                    yield self._find(
                        "unknown_field",
                        f"{place}/required_fields/{j}",
                        key,
                        list(owner.type.by_key),
                        f"{produced.node_type or produced.edge_type} has no field",
                    )
            held = produced.target.context_ref if produced.target else ""
            if held and self._is_typed() and held not in self._context():
                yield self._find(
                    "unknown_context_ref",
                    f"{place}/target/context_ref",
                    held,
                    list(self._context()),
                    "this run holds no",
                )

    # Findings.

    def _from_rejection(self, told: Rejection, at: str) -> Finding:
        return Finding(
            code=told.code,
            severity=told.severity,
            where=self.doc.where(_in_file(told.where, at)),
            message=told.message,
            expected=told.expected,
            received=told.received,
            hint=told.hint,
        )

    def _find(self, code: str, place: str, name: str, known: list[str], what: str) -> Finding:
        return self._said(
            code, place, f"{what} {name!r}", ", ".join(known[:20]), suggest.hint_for(name, known), received=name
        )

    def _said(self, code: str, place: str, message: str, expected: str, hint: str, *, received: str = "") -> Finding:
        return Finding(
            code=code, where=self.doc.where(place), message=message, expected=expected, received=received, hint=hint
        )


_NOBODY = Author(kind="workflow", id="author-time")
_NEVER = datetime(2000, 1, 1, tzinfo=UTC)


def _in_file(where: str, at: str) -> str:
    """A pointer into the delta as a pointer into the file."""
    return f"{at}/write{where.removeprefix('/ops')}" if where.startswith("/ops") else f"{at}/write"


def _unfit(emitted: Field, taken: Field) -> str:
    """Why a value of the one field may not be a value of the other; empty when it always is."""
    if emitted.many != taken.many:
        return "one is a list and the other is not"
    if taken.kind == "json" and not taken.any_of and taken.schema is None:
        return ""
    if emitted.kind == "enum" and not emitted.any_of:
        check = kinds.compile(replace(taken, many=False))
        bad = [v for v in emitted.values if _fails(check, v)]
        return f"{', '.join(map(repr, bad))} is no value of it" if bad else ""
    given, wanted = set(emitted.any_of or (emitted.kind,)), set(taken.any_of or (taken.kind,))
    if wanted & _TEXTS:
        wanted |= _TEXTS
    if "number" in wanted:
        wanted.add("integer")
    if "ref" in wanted and given <= _TEXTS:
        return ""  # a handle as text: whether it names such a node is seen when it is there
    return "" if given <= wanted else f"it may be {', '.join(sorted(given - wanted))}"


def _fails(check: kinds.Check, value: object) -> bool:
    problems: list[Problem] = []
    check(value, "", problems)
    return bool(problems)
