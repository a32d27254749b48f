"""What is attached to every composition: how it came about, line by line (formats §11, context req. 19 and 46).

It speaks of what the caller may read and of nothing else: what they may not see is absent, also as a count. It has ids
and numbers and no word of any record: what one is called is looked up under the rights of whoever reads the report. Two
compositions of the same input have the same report to the byte; times and ids stand beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ukai.context import assembly
from ukai.context.retrieval import Step
from ukai.kit import canonical

WITHOUT_VECTOR = "without_vector"
"""How the event begins that tells of items with a text that only its words find: `without_vector 58 of 78`."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One composition explained."""

    skill: str
    principal_hash: str
    """Hash over the rights of the audience."""
    clause_hash: str
    matched: int
    """Items in scope that the caller may read."""
    graph: tuple[Step, ...]
    ranking: tuple[assembly.Ranked, ...]
    dropped: tuple[assembly.Dropped, ...]
    budget: int
    used: int
    ceiling_hit: bool
    events: tuple[str, ...] = ()
    found: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Item -> the strategies that found it."""
    shown: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Item -> (hash of its body, level)."""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else the document depends on, by name: `replay` names the one that changed."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON without ids and times: equal for equal compositions."""
        return {
            "skill": self.skill,
            "principal_hash": self.principal_hash,
            "scope": {"clause_hash": self.clause_hash, "matched": self.matched},
            "graph": [s.as_json() for s in self.graph],
            "ranking": [
                {
                    "rank": rank,
                    "section": r.section,
                    "score": r.score,
                    "tokens_full": r.tokens_full,
                    "level": r.level,
                    "reason": r.reason,
                    "items": list(r.items),
                    **({"best": r.best} if r.best else {}),
                }
                for rank, r in enumerate(self.ranking, 1)
            ],
            "dropped": [
                {"section": d.section, "reason": d.reason, "needed": d.needed, "left": d.left} for d in self.dropped
            ],
            "budget": self.budget,
            "used": self.used,
            "ceiling_hit": self.ceiling_hit,
            "events": list(self.events),
            "found": {k: list(v) for k, v in self.found.items()},
            "shown": {k: list(v) for k, v in self.shown.items()},
            "versions": dict(self.versions),
        }

    @cached_property
    def text(self) -> str:
        """Canonical JSON: what is stored, and what is hashed."""
        return canonical.dumps(self.as_json())

    @cached_property
    def digest(self) -> bytes:
        """sha256 of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).digest()

    @property
    def ms(self) -> dict[str, float]:
        """Strategy -> milliseconds."""
        return {s.strategy: s.ms for s in self.graph if s.fired}
