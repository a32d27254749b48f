"""`ukai bench NAME`: runs one file of the checkout's `benchmarks/` folder and reports its figures."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ukai.kit import suggest
from ukai.kit.errors import PermanentError

FOLDER = Path(__file__).parents[3] / "benchmarks"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a benchmark's `run(options)` returns."""

    figures: Mapping[str, float]
    """Name (with its unit as suffix, `p50_ms`) -> number."""
    ratios: Mapping[str, float] = field(default_factory=dict[str, float])
    """Name -> ours against the reference measured in the same run."""
    notes: tuple[str, ...] = ()
    fell: tuple[str, ...] = ()
    """Figures below what was pinned: an alert, with which the run ends with 1."""


def names() -> list[str]:
    """All benchmarks of this checkout."""
    return sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith("_"))


def run(name: str, options: Mapping[str, str]) -> dict[str, Any]:
    """The document of design §5: `{"bench", "figures", "ratios", "machine"}`, and notes when there are any.

    Raises PermanentError when the benchmarks are not there or none has this name.
    """
    if not FOLDER.is_dir():
        raise PermanentError(
            "there are no benchmarks here", hint="They come with a source checkout, not with the wheel"
        )
    if name not in names():
        raise PermanentError(f"no benchmark named {name!r}", hint=suggest.hint_for(name, names()))
    sys.path.insert(0, str(FOLDER.parent))
    module: Any = import_module(f"benchmarks.{name}")
    report: Report = module.run(options)
    document: dict[str, Any] = {
        "bench": name,
        "figures": dict(report.figures),
        "ratios": dict(report.ratios),
        "machine": machine(),
    }
    told = {"notes": list(report.notes), "fell": list(report.fell)}
    return document | {name: lines for name, lines in told.items() if lines}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
