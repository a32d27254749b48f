"""What an evaluation counts: which way is better, what decides, and what counts as no difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One number of a run."""

    name: str
    what: str
    unit: str = ""
    """"" is a share between 0 and 1."""
    gates: bool = False
    """A change that makes it worse is not kept."""
    more_is_better: bool = True
    larger_than: float = 0.05
    """A difference up to this is none; of a quantity with a unit, this share of the value before."""


_ALL = (
    Quantity(name="passed", what="the case's requirements are met", gates=True),
    Quantity(name="invented_figures", what="no figure was invented", gates=True),
    Quantity(name="quotes", what="every quotation stands in the evidence", gates=True),
    Quantity(name="citations", what="every citation says what it is cited for", gates=True),
    Quantity(name="evidence", what="no answer after an error that was not made good", gates=True),
    Quantity(name="rewrite", what="rewrites leave no residue and touch nothing else", gates=True),
    Quantity(name="arrived", what="what the case requires was brought by the tools"),
    Quantity(name="recall", what="what the case requires stood in the composed document"),
    Quantity(name="share", what="of the pool of facts that either side traced"),
    Quantity(name="relayed", what="findings that the answer relays", unit="findings"),
    Quantity(name="calls", what="calls of tools", unit="calls", more_is_better=False, larger_than=0.1),
    Quantity(name="tokens", what="tokens of the models", unit="tokens", more_is_better=False, larger_than=0.1),
    Quantity(name="usd", what="cost", unit="usd", more_is_better=False, larger_than=0.1),
)
QUANTITIES: Mapping[str, Quantity] = MappingProxyType({q.name: q for q in _ALL})
"""Name -> quantity, in the order in which they are told. Time is not among them: machines differ without a change."""
