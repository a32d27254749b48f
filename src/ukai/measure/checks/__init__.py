"""All checks there are. A new one is a file here and a line in `CHECKS`, and a page in docs/reference/checks/."""

from __future__ import annotations

from ukai.measure.checks.budget import Budget
from ukai.measure.checks.citations import Citations
from ukai.measure.checks.collision import Collision
from ukai.measure.checks.evidence import Evidence
from ukai.measure.checks.flakiness import Flakiness
from ukai.measure.checks.invented_figures import InventedFigures
from ukai.measure.checks.latency import Latency
from ukai.measure.checks.names import Names
from ukai.measure.checks.overlap import Overlap
from ukai.measure.checks.quotes import Quotes
from ukai.measure.checks.recall import RecallAtBudget
from ukai.measure.checks.rewrite import Rewrite

CHECKS: dict[str, type] = {
    "invented_figures": InventedFigures,
    "names": Names,
    "quotes": Quotes,
    "citations": Citations,
    "evidence": Evidence,
    "rewrite": Rewrite,
    "collision": Collision,
    "overlap": Overlap,
    "flakiness": Flakiness,
    "budget": Budget,
    "latency": Latency,
    "recall": RecallAtBudget,
}
"""Name -> the spec's class, its parameters at their defaults."""

__all__ = ["CHECKS"]
