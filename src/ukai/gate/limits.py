"""How much one proposal may hold, as data. Beyond a limit comes a code that names it, never a cut."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Defaults of a deployment."""

    ops: int = 1_000
    """Operations of a delta."""
    items: int = 10_000
    """Nodes and edges of a delta with its batches opened."""
    bytes: int = 1 << 20
    """Of the submitted text."""
    depth: int = 32
    """Levels of objects and lists, counted from the delta."""
    key: int = 255
    """Characters of an idempotency key."""
    follow: int = 1_000
    """Records that may follow from one delta, by cascade or by inherited readers."""
    lock_s: float = 2.0
    """How long a commit waits for one lock of another writer before it begins again."""
    shown: int = 50
    """Rejections that are handed back; how many more there are is said."""


LIMITS = Limits()
