"""Check `recall`: of the items that a case needs, how many the composed document held at a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ukai.measure import spec
from ukai.measure.case import Case
from ukai.measure.composition import Composition, Ranked
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Look, Score


@dataclass(frozen=True, kw_only=True)
class RecallAtBudget:
    """The check with its parameters."""

    name: ClassVar[str] = "recall"
    version: ClassVar[int] = 1

    budgets: tuple[int, ...] = (2_500, 5_000, 10_000, 15_000)
    """Tokens. The ranking is cut before the first section that does not fit: the plain rule, not the ladder."""

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """`missing`: a needed item that no composition of the run held. `shortened`: held, and not in full."""
        needed = case.required if case else ()
        why = "the case names no item that it needs" if not needed else ""
        if not why and not reading.compositions:
            why = "the run has no composition here"
        if why:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable=why)
        kept = [row for composition in reading.compositions for row in composition.ranking]
        held = {key: level for key in needed if (level := _level(kept, key))}
        flags = [_missing(reading.compositions, key) for key in needed if key not in held]
        flags += [_shortened(key, level) for key, level in held.items() if level != "full"]
        counts: dict[str, float] = {
            "required": len(needed),
            "recall": len(held) / len(needed),
            "usable": sum(level == "full" for level in held.values()) / len(needed),
        }
        details: dict[str, Any] = {
            "at_budget": {str(b): self._at(reading.compositions, needed, b) for b in self.budgets}
        }
        return Score(
            check=self.name,
            spec=spec.written(self),
            about=(reading.id,),
            flags=tuple(flags),
            counts=counts,
            details=details,
        )

    def _at(self, compositions: Sequence[Composition], needed: Sequence[str], budget: int) -> float:
        kept = [replace(row, level="full") for c in compositions for row in cut(c.ranking, budget)]
        return round(sum(bool(_level(kept, key)) for key in needed) / len(needed), 4)


def cut(ranking: Sequence[Ranked], budget: int) -> list[Ranked]:
    """The longest prefix that fits in full."""
    kept: list[Ranked] = []
    used = 0
    for row in ranking:
        used += row.tokens_full
        if used > budget:
            break
        kept.append(row)
    return kept


def _level(kept: Sequence[Ranked], key: str) -> str:
    """How a needed item is held: `full`, a shorter level, or not at all (empty). A whole record holds its parts."""
    rows = (row for row in kept if key == row.section or key.startswith(f"{row.section}/") or key in row.items)
    levels = [row.level for row in rows if row.level != "none"]
    return "full" if "full" in levels else (levels[0] if levels else "")


def _missing(compositions: Sequence[Composition], key: str) -> Flag:
    dropped = [row for composition in compositions for row in composition.dropped if row.section == key]
    note = "the composer never ranked it"
    if dropped:
        note = f"dropped: {dropped[0].reason or 'no room'}; it needed {dropped[0].needed} of {dropped[0].left} left"
    looked = tuple(Look(key=f"composition {composition.id}") for composition in compositions)
    return Flag(kind="missing", words=key, start=0, end=0, part="composition", gates=True, note=note, looked=looked)


def _shortened(key: str, level: str) -> Flag:
    note = f"held as {level}, not in full"
    return Flag(kind="shortened", words=key, start=0, end=0, part="composition", gates=False, note=note)
