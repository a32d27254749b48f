"""Records from outside as runs, one JSON object a line: `{"id", "question", "evidence", "answer", "label"?}`.

A line may also be a saved run, or `{"run": a saved run, ..}` with what is known of its case beside it. Members that are
not known are ignored: people keep their own things there. The page: docs/reference/checks/records.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from ukai import record
from ukai.kit import canonical, document, shape
from ukai.kit.finding import Finding, excerpt
from ukai.measure import composition
from ukai.measure.case import Case

NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""Stands where a record says no time; it is no evidence."""
_RULES: dict[str, Literal["exception", "empty", "returned"]] = {
    "error": "exception",
    "nothing": "empty",
    "data": "returned",
}
_LENIENT = {**shape.STRICT, "extra": "ignore"}


@dataclass(frozen=True, kw_only=True)
class Weighable:
    """A run to weigh, with what is known of its case."""

    run: record.Run
    case: Case | None
    compositions: tuple[composition.Saved, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    __pydantic_config__ = _LENIENT
    key: str
    text: str
    as_of: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class _Call:
    __pydantic_config__ = _LENIENT
    tool: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: Literal["data", "nothing", "error"] | None = None
    error: str | None = None
    items: tuple[_Evidence, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class _Firing:
    __pydantic_config__ = _LENIENT
    rule: str
    verdict: Literal["pass", "rewrite", "block"]
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class _Citation:
    __pydantic_config__ = _LENIENT
    sentence: int
    key: str


@dataclass(frozen=True, kw_only=True)
class _Line:
    __pydantic_config__ = _LENIENT
    id: str
    question: str = ""
    evidence: tuple[_Evidence, ...] = ()
    answer: str | None = None
    label: bool | None = None
    as_of: datetime | None = None
    case: str | None = None
    version: str = ""
    rep: int | None = None
    calls: tuple[_Call, ...] = ()
    citations: tuple[_Citation, ...] = ()
    original: str | None = None
    marks: tuple[str, ...] = ()
    firings: tuple[_Firing, ...] = ()
    required: tuple[str, ...] = ()
    should_pass: tuple[str, ...] = ()
    should_fire: tuple[str, ...] = ()
    cluster: str = ""
    lead: str | None = None
    target_args: tuple[str, ...] = ()
    model: str = ""
    code: str = ""
    wording: Mapping[str, str] = field(default_factory=dict[str, str])
    compositions: tuple[composition.Saved, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    usage: tuple[record.Usage, ...] = ()
    budget: record.Limits = field(default_factory=record.Limits)


def read_line(line: str, where: str) -> tuple[Weighable | None, list[Finding]]:
    """The run that a line holds, or None and why. `where` is its place, `file:line`."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        return None, [_unread(where, f"the line is not JSON: {error}", excerpt(line))]
    if not isinstance(data, dict):
        return None, [_unread(where, "the line is not an object", excerpt(data))]
    members = cast("dict[str, Any]", data)
    if "run_id" in members:
        run, findings = record.load(line, name=where)
        return (Weighable(run=run, case=None) if run else None), [_placed(f, where) for f in findings]
    if isinstance(saved := members.get("run"), dict):
        run, findings = record.load(json.dumps(saved), name=where)
        known, more = shape.parse(document.Document(name=where, data={"id": "", **members}), _Line)
        found = [_placed(f, where) for f in (*findings, *more)]
        return (
            Weighable(run=run, case=_case(known), compositions=known.compositions) if run and known else None
        ), found
    parsed, findings = shape.parse(document.Document(name=where, data=members), _Line)
    if parsed is None:
        return None, [_placed(f, where) for f in findings]
    return Weighable(run=_run(parsed), case=_case(parsed), compositions=parsed.compositions), []


def _run(line: _Line) -> record.Run:
    at = line.as_of or NO_TIME
    calls = tuple(_call(i, call, at) for i, call in enumerate(line.calls, 1))
    if line.evidence:
        calls = (*calls, _evidence(line.evidence, at))
    wording = {rule: f"1 {canonical.sha256(text)}" for rule, text in sorted(line.wording.items())}
    return record.Run(
        run_id=line.id,
        agent="outside",
        principal="public",
        surface="import",
        question=line.question,
        started_at=line.started_at or at,
        ended_at=line.ended_at or line.started_at or at,
        as_of=at,
        usage=line.usage,
        budget=line.budget,
        case_id=line.case,
        rep=line.rep,
        build=record.Build(commit=line.code),
        config=record.Config(model=line.model or line.version, prose={}, guardrails=wording),
        status="answered" if line.answer is not None else "error",
        calls=calls,
        answer=None if line.answer is None else record.Answer(markdown=line.answer),
        citations=tuple(record.Citation(sentence=c.sentence, item_key=c.key) for c in line.citations),
        firings=_firings(line),
    )


def _call(number: int, call: _Call, at: datetime) -> record.Call:
    label = call.label or ("error" if call.error else "data" if call.items else "nothing")
    return record.Call(
        call_id=f"c{number}",
        tool=call.tool,
        args_canonical=canonical.dumps(call.args),
        t0=at,
        t1=at + timedelta(seconds=max(call.seconds, 0.0)),
        label=label,
        label_rule=_RULES[label],
        error_code=call.error,
        items=_items(call.items),
    )


def _evidence(given: tuple[_Evidence, ...], at: datetime) -> record.Call:
    return record.Call(
        call_id="evidence",
        tool="evidence",
        args_canonical="{}",
        t0=at,
        t1=at,
        label="data",
        label_rule="returned",
        items=_items(given),
    )


def _items(given: tuple[_Evidence, ...]) -> tuple[record.Item, ...]:
    return tuple(record.Item(item_key=e.key, text=e.text, as_of=e.as_of) for e in given)


def _firings(line: _Line) -> tuple[record.Firing, ...]:
    fired = tuple(record.Firing(stage="output", rule=f.rule, verdict=f.verdict, failed=f.failed) for f in line.firings)
    if line.original is None:
        return fired
    marks = tuple(_mark(line.original, words) for words in line.marks)
    return (
        *fired,
        record.Firing(stage="output", rule="rewrite@1", verdict="rewrite", marks=marks, rewrite_of=line.original),
    )


def _mark(original: str, words: str) -> record.Mark:
    """Where the words stand; -1 to -1 when they do not, which the check then says."""
    start = original.find(words)
    return record.Mark(text=words, start=start, end=start + len(words) if start >= 0 else -1)


def _case(line: _Line) -> Case:
    return Case(
        id=line.case or line.id,
        label=line.label,
        cluster=line.cluster,
        required=line.required,
        should_pass=line.should_pass,
        should_fire=line.should_fire,
        lead=line.lead,
        target_args=line.target_args,
    )


def _placed(finding: Finding, where: str) -> Finding:
    inner = finding.where.removeprefix(where).removeprefix(":1:1").lstrip(":")
    return Finding(
        code=finding.code,
        where=f"{where}:1",
        message=f"{inner}: {finding.message}" if inner else finding.message,
        severity=finding.severity,
        expected=finding.expected,
        received=finding.received,
        hint=finding.hint,
    )


def _unread(where: str, message: str, received: str) -> Finding:
    return Finding(
        code="record_unreadable",
        where=f"{where}:1",
        message=message,
        received=received,
        hint='write {"id", "question", "evidence": [{"key", "text"}], "answer", "label"?} on one line, or a saved run',
    )


def repeated(id: str, where: str) -> Finding:
    """A second record of one id is not scored: shares would count it twice."""
    return Finding(
        code="record_repeated",
        where=f"{where}:1",
        message=f"a record with the id {id!r} stands above; this one is not scored",
        hint="give every record an id of its own",
    )
