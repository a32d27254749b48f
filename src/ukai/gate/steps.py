"""The values of a workflow, and how values travel between its steps: `$ref:<step>.<key>` is replaced in memory.

A value that is not there stays visible as what it is, an unresolved reference; it never becomes an empty text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, cast

from ukai.gate.contract import Contract
from ukai.graph import cel
from ukai.graph.schema import Field
from ukai.kit import document

REFERENCE = re.compile(r"\$ref:([A-Za-z_][\w-]*)\.([A-Za-z_]\w*)")
"""`$ref:<step>.<key>`: alone it is the value, inside a longer text it is put in as text."""
SUBJECT = "subject_node_id"
"""The context_ref that names the node which triggered the run."""


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """What starts a run."""

    node_type: str = ""
    change: Literal["created", "updated", "deleted", "any"] = "any"
    schedule: str = ""
    timezone: str = ""
    webhook: str = ""
    manual: bool = False


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: an agent that emits, a write, an agent under a contract, or a human."""

    id: str
    agent: str = ""
    ask: str = ""
    emits: Mapping[str, Field] = field(default_factory=dict[str, Field])
    write: tuple[Mapping[str, Any], ...] = ()
    """Operations of a delta whose values may be references."""
    contract: Contract | None = None
    human: str = ""
    when: str = ""
    """Condition in CEL over `steps.<id>.<key>`; empty: always."""


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """Steps in the order in which they run."""

    workflow: str
    domain: str = ""
    on: Trigger = Trigger()
    steps: tuple[Step, ...] = ()
    retries: int = 3
    """Tries after the first one."""
    budget_tokens: int | None = None
    description: str = ""

    @cached_property
    def by_id(self) -> Mapping[str, int]:
        """Step -> its position."""
        return {s.id: i for i, s in enumerate(self.steps)}

    @cached_property
    def consumed(self) -> Mapping[str, tuple[str, ...]]:
        """Step -> the keys that some other step reads from it, sorted."""
        found: dict[str, set[str]] = {}
        for step in self.steps:
            for _, producer, key in references(step):
                found.setdefault(producer, set()).add(key)
        return {step: tuple(sorted(keys)) for step, keys in found.items()}

    def delta(self, step: Step, values: Mapping[str, Mapping[str, Any]], *, key: str = "") -> dict[str, Any]:
        """What a writing step proposes, with the `values` that the steps before it have given put in."""
        ops = replaced(list(step.write), lambda producer, name: values.get(producer, {}).get(name, MISSING))
        found: dict[str, Any] = {"ops": ops}
        return found | ({"domain": self.domain} if self.domain else {}) | ({"key": key} if key else {})

    def is_due(self, step: Step, values: Mapping[str, Mapping[str, Any]]) -> bool | cel.Unevaluable:
        """Whether a step's condition holds. One that gives no answer must not run: callers fail closed."""
        if not step.when:
            return True
        program = self.conditions.get(step.id)
        return (
            program.evaluate({"steps": values}) if program else cel.Unevaluable(reason="the condition does not compile")
        )

    @cached_property
    def conditions(self) -> Mapping[str, cel.Program]:
        """The conditions that compile; the check of the file has told about the others."""
        found: dict[str, cel.Program] = {}
        for i, step in enumerate(self.steps):
            program = environment_of(self.steps[:i]).compile(step.when) if step.when else []
            if isinstance(program, cel.Program):
                found[step.id] = program
        return found


class Missing:
    """The mark for a value that no step has given."""


MISSING: Final = Missing()


def environment_of(steps: tuple[Step, ...]) -> cel.Environment:
    """What a condition after `steps` may speak of."""
    parts = {s.id: cel.Record(name=f"step {s.id}", parts=dict(s.emits)) for s in steps if s.emits}
    return cel.Environment({"steps": cel.Record(name="steps", parts=parts)})


def references(step: Step) -> Iterator[tuple[str, str, str]]:
    """(JSON pointer inside the step, producing step, key) of every value that a step reads."""
    for place, text in _texts(list(step.write), "/write"):
        yield from ((place, m[1], m[2]) for m in REFERENCE.finditer(text))
    yield from (("/ask", m[1], m[2]) for m in REFERENCE.finditer(step.ask))
    for found in re.finditer(r"\bsteps\.([A-Za-z_]\w*)\.([A-Za-z_]\w*)", step.when):
        yield "/when", found[1], found[2]


def replaced(value: Any, lookup: Callable[[str, str], Any]) -> Any:
    """A copy of `value`, references replaced. `lookup(step, key)` gives a value, or MISSING to leave it as it is."""
    if isinstance(value, str):
        alone = REFERENCE.fullmatch(value)
        if alone:
            found = lookup(alone[1], alone[2])
            return value if found is MISSING or found is None else found
        return REFERENCE.sub(lambda m: _as_text(lookup(m[1], m[2]), m[0]), value)
    if isinstance(value, Mapping):
        return {k: replaced(v, lookup) for k, v in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [replaced(v, lookup) for v in cast("list[Any]", value)]
    return value


def _as_text(value: Any, reference: str) -> str:
    return value if isinstance(value, str) else reference if value is MISSING or value is None else str(value)


def _texts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for name, part in cast("Mapping[str, Any]", value).items():
            yield from _texts(part, at + document.pointer(name))
    elif isinstance(value, list):
        for i, part in enumerate(cast("list[Any]", value)):
            yield from _texts(part, f"{at}/{i}")
