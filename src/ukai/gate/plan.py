"""What layers 1 and 2 leave for the database half: the operations with checked, canonical values, and what only the
database can still decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ukai.gate import delta as deltas
from ukai.gate.rejection import Rejection
from ukai.graph import schema

Values = Mapping[str, Any]
"""Canonical JSON-ready values by field: dates and instants as text (instants in UTC with a final Z), whole numbers as
int, other numbers as decimal text, refs as the submitted text; None clears.
"""


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """One node operation, checked."""

    op: deltas.CreateNode | deltas.UpdateNode | deltas.UpsertNode | deltas.DeleteNode
    type: schema.Type | None
    """None: the target's type is only known after it was read (an id, or a context_ref that holds one); the database
    half then calls `shape.recheck`.
    """
    domain: schema.Domain | None
    set: Values
    """As submitted, canonical; on a create with defaults and server-set fields filled in."""
    server_set: Values
    """Of `set`, what the server filled in (on update and upsert not in `set`: apply it on create only)."""
    test: Values
    match: Values
    """Of an upsert, canonical."""
    key: str | None
    """Of a create or upsert: the natural key as written in the handle; None for types keyed by their id."""
    to_state: str | None
    """On create the state the node begins in; on update the state it should go to (None: keeps its state)."""
    refs: Mapping[str, tuple[deltas.Target, ...]] = field(default_factory=dict[str, tuple[deltas.Target, ...]])
    """Ref field -> the nodes it names, in the order of the value. They must exist; a value in `set` that is no handle
    yet (`ref:$x`, `context_ref:x`, `id:..`) is to be replaced by the handle of its node.
    """
    on_create: tuple[Rejection, ...] = ()
    """Of an upsert: what refuses it if no node matches, so that it would create one."""


@dataclass(frozen=True, kw_only=True)
class EdgePlan:
    """One edge operation, checked."""

    op: deltas.CreateEdge | deltas.UpdateEdge | deltas.DeleteEdge
    type: schema.EdgeType
    domain: schema.Domain
    set: Values
    test: Values
    refs: Mapping[str, tuple[deltas.Target, ...]] = field(default_factory=dict[str, tuple[deltas.Target, ...]])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A delta that passed layer 1, in operation order with batches opened."""

    delta: deltas.Delta
    nodes: tuple[NodePlan, ...] = ()
    edges: tuple[EdgePlan, ...] = ()
    warnings: tuple[Rejection, ...] = ()
    """Findings that do not stop."""
