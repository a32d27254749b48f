"""The texts of a node that are searched and cited one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    # A long field `turn` and the parts of a `turn` would be called alike: the first one stays, and nothing breaks.
    found: dict[str, Passage] = {}
    for name in kind.text:
        if value := props.get(name):
            for part, text in _named(name, _pieces(_text(value))):
                if part not in found:
                    found[part] = Passage(part=part, field=name, ordinal=len(found), lead="", text=text)
    if (declared := kind.passages) is not None:
        for part, text, entry in _parts(declared, props.get(declared.source)):
            if part not in found:
                lead = str(entry.get(declared.speaker) or "") if declared.speaker else ""
                at = instant(entry.get(declared.at)) if declared.at else None
                found[part] = Passage(part=part, field=declared.source, ordinal=len(found), lead=lead, text=text, at=at)
    return list(found.values())


def sources(kind: schema.Type, part: str) -> frozenset[str]:
    """The fields that `part` of a record can be of: more than one where two of them call theirs alike."""
    first = part.partition("/")[0]
    source = {kind.passages.source} if kind.passages is not None and kind.passages.part == first else set[str]()
    return frozenset(source | ({first} & kind.by_key.keys()))


def under(parts: Sequence[Passage], wanted: str) -> list[Passage]:
    """The passage `wanted`, or its pieces in order where it was cut: `turn/31` is `turn/31/1`, `turn/31/2`."""
    exact = [p for p in parts if p.part == wanted]
    return exact or [p for p in parts if p.part.rpartition("/")[0] == wanted and p.part.count("/") == 2]


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = "\n".join(map(str, cast("list[Any]", value)))
    return value.strip() if isinstance(value, str) else ""


def _named(name: str, pieces: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The pieces of one text with what they are called."""
    return [(name, pieces[0])] if len(pieces) == 1 else [(f"{name}/{n}", p) for n, p in enumerate(pieces, 1)]


def _parts(declared: schema.Passages, value: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """What each part is called, its text, and the part."""
    for number, one in enumerate(cast("list[Any]", value) if isinstance(value, list) else (), 1):
        entry: Mapping[str, Any] = cast("Mapping[str, Any]", one) if isinstance(one, dict) else {}
        text = entry.get(declared.text)
        pieces = _pieces(text.strip()) if isinstance(text, str) else ()
        for part, piece in _named(f"{declared.part}/{number}", pieces):
            yield part, piece, entry


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
