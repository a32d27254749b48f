"""Many records at once: read, weighed and let go of in pieces, over as many processes as there are cores.

Checks of one run are made where the record is read; checks over many get runs without the texts of their evidence, so
that memory grows with what was found and not with what was read. The result does not depend on the pieces.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from ukai.kit.finding import Finding
from ukai.measure import outside
from ukai.measure.case import Case
from ukai.measure.checks import CHECKS
from ukai.measure.reading import Reading
from ukai.measure.score import Score
from ukai.measure.spec import GroupCheck, Pair, RunCheck

PIECE = 16
"""Records that one process reads at a time."""
INLINE = 4_000_000
"""Characters of records below which no process is started."""

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One record with the scores of all checks of one run."""

    id: str
    case: Case | None
    scores: tuple[Score, ...]


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """Everything about many records, in their order."""

    rows: tuple[Row, ...]
    groups: tuple[Score, ...]
    findings: tuple[Finding, ...]


def weighed(lines: Sequence[str], names: Sequence[str], *, name: str, workers: int = 1) -> Weighed:
    """Each line is a record from outside or a saved run; `names` are checks at their defaults."""
    total = sum(map(len, lines))
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    pieces = [(numbered[i : i + PIECE], tuple(names), name) for i in range(0, len(numbered), PIECE)]
    rows: list[Row] = []
    pairs: list[Pair] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    for read in pooled(_piece, pieces, workers=workers if total > INLINE else 1):
        for row, pair, found, place in read:
            if row is not None and row.id in seen:
                findings.append(outside.repeated(row.id, place))
                continue
            findings += found
            if row is not None:
                seen.add(row.id)
                rows.append(row)
            if pair is not None:
                pairs.append(pair)
    checks = [CHECKS[check]() for check in names]
    groups = [score for check in checks if isinstance(check, GroupCheck) for score in check.weigh_all(pairs)]
    return Weighed(rows=tuple(rows), groups=tuple(groups), findings=tuple(findings))


_Read = tuple["Row | None", "Pair | None", "list[Finding]", str]


def _piece(given: tuple[Sequence[tuple[int, str]], tuple[str, ...], str]) -> list[_Read]:
    lines, names, name = given
    checks: list[Any] = [CHECKS[check]() for check in names]
    over_many = any(isinstance(check, GroupCheck) for check in checks)
    return list(_read(lines, checks, name, over_many=over_many))


def _read(lines: Sequence[tuple[int, str]], checks: Sequence[Any], name: str, *, over_many: bool) -> Iterator[_Read]:
    for number, line in lines:
        place = f"{name}:{number}"
        weighable, findings = outside.read_line(line, place)
        if weighable is None:
            yield None, None, findings, place
            continue
        reading = Reading(weighable.run, weighable.compositions)
        scores = tuple(c.weigh(reading, weighable.case) for c in checks if isinstance(c, RunCheck))
        row = Row(id=reading.id, case=weighable.case, scores=scores)
        yield row, ((reading.slim(), weighable.case) if over_many else None), findings, place


def pooled(work: Callable[[In], Out], given: Sequence[In], *, workers: int) -> list[Out]:
    """`work` of each, in the order given, by several processes when that is asked."""
    if workers <= 1 or len(given) < 2:
        return [work(one) for one in given]
    # Not by fork: the process may have threads (a pool of connections), and a forked copy of their locks never opens.
    context = multiprocessing.get_context(
        "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    )
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        return list(pool.map(work, given))
