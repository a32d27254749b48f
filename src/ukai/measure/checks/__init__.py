"""All checks there are. A new one is a file here and a line in `CHECKS`, and a page in docs/reference/checks/."""

from __future__ import annotations

from ukai.measure.checks.invented_figures import InventedFigures
from ukai.measure.checks.names import Names

CHECKS: dict[str, type] = {
    "invented_figures": InventedFigures,
    "names": Names,
}
"""Name -> the spec's class, its parameters at their defaults."""

__all__ = ["CHECKS"]
