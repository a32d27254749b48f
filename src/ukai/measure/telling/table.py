"""A comparison as a table for a terminal: verdicts first, then what moved, then what lies behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ukai.measure.attribution import Moved
from ukai.measure.compare import Comparison, Row
from ukai.measure.quantity import Quantity

CASES = 6
"""Names of cases in a line; the document holds all."""


def told(comparison: Comparison) -> str:
    """Lines of at most about 110 characters."""
    return "\n".join(_lines(comparison))


def _lines(made: Comparison) -> Iterator[str]:
    yield f"{made.before} -> {made.after}"
    for dimension, parts in made.changed.items():
        yield f"changed: {dimension} ({', '.join(parts)})"
    if not made.changed:
        yield "changed: nothing; what differs is what reruns of one version differ by"
    yield ""
    yield f"  {'':<18}{'before':>10}{'after':>10}{'change':>10}  {'95 % interval':<20} {'cases':>5}  verdict"
    for row in made.rows:
        yield _row(row)
    for row in made.rows:
        if row.word in ("better", "worse"):
            fell, rose = _named(row.fell), _named(row.rose)
            yield f"  {row.quantity.name}: " + "; ".join(
                part for part in (f"fell in {fell}" if fell else "", f"rose in {rose}" if rose else "") if part
            )
    yield ""
    yield from moves(made.moved)
    thin = made.thinner
    if thin.had_less or thin.wrote_less:
        lost = f"{thin.had_less + thin.wrote_less} findings in {len(thin.cases)} cases"
        yield f"answers lost {lost}: had less {thin.had_less}, wrote less {thin.wrote_less}; gained {thin.gained}"
    yield from _examples(made)
    yield from map(_collision, made.collisions)
    if made.unpaired:
        yield f"unpaired, in no figure above: {_named(made.unpaired)}"


def moves(moved: Sequence[Moved]) -> Iterator[str]:
    """What started and stopped; what did not move is counted."""
    news = [one for one in moved if one.is_news]
    for one in news:
        why = f" <- {one.part}" if one.part else ""
        ends = [f"{word} in {_named(cases)}" for word, cases in (("started", one.started), ("stopped", one.stopped))
                if cases]  # fmt: skip
        told = f" ({'; '.join(ends)})" if ends else ""
        yield f"{one.kind} {one.name}: {one.measure} {one.before:.2f} -> {one.after:.2f}{told}{why}"
    held = sum(one.word == "as before" for one in moved)
    unknown = len(moved) - held - len(news)
    if moved:
        rest = f", {unknown} with not enough runs to say" if unknown else ""
        yield f"moved: {len(news)} of {len(moved)} numbers of tools, rules, skills and sections; {held} as before{rest}"


def _row(row: Row) -> str:
    gap, unit = row.difference, row.quantity
    interval = f"[{amount(unit, gap.low, sign=True)}, {amount(unit, gap.high, sign=True)}]"
    if abs(gap.low) == float("inf"):
        interval = "-"
    mark = "!" if row.word == "worse" and unit.gates else " "
    before, after = amount(unit, row.before), amount(unit, row.after)
    change = amount(unit, gap.mean, sign=True)
    return f"{mark} {unit.name:<18}{before:>10}{after:>10}{change:>10}  {interval:<20} {gap.cases:>5}  {verdict(row)}"


def verdict(row: Row) -> str:
    """The word, with what it takes to be understood."""
    if row.word == "no difference":
        return f"no difference larger than {amount(row.quantity, row.margin)}"
    if row.word == "not enough runs":
        least = row.difference.detectable
        return "not enough runs" + (f" (could show {amount(row.quantity, least)})" if 0 < least < float("inf") else "")
    return row.word


def amount(quantity: Quantity, value: float, *, sign: bool = False) -> str:
    """A number as it is printed: shares in points, dollars with four places."""
    if quantity.unit == "":
        return f"{100 * value:{'+' if sign else ''}.1f}" + ("" if sign else "%")
    places = 4 if quantity.unit == "usd" else 1
    return f"{value:{'+' if sign else ''},.{places}f}"


def _examples(made: Comparison) -> Iterator[str]:
    for row in made.examples:
        said = f"{row['before'] or '-'} -> {row['after'] or '-'}"
        yield f"example {row['example']} should {row['expects']}: {said}: {str(row['text'])[:70]!r}"


def _collision(row: Mapping[str, Any]) -> str:
    flips = "unknown" if row["flips"] is None else f"{row['flips']:.2f}"
    moved = ", ".join(f"{name} {row[name]}" for name in ("gained", "lost", "kept", "failed"))
    return f"rule {row['rule']}: {moved}; flips by itself {flips}; p (Holm) {row['p_holm']}"


def _named(cases: Sequence[str]) -> str:
    more = f" and {len(cases) - CASES} more" if len(cases) > CASES else ""
    return ", ".join(islice(cases, CASES)) + more
