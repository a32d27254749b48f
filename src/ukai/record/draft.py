"""A run in the making: parts are added as they happen, each becomes an entry to keep at once, and the end is sealed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, TypeVar, cast

from ukai.kit import canonical, document, figures, sentences, shape
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding
from ukai.record import seal, secret
from ukai.record.run import Answer, AnswerSentence, Call, Citation, Event, Firing, Run, SeenFigure, Start, Status, Usage

Part = Call | Firing | Usage | Citation | Answer
KINDS: dict[str, type] = {"call": Call, "firing": Firing, "usage": Usage, "citation": Citation, "answer": Answer}
REFERENCES = ("composition", "decision", "commit", "note")
"""Kinds of which only an id (or, for a note, a word) is kept."""

T = TypeVar("T")

_SURROGATE = re.compile(r"[\ud800-\udfff]")


class RunSealed(PermanentError):
    """A run that has ended was asked to change."""

    hint = "A sealed run is never written again; start another one"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} is sealed")
        self.run_id = run_id


class BrokenEntry(PermanentError):
    """A part that does not fit its own description: naive instants, numbers that JSON does not have."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(str(f) for f in findings))
        self.findings = findings


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One event with what it brought: the unit that is written durably."""

    seq: int
    at: datetime
    kind: str
    data: Any
    """JSON value: the part, or `{"id": ...}`."""

    @property
    def event(self) -> Event:
        """The event alone, as the sealed run lists it."""
        data = cast("dict[str, Any]", self.data)
        return Event(seq=self.seq, at=self.at, kind=self.kind, about=str(data.get("call_id") or data.get("id") or ""))


class Draft:
    """What has happened so far in one turn. Secrets are masked on the way in."""

    def __init__(self, start: Start, *, clock: Clock) -> None:
        self._start = clean(start)
        self._clock = clock
        self._entries: list[Entry] = []
        self._parts: list[Any] = []
        self._is_sealed = False

    @property
    def start(self) -> Start:
        """As it is kept, secrets masked."""
        return self._start

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All so far."""
        return tuple(self._entries)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, as they are kept."""
        return tuple(part for part in self._parts if isinstance(part, Call))

    def add(self, part: Part) -> Entry:
        """Something happened. A call's figures and an answer's sentences are read here, once.

        Raises RunSealed when the run has ended.
        """
        part, data = _cleaned(part)
        if isinstance(part, Call) and part.figures is None:
            part = replace(part, figures=figures_of(part))
            data["figures"] = seal.as_json(part.figures)
        if isinstance(part, Answer) and not part.sentences:
            part = replace(part, sentences=units_of(part.markdown))
            data["sentences"] = seal.as_json(part.sentences)
        return self._append(_kind_of(part), data, part)

    def refer(self, kind: str, id: str) -> Entry:
        """A record that is kept elsewhere (`composition`, `decision`, `commit`), or a `note`.

        Raises RunSealed when the run has ended, ValueError for another kind.
        """
        if kind not in REFERENCES:
            raise ValueError(f"{kind!r} is not one of {', '.join(REFERENCES)}")
        data = {"id": _clean_text(id)}
        return self._append(kind, data, data["id"])

    def seal(self, status: Status, *, reason: str = "") -> Run:
        """The run, ended now. Raises RunSealed the second time."""
        return self.written(status, reason=reason)[0]

    def written(self, status: Status, *, reason: str = "") -> tuple[Run, str]:
        """The same, and its canonical JSON."""
        if self._is_sealed:
            raise RunSealed(self._start.run_id)
        self._is_sealed = True
        parts = [(entry.kind, part) for entry, part in zip(self._entries, self._parts, strict=True)]
        run = _run(
            self._start, self._entries, parts, ended_at=self._clock.now(), status=status, reason=_clean_text(reason)
        )
        return seal.written(run)

    def _append(self, kind: str, data: Any, part: Any) -> Entry:
        if self._is_sealed:
            raise RunSealed(self._start.run_id)
        entry = Entry(seq=len(self._entries) + 1, at=self._clock.now(), kind=kind, data=data)
        self._entries.append(entry)
        self._parts.append(part)
        return entry


def assemble(start: Start, entries: Sequence[Entry], *, ended_at: datetime, status: Status, reason: str = "") -> Run:
    """The sealed run that `entries` add up to: the same for a turn that ends and for one that died."""
    parts = [(entry.kind, _part(entry)) for entry in entries]
    return seal.sealed(_run(start, entries, parts, ended_at=ended_at, status=status, reason=reason))


def _run(
    start: Start,
    entries: Sequence[Entry],
    parts: Sequence[tuple[str, Any]],
    *,
    ended_at: datetime,
    status: Status,
    reason: str,
) -> Run:
    def of(kind: str) -> tuple[Any, ...]:
        return tuple(part for name, part in parts if name == kind)

    answers = of("answer")
    started = {f.name: getattr(start, f.name) for f in fields(Start)}
    return Run(
        **started,
        ended_at=ended_at,
        status=status,
        reason=reason,
        events=tuple(entry.event for entry in entries),
        calls=of("call"),
        compositions=of("composition"),
        decisions=of("decision"),
        commits=of("commit"),
        answer=answers[-1] if answers else None,
        citations=of("citation"),
        firings=of("firing"),
        usage=of("usage"),
    )


def figures_of(call: Call) -> tuple[SeenFigure, ...]:
    """The figures of all items."""
    return tuple(
        SeenFigure(
            item=i,
            start=figure.start,
            end=figure.end,
            kind=figure.kind,
            value=figure.said,
            unit=figure.unit,
            ulp=str(figure.ulp),
            approx=figure.approx,
        )
        for i, item in enumerate(call.items)
        for figure in figures.extract(item.words)
    )


def units_of(markdown: str) -> tuple[AnswerSentence, ...]:
    """The sentences of an answer."""
    found = sentences.split(markdown)
    return tuple(AnswerSentence(i=i, start=s.start, end=s.end, block=s.block) for i, s in enumerate(found))


def clean(value: T) -> T:
    """`value` with secrets masked and halves of surrogate pairs replaced, so that it can be written as UTF-8."""
    return _cleaned(value)[0]


def _cleaned(value: T) -> tuple[T, dict[str, Any]]:
    """The same, and as plain JSON."""
    plain = seal.as_json(value)
    if isinstance(value, Call):
        plain["args_canonical"] = _clean_args(value.args_canonical)
    data = secret.masked_value(_whole(plain))
    read = cast("T", _read(data, type(value)))
    return read, seal.as_json(read)


def hidden(value: Any, person: str) -> Any:
    """A JSON value with an address masked in every text, letter case aside, length for length."""
    address = re.compile(rf"(?<![\w.+-]){re.escape(person)}(?![\w-])", re.I)

    def mask(part: Any) -> Any:
        if isinstance(part, str):
            return address.sub(lambda m: secret.MASK * len(m.group()), part)
        if isinstance(part, list):
            return [mask(inner) for inner in cast("list[Any]", part)]
        if isinstance(part, dict):
            return {mask(key): mask(inner) for key, inner in cast("dict[str, Any]", part).items()}
        return part

    masked: Any = mask(value)
    return masked


def without(run: Run, person: str) -> Run:
    """`run` with an address masked in every text, sealed anew."""
    return seal.sealed(_read(hidden(seal.as_json(run), person), Run))


def _clean_args(args: str) -> str:
    """Arguments are JSON in a text: names inside it count too."""
    try:
        return canonical.dumps(secret.masked_value(json.loads(args)))
    except (ValueError, RecursionError):
        return args


def _whole(value: Any) -> Any:
    """Halves of surrogate pairs replaced."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(part) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_whole(key): _whole(part) for key, part in cast("dict[str, Any]", value).items()}
    return value


def _clean_text(text: str) -> str:
    return secret.masked(_SURROGATE.sub("\ufffd", text))


def _part(entry: Entry) -> Any:
    kind = KINDS.get(entry.kind)
    return cast("Any", _read(entry.data, kind)) if kind else entry.data["id"]


def _read(data: Any, kind: type[T]) -> T:
    value, found = shape.parse(document.Document(name=kind.__name__, data=data), kind)
    if value is None:
        raise BrokenEntry(found)
    return value


def _kind_of(part: Part) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(part, kind))
