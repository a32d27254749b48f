"""Runs and verdicts as JUnit XML, which every pipeline shows: cases that do not pass, quantities that got worse."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from ukai.measure.compare import Comparison
from ukai.measure.telling.table import verdict
from ukai.measure.weighing import Weighed


def told(name: str, runs: Sequence[Weighed], comparison: Comparison | None = None) -> str:
    """A suite of the cases, and one of the gated quantities where two evaluations were compared.

    A case fails when none of its repeats passes; when some do, it is told as flaky and does not fail.
    """
    suites = [_suite(name, _cases(runs))]
    if comparison is not None:
        suites.append(_suite(f"{comparison.before} to {comparison.after}", _verdicts(comparison)))
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


_Case = tuple[str, float, str, str]
"""Name, seconds, why it failed (empty where it did not), what else is said."""


def _cases(runs: Sequence[Weighed]) -> list[_Case]:
    by_case: dict[str, list[Weighed]] = {}
    for one in runs:
        by_case.setdefault(one.question.id, []).append(one)
    found: list[_Case] = []
    for id, own in by_case.items():
        passed = sum(not one.unmet for one in own)
        seconds = sum((one.run.ended_at - one.run.started_at).total_seconds() for one in own)
        why = "; ".join(dict.fromkeys(reason for one in own for reason in one.unmet))
        said = f"passed {passed} of {len(own)}" + (f": {why}" if why else "")
        found.append((id, seconds, "" if passed else said, said if passed < len(own) else ""))
    return found


def _verdicts(comparison: Comparison) -> list[_Case]:
    found: list[_Case] = []
    for row in comparison.rows:
        said = f"{row.before:.4f} -> {row.after:.4f}: {verdict(row)}"
        found.append((row.quantity.name, 0.0, said if row.word == "worse" and row.quantity.gates else "", said))
    return found


def _suite(name: str, cases: Sequence[_Case]) -> str:
    failed = sum(bool(why) for _, _, why, _ in cases)
    lines = [f'<testsuite name={_quoted(name)} tests="{len(cases)}" failures="{failed}">\n']
    for id, seconds, why, said in cases:
        inside = f"<failure message={_quoted(why)}/>" if why else ""
        inside += f"<system-out>{_escaped(said)}</system-out>" if said and not why else ""
        lines.append(
            f'  <testcase name={_quoted(id)} classname={_quoted(name)} time="{seconds:.3f}">{inside}</testcase>\n'
        )
    return "".join([*lines, "</testsuite>\n"])


def _quoted(text: str) -> str:
    return quoteattr(_plain(text))


def _escaped(text: str) -> str:
    return _plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Without the characters that XML does not have."""
    return "".join(
        c for c in text if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff")
    )
