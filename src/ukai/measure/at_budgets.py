"""Recall at token budgets over many cases: the means, a pinned baseline to hold them against, the table and the chart.

The article's table prints differences to a control at each budget and end to end (context req. 44-48); so does this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ukai.kit import document, shape
from ukai.kit.finding import Finding

TOLERANCE = 0.005
"""A figure that falls by more than this is a regression: vectors may differ in the last bit between processors."""
WIDTH, HEIGHT, EDGE = 640, 320, 44
_LENIENT = {**shape.STRICT, "extra": "ignore"}


class Shares(Protocol):
    """Of the required items of one case, the shares a document holds, by budget."""

    @property
    def recall(self) -> Mapping[int, float]: ...
    @property
    def usable(self) -> Mapping[int, float]: ...


class Row(Protocol):
    """One case."""

    @property
    def held(self) -> Shares: ...
    @property
    def random(self) -> Shares: ...
    @property
    def end_to_end(self) -> float: ...
    @property
    def is_even(self) -> bool: ...
    @property
    def ms(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """The figures of one set, as a baseline file holds them."""

    __pydantic_config__ = _LENIENT

    cases: int
    recall: Mapping[str, float]
    usable: Mapping[str, float]
    end_to_end: float


def summary(rows: Sequence[Row], budgets: Sequence[int]) -> dict[str, Any]:
    """The means over `rows`.

    `all`: the share of cases of which every required item is usable. `halves`: usable of the cases with an even and
    with an odd sha256 of their id, so that what was tuned on the one is reported on the other.
    """
    p50, p95 = (_quantile([r.ms for r in rows], q) for q in (0.5, 0.95))
    halves = {name: [r for r in rows if r.is_even is even] for name, even in (("even", True), ("odd", False))}
    return {
        "cases": len(rows),
        "recall": _means(rows, budgets, lambda r: r.held.recall),
        "usable": _means(rows, budgets, lambda r: r.held.usable),
        "all": {str(b): _mean([float(r.held.usable[b] == 1) for r in rows]) for b in budgets},
        "random": {
            "recall": _means(rows, budgets, lambda r: r.random.recall),
            "usable": _means(rows, budgets, lambda r: r.random.usable),
        },
        "end_to_end": _mean([r.end_to_end for r in rows]),
        "latency_ms": {"p50": round(p50, 1), "p95": round(p95, 1)},
        "halves": {
            name: {"cases": len(some), "usable": _means(some, budgets, lambda r: r.held.usable)}
            for name, some in halves.items()
        },
    }


def pinned(raw: bytes, *, name: str) -> tuple[Mapping[str, Pinned], list[Finding]]:
    """The sets of a baseline file, and what is wrong with it."""
    doc, findings = document.read(raw, name=name)
    if doc is None:
        return {}, findings
    found, findings = shape.parse(doc, _Baseline)
    return (found.sets if found else {}), findings


@dataclass(frozen=True, kw_only=True)
class _Baseline:
    __pydantic_config__ = _LENIENT
    sets: Mapping[str, Pinned]


def regressions(name: str, now: Mapping[str, Any], before: Pinned, tolerance: float = TOLERANCE) -> list[Finding]:
    """One finding a figure that fell, or that was not measured again. Other cases cannot be compared and say so."""
    if now["cases"] != before.cases:
        return [_not_comparable(name, now["cases"], before.cases)]
    pairs = [
        *((f"recall @{b}", now["recall"].get(b), v) for b, v in before.recall.items()),
        *((f"usable @{b}", now["usable"].get(b), v) for b, v in before.usable.items()),
        ("end to end", now["end_to_end"], before.end_to_end),
    ]
    fell = [_fell(name, what, v, was) for what, v, was in pairs if v is not None and was - v > tolerance]
    return [*fell, *(_not_measured(name, what, was) for what, v, was in pairs if v is None)]


def deltas(now: Mapping[str, Any], control: Pinned) -> list[float | None]:
    """The differences in usable at each budget of the control, None where it was not measured, then end to end."""
    pairs = [*((now["usable"].get(b), v) for b, v in control.usable.items()), (now["end_to_end"], control.end_to_end)]
    return [None if v is None else round(v - was, 4) for v, was in pairs]


def delta_table(rows: Mapping[str, Mapping[str, Any]], control: Pinned) -> str:
    """The article's form: one line a candidate, one column a budget, the differences to the control."""
    head = ["", *(f"@{int(b):,}" for b in control.usable), "end-to-end"]
    body = [[name, *("" if d is None else f"{d:+.4f}" for d in deltas(row, control))] for name, row in rows.items()]
    return markdown(head, body)


def table(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Usable by set and budget, with the row of chance under each."""
    budgets = list(next(iter(sets.values()))["usable"])
    body: list[list[str]] = []
    for name, row in sets.items():
        body.append([name, "usable", *_cells(row["usable"], budgets)])
        halves = {half: row["halves"][half]["usable"] for half in ("even", "odd")}
        body += [["", f"{half} ids", *_cells(usable, budgets)] for half, usable in halves.items() if usable]
        body.append(["", "mentioned", *_cells(row["recall"], budgets)])
        if row["random"]["usable"]:
            body.append(["", "random", *_cells(row["random"]["usable"], budgets)])
    return markdown(["set", "figure", *(f"@{int(b):,}" for b in budgets)], body)


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def chart(sets: Mapping[str, Mapping[str, Any]]) -> str:
    """Usable over the budget as SVG: one line a set, dashed the same set in a random order."""
    budgets = [int(b) for b in next(iter(sets.values()))["usable"]]
    lines = _frame("Usable recall at token budgets", HEIGHT + 20 * len(sets))
    lines += [f'<text x="{_x(b, budgets) - 16}" y="{HEIGHT - 12}">{b:,}</text>' for b in budgets]
    for n, (name, row) in enumerate(sets.items()):
        hue = f"hsl({360 * n // len(sets)} 60% 40%)"
        lines.append(_line(row["usable"], budgets, f'stroke="{hue}" stroke-width="2"'))
        if row["random"]["usable"]:
            lines.append(_line(row["random"]["usable"], budgets, f'stroke="{hue}" stroke-dasharray="3 4"'))
        lines.append(f'<text x="{EDGE}" y="{HEIGHT + 12 + 20 * n}" fill="{hue}">{_escaped(name)}</text>')
    return "\n".join([*lines, "</svg>\n"])


def over_time(runs: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    """Usable over runs, the oldest first, as SVG: one line a budget. A run is its name and its figures by budget."""
    budgets = list(runs[-1][1]) if runs else []
    places = range(len(runs))
    lines = _frame("Usable recall over time", HEIGHT + 20 * len(budgets))
    step = max(1, len(runs) // 8)
    lines += [f'<text x="{_x(n, places) - 16}" y="{HEIGHT - 12}">{_escaped(runs[n][0])}</text>' for n in places[::step]]
    for n, budget in enumerate(budgets):
        hue = f"hsl({360 * n // len(budgets)} 60% 40%)"
        found = [(at, values[budget]) for at, (_, values) in enumerate(runs) if budget in values]
        points = " ".join(f"{_x(at, places)},{_y(value)}" for at, value in found)
        lines.append(f'<polyline fill="none" stroke="{hue}" stroke-width="2" points="{points}"/>')
        lines.append(f'<text x="{EDGE}" y="{HEIGHT + 12 + 20 * n}" fill="{hue}">@{int(budget):,}</text>')
    return "\n".join([*lines, "</svg>\n"])


def _frame(title: str, height: int) -> list[str]:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title>'
    ]
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        rule = f'<path d="M{EDGE} {y}H{WIDTH - EDGE}" stroke="#ccc"/>'
        lines.append(f'{rule}<text x="8" y="{y + 4}">{tenth / 10:.1f}</text>')
    return lines


def _line(values: Mapping[str, float], budgets: Sequence[int], style: str) -> str:
    points = " ".join(f"{_x(b, budgets)},{_y(values[str(b)])}" for b in budgets)
    return f'<polyline fill="none" {style} points="{points}"/>'


def _x(budget: int, budgets: Sequence[int]) -> int:
    low, high = min(budgets), max(budgets)
    return EDGE + round((WIDTH - 2 * EDGE) * (budget - low) / max(1, high - low))


def _y(share: float) -> int:
    return HEIGHT - EDGE - round((HEIGHT - 2 * EDGE) * share)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cells(values: Mapping[str, float], budgets: Sequence[str]) -> list[str]:
    return [f"{values[b]:.3f}" for b in budgets]


def _means(rows: Sequence[Row], budgets: Sequence[int], get: Callable[[Row], Mapping[int, float]]) -> dict[str, float]:
    """Empty where no row has figures, which zeros would feign: no random order was measured, or a half has no case."""
    return {str(b): _mean([get(r)[b] for r in rows]) for b in budgets} if rows and get(rows[0]) else {}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _quantile(values: Sequence[float], q: float) -> float:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))] if values else 0.0


def _fell(name: str, what: str, now: float, before: float) -> Finding:
    return Finding(
        code="recall_fell",
        where=f"/sets/{name}",
        message=f"{name}: {what} fell from {before:.4f} to {now:.4f}",
        expected=f"at least {before - TOLERANCE:.4f}",
        received=f"{now:.4f}",
        hint="find the change of strategy, template or model behind it, or pin the new figures with --pin",
    )


def _not_measured(name: str, what: str, before: float) -> Finding:
    return Finding(
        code="recall_not_comparable",
        severity="warning",
        where=f"/sets/{name}",
        message=f"{name}: {what} is {before:.4f} in the baseline and was not measured this time",
        expected=f"{before:.4f}",
        received="",
        hint="measure at the budgets of the baseline",
    )


def _not_comparable(name: str, now: int, before: int) -> Finding:
    return Finding(
        code="recall_not_comparable",
        where=f"/sets/{name}",
        message=f"{name}: the baseline was measured over {before} cases, this run over {now}",
        expected=str(before),
        received=str(now),
        hint="run the cases of the baseline, or pin the new figures with --pin",
    )
