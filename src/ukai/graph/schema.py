"""A domain as data: its types with fields, states and rules, and the edges between them (formats §3).

Nothing here knows a domain word. The values are what `domain_file` reads and what the store keeps, version by version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, Literal, cast

from ukai.kit import canonical

Kind = Literal["string", "text", "integer", "number", "boolean", "date", "datetime", "enum", "ref", "json"]
Policy = Literal["reject", "cascade", "unset"]
Bound = int | float | str

KINDS: tuple[Kind, ...] = (
    "string",
    "text",
    "integer",
    "number",
    "boolean",
    "date",
    "datetime",
    "enum",
    "ref",
    "json",
)
DEFAULT_PLACES = 4
"""Places by which `dec(x)` scales a number whose field declares none."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a type or of an edge."""

    key: str
    kind: Kind = "string"
    any_of: tuple[Kind, ...] = ()
    """Several kinds instead of one, tried in this order; `kind` is then meaningless (`json`)."""
    many: bool = False
    """`list: true` in the file: a list of values of the kind."""
    required: bool = False
    unique: bool = False
    """No two living nodes of the type hold the same value (claims, checked by the commit half)."""
    immutable: bool = False
    sensitive: bool = False
    """Values are masked in rejections."""
    default: Any = None
    """Filled in on create when the field is absent; None means that there is none."""
    server_set: str = ""
    """`author` or `now`: filled in by the server on create, refused from anybody else."""
    values: tuple[str | int | float | bool | None, ...] = ()
    """Of an enum."""
    to: str = ""
    """Of a ref: the type it points at."""
    places: int | None = None
    """Of a number: decimal places kept; more are `precision_loss`."""
    pattern: str | None = None
    """RE2 syntax, searched for anywhere in the value (as in JSON Schema)."""
    min: Bound | None = None
    max: Bound | None = None
    exclusive_min: Bound | None = None
    exclusive_max: Bound | None = None
    multiple_of: Bound | None = None
    min_length: int | None = None
    max_length: int | None = None
    """In characters."""
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    schema: Any = None
    """Of json: a JSON Schema (the supported keywords) the value is held against."""
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Transition:
    """A step between two states that may be taken; None is "no state"."""

    source: str | None
    target: str | None


@dataclass(frozen=True, kw_only=True)
class States:
    """The states of a type and the ways between them."""

    values: tuple[str, ...]
    initial: tuple[str | None, ...] = ()
    """Where a node may begin; the first is taken when a create names none."""
    transitions: tuple[Transition, ...] = ()

    def allowed_from(self, state: str | None) -> tuple[str | None, ...]:
        """The states reachable in one step from `state`, in declared order."""
        return tuple(t.target for t in self.transitions if t.source == state)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A condition in CEL over `new`, `old` and `author` that every written node of the type meets."""

    id: str
    require: str
    message: str = ""
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, kw_only=True)
class Readers:
    """Who may read nodes of a type: exactly one of the three is filled. Readers only narrow."""

    names: tuple[str, ...] = ()
    field: str = ""
    """Taken from this field's value (a principal or a list of them)."""
    edge: str = ""
    """Taken from the neighbour over this edge."""


@dataclass(frozen=True, kw_only=True)
class Passages:
    """Ordered parts of a node that are cited one by one: which json field, and the keys inside each part."""

    source: str
    text: str
    speaker: str = ""
    at: str = ""
    part: str = "turn"
    """The word in the handle: `Call#harbor-12/turn/31`."""


@dataclass(frozen=True, kw_only=True)
class Type:
    """A node type."""

    type: str
    key: tuple[str, ...] = ()
    """Fields of the natural key; a file that names none gets its first field that is required and unique. Empty: nodes
    are keyed by their id.
    """
    path: str = ""
    """Template of the place in the hierarchy; `{field}` is replaced. Empty: `domain/Type/key`."""
    readers: Readers | None = None
    text: tuple[str, ...] = ()
    """Fields that are searched and embedded."""
    fields: tuple[Field, ...] = ()
    states: States | None = None
    rules: tuple[Rule, ...] = ()
    passages: Passages | None = None
    description: str = ""

    @property
    def name(self) -> str:
        """What files and deltas call it."""
        return self.type

    @cached_property
    def by_key(self) -> Mapping[str, Field]:
        """The fields by name, in declared order."""
        return {f.key: f for f in self.fields}

    @cached_property
    def content_hash(self) -> str:
        """8 hex digits over what a node of the type can hold: with one field more it is another one to a template."""
        shapes = [[f.key, f.kind, f.any_of, f.many] for f in self.fields]
        return canonical.sha256([shapes, self.text, as_data(self.passages)])[:8]

    @cached_property
    def unique(self) -> tuple[Field, ...]:
        """The fields whose values are claimed."""
        return tuple(f for f in self.fields if f.unique)

    def default_path(self, domain: str, key: str) -> str:
        """The place of a node where the type declares none."""
        return f"{domain}/{self.type}/{key}"


@dataclass(frozen=True, kw_only=True)
class OnDelete:
    """What the deletion of one end does: `reject` refuses it while such an edge stands, `unset` removes the edge only,
    `cascade` removes the edge and deletes the node at the other end.
    """

    source: Policy = "reject"
    """When the `from` node is deleted."""
    target: Policy = "reject"
    """When the `to` node is deleted."""


@dataclass(frozen=True, kw_only=True)
class EdgeType:
    """A directed edge type. Counts are per node and direction; None is unbounded."""

    edge: str
    sources: tuple[str, ...]
    """`from` in the file: one type or a list."""
    targets: tuple[str, ...]
    """`to` in the file."""
    min_out: int = 0
    max_out: int | None = None
    min_in: int = 0
    max_in: int | None = None
    acyclic: bool = False
    self_edges: bool = True
    """Whether an edge may lead back to its own node (where both ends may have the same type)."""
    on_delete: OnDelete = field(default_factory=OnDelete)
    owns: Literal["", "source", "target"] = ""
    """`owns: to` reads "target": rights on the node at that end pass to the other end."""
    fields: tuple[Field, ...] = ()
    description: str = ""

    @property
    def name(self) -> str:
        """What files and deltas call it."""
        return self.edge

    @cached_property
    def by_key(self) -> Mapping[str, Field]:
        """The fields by name."""
        return {f.key: f for f in self.fields}


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One uploaded schema. Type and edge names are unique over all domains of a deployment."""

    domain: str
    types: tuple[Type, ...] = ()
    edges: tuple[EdgeType, ...] = ()
    version: int = 0
    """Counted by the store at upload; 0 is a domain that was never uploaded."""
    description: str = ""

    @cached_property
    def by_type(self) -> Mapping[str, Type]:
        """The types by name."""
        return {t.type: t for t in self.types}

    @cached_property
    def by_edge(self) -> Mapping[str, EdgeType]:
        """The edge types by name."""
        return {e.edge: e for e in self.edges}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the content without the version: two uploads with the same one are the same schema."""
        return canonical.sha256({k: v for k, v in as_data(self).items() if k != "version"})


def as_data(value: Any) -> Any:
    """Plain JSON data of any value of this module, what is left at its default left out, under our own names: for the
    fingerprint. `domain_file.as_data` writes the language of the file.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_data(getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != _default(f)}
    if isinstance(value, tuple | list):
        return [as_data(v) for v in cast("list[Any]", value)]
    return value


def _default(f: Any) -> Any:
    return f.default_factory() if callable(f.default_factory) else f.default
