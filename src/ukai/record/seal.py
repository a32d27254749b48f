"""The seal: canonical JSON, the hash over it, and reading it back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, cast

from ukai.kit import canonical, document, shape
from ukai.kit.finding import Finding, excerpt
from ukai.record.run import SCHEMA, Run


def as_json(value: object) -> Any:
    """`value` as plain JSON values. Fields that are None stay out, everything else is written."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    names = _names(kind)
    if names is not None:
        pairs = ((name, getattr(value, name)) for name in names)
        return {name: as_json(part) for name, part in pairs if part is not None}
    if isinstance(value, tuple | list):
        return [as_json(part) for part in cast("tuple[Any, ...]", value)]
    if isinstance(value, Mapping):
        return {str(key): as_json(part) for key, part in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, datetime | Decimal):
        return json.loads(canonical.dumps(value))
    return value


_PLAIN = frozenset({str, int, float, bool, type(None)})


@lru_cache(maxsize=64)
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass; None for everything else."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else None


def for_its_reader(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a run for whoever asked: without the words that a rule held back or had rewritten (P4.5).

    The record keeps them for the checks and for those who audit. Where a rule fired, what the tools returned stays out
    too, since the words came from there, and so do their arguments, which the model wrote.
    """
    firings: list[dict[str, Any]] = document.get("firings", [])
    if all(f["verdict"] == "pass" for f in firings):
        return dict(document)
    return {
        **document,
        "firings": [{k: v for k, v in f.items() if k not in _HELD} for f in firings],
        # The name of a tool that is not there is a word of the model's, too.
        "calls": [_without_words(c) for c in document.get("calls", []) if c.get("error_code") != "NotCalled"],
    }


_HELD = frozenset({"marks", "rewrite_of", "held"})


def _without_words(call: dict[str, Any]) -> dict[str, Any]:
    items = [{k: v for k, v in item.items() if k not in ("text", "value")} for item in call.get("items", [])]
    return {**call, "args_canonical": "{}", "figures": [], "items": items}


def dumps(run: Run) -> str:
    """Canonical JSON of a run."""
    return canonical.dumps(as_json(run))


def sealed(run: Run) -> Run:
    """`run` with its hash."""
    return replace(run, sha256=_hash(as_json(run)))


def written(run: Run) -> tuple[Run, str]:
    """`run` with its hash, and its canonical JSON."""
    document = as_json(run)
    sha256 = _hash(document)
    return replace(run, sha256=sha256), canonical.dumps({**document, "sha256": sha256})


def verify(run: Run) -> list[Finding]:
    """What is wrong with a run: changed since it was sealed, or never whole. None is fine."""
    found = list(_gaps(run))
    expected = _hash(as_json(run))
    if run.sha256 != expected:
        found.append(
            Finding(
                code="record_changed",
                where="/sha256",
                message=f"run {run.run_id} was changed after it was sealed, or never sealed",
                expected=expected,
                received=run.sha256 or "nothing",
                hint="restore it from a dump, or leave it out of comparisons",
            )
        )
    return found


def load(raw: str | bytes, *, name: str = "run.json") -> tuple[Run | None, list[Finding]]:
    """The run that `raw` holds, or None and why. Its hash is not checked here: `verify` does.

    A record of another schema is told apart from a damaged one: finding `record_schema`.
    """
    try:
        data = json.loads(raw, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        return None, [_unread(name, f"the record is not JSON: {error}", excerpt(raw))]
    if not isinstance(data, dict):
        return None, [_unread(name, "the record is not an object", excerpt(data))]
    record = cast("dict[str, Any]", data)
    if record.get("schema") != SCHEMA or isinstance(record.get("schema"), bool):
        return None, [_other_schema(record.get("schema"))]
    return shape.parse(document.Document(name=name, data=record), Run)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number that JSON has")
    return number


def _hash(record: dict[str, Any]) -> str:
    return canonical.sha256({key: part for key, part in record.items() if key != "sha256"})


def _gaps(run: Run) -> Iterator[Finding]:
    """Places where parts of the run contradict each other."""
    if [event.seq for event in run.events] != list(range(1, len(run.events) + 1)):
        yield _broken("/events", "events are not numbered from 1 without gaps")
    length = len(run.answer.markdown) if run.answer else 0
    units = run.answer.sentences if run.answer else ()
    for i, unit in enumerate(units):
        if unit.i != i or not 0 <= unit.start < unit.end <= length:
            yield _broken(f"/answer/sentences/{i}", "the sentence does not lie in the answer")
    known = {item.item_key for call in run.calls for item in call.items}
    for i, citation in enumerate(run.citations):
        if not 0 <= citation.sentence < len(units):
            yield _broken(f"/citations/{i}/sentence", "the citation names a sentence that is not there")
        if citation.item_key not in known:
            yield _broken(f"/citations/{i}/item_key", "the citation names an item that no call returned")
    for i, firing in enumerate(run.firings):
        sent = run.answer.markdown if run.answer else ""
        text = next((t for t in (firing.rewrite_of, firing.held) if t is not None), sent)
        for k, mark in enumerate(firing.marks):
            if firing.stage == "output" and text and text[mark.start : mark.end] != mark.text:
                yield _broken(f"/firings/{i}/marks/{k}", "the mark's words do not stand there")


def _broken(where: str, message: str) -> Finding:
    return Finding(code="record_broken", where=where, message=message, hint="leave this run out of comparisons")


def _other_schema(received: object) -> Finding:
    newer = isinstance(received, int) and not isinstance(received, bool) and received > SCHEMA
    return Finding(
        code="record_schema",
        where="/schema",
        message="the record was written by a newer Ukai" if newer else "the record has no schema that is known here",
        expected=str(SCHEMA),
        received=excerpt(received),
        hint="read it with the version that wrote it" if newer else "check where the file comes from",
    )


def _unread(name: str, message: str, received: str) -> Finding:
    return Finding(
        code="record_unreadable",
        where=f"{name}:1:1",
        message=message,
        received=received,
        hint="write one JSON object, as `ukai run show ID --json` prints it",
    )
