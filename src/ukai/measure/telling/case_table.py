"""One evaluation as a table for a terminal: its quantities, its reliability, and the cases that do not pass."""

from __future__ import annotations

from ukai.measure.alone import Alone, Case
from ukai.measure.telling.table import amount


def told(made: Alone) -> str:
    """As a table for a terminal."""
    lines = [made.name, f"  {'':<18}{'mean':>10}  {'95 % interval':<20} {'cases':>5}"]
    for quantity, gap in made.means:
        interval = "-"
        if abs(gap.low) != float("inf"):
            interval = f"[{amount(quantity, gap.low)}, {amount(quantity, gap.high)}]"
        lines.append(f"  {quantity.name:<18}{amount(quantity, gap.mean):>10}  {interval:<20} {gap.cases:>5}")
    if made.reliability is not None:
        k, value = made.reliability
        lines.append(f"  pass^{k}: {100 * value:.1f}% of the cases pass in all {k} repeats")
    lines += [_line(case) for case in made.cases if case.passed < case.of]
    return "\n".join(lines)


def _line(case: Case) -> str:
    mark = "-" if case.passed else "!"
    return f"{mark} {case.id} ({case.split}): passed {case.passed} of {case.of}: {'; '.join(case.why)}"
