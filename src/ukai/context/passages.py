"""The texts of a node that are searched and cited one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, cast

from ukai.graph import schema
from ukai.kit import light

MAX_CHARACTERS = 4_000
"""Longer texts are cut into passages at paragraph ends: MiniLM reads about 256 tokens, a reader about this much."""


@light.value
class Passage:
    """One text of a node."""

    part: str
    """What follows the node's handle and a slash: `body`, `turn/31`, `body/2`."""
    field: str
    """The field it comes from: whoever may not read the field may not read the passage."""
    ordinal: int
    """Its place in the node, so that neighbours can be found."""
    lead: str
    """Who says it, for passages that have a speaker."""
    text: str
    at: datetime | None = None
    """When it was said; None when the node does not say."""


def of(kind: schema.Type, props: Mapping[str, Any]) -> list[Passage]:
    """The passages of a node of type `kind` that holds `props`, in order. Empty texts have none."""
    found = [p for name in kind.text if (value := props.get(name)) for p in _field(name, value)]
    if kind.passages is not None:
        found += _parts(kind.passages, props)
    if len(found) < 2:
        return found
    # A long field `turn` and the parts of a `turn` would be called alike: the first one stays, and nothing breaks.
    named = {p.part: p for p in reversed(found)}
    return [
        p if p.ordinal == i else replace(p, ordinal=i) for i, p in enumerate(p for p in found if named[p.part] is p)
    ]


def sources(kind: schema.Type, part: str) -> frozenset[str]:
    """The fields that `part` of a record can be of: more than one where two of them call theirs alike."""
    first = part.partition("/")[0]
    source = {kind.passages.source} if kind.passages is not None and kind.passages.part == first else set[str]()
    return frozenset(source | ({first} & kind.by_key.keys()))


def under(parts: Sequence[Passage], wanted: str) -> list[Passage]:
    """The passage `wanted`, or its pieces in order where it was cut: `turn/31` is `turn/31/1`, `turn/31/2`."""
    exact = [p for p in parts if p.part == wanted]
    return exact or [p for p in parts if p.part.rpartition("/")[0] == wanted and p.part.count("/") == 2]


def _field(name: str, value: Any) -> list[Passage]:
    text = "\n".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value
    pieces = _pieces(text.strip()) if isinstance(text, str) else []
    if len(pieces) == 1:
        return [Passage(part=name, field=name, ordinal=0, lead="", text=pieces[0])]
    return [Passage(part=f"{name}/{n}", field=name, ordinal=0, lead="", text=p) for n, p in enumerate(pieces, 1)]


def _parts(declared: schema.Passages, props: Mapping[str, Any]) -> Iterator[Passage]:
    value = props.get(declared.source)
    if not isinstance(value, list):
        return
    for number, entry in enumerate(cast("list[Any]", value), 1):
        part: Mapping[str, Any] = cast("Mapping[str, Any]", entry) if isinstance(entry, dict) else {}
        text = part.get(declared.text)
        pieces = _pieces(text.strip()) if isinstance(text, str) else []
        for piece_number, piece in enumerate(pieces, 1):
            name = f"{declared.part}/{number}"
            yield Passage(
                part=name if len(pieces) == 1 else f"{name}/{piece_number}",
                field=declared.source,
                ordinal=0,
                lead=str(part.get(declared.speaker) or "") if declared.speaker else "",
                text=piece,
                at=instant(part.get(declared.at)) if declared.at else None,
            )


def _pieces(text: str) -> list[str]:
    """`text` in pieces of at most MAX_CHARACTERS, cut at paragraphs, else at spaces, else anywhere. Nothing is lost."""
    if len(text) <= MAX_CHARACTERS:
        return [text] if text else []
    pieces: list[str] = []
    rest = text
    while len(rest) > MAX_CHARACTERS:
        window = rest[:MAX_CHARACTERS]
        cut = max(window.rfind("\n\n"), 0) or max(window.rfind("\n"), 0) or max(window.rfind(" "), 0) or MAX_CHARACTERS
        pieces.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [p for p in [*pieces, rest] if p]


def instant(value: object) -> datetime | None:
    """An ISO date or instant as one in UTC; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        if len(value) == 10:
            day = date.fromisoformat(value)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the second: the first day of year 1, somewhere in the east
        return None
