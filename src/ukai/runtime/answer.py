"""Citations of an answer: `[Type#key/part]` behind a sentence, resolved against what the tools returned (P4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ukai import record

_CITE = re.compile(r"\[([^\[\]\n]+)\]")


@dataclass(frozen=True, kw_only=True)
class Cited:
    """The citations of an answer."""

    citations: tuple[record.Citation, ...]
    """Those that name an item a tool returned in this turn."""
    unresolved: tuple[str, ...]
    """What looks like a citation and names nothing that was returned."""


def cited(answer: str, sentences: Sequence[record.AnswerSentence], items: Iterable[record.Item]) -> Cited:
    """The citations in `answer`, in order, each once per sentence. A field of an item, `Type#key/field`, counts too."""
    known = {name for item in items for name in _names(item)}
    found: dict[tuple[int, str], None] = {}
    unresolved: dict[str, None] = {}
    for match in _CITE.finditer(answer):
        for name in (part.strip() for part in match.group(1).split(";")):
            if "#" not in name and not name.startswith("tool:"):
                continue
            if name in known or name.partition(".")[0] in known:
                found[(_sentence(answer, sentences, match.start()), name)] = None
            else:
                unresolved[name] = None
    return Cited(
        citations=tuple(record.Citation(sentence=s, item_key=k) for s, k in found), unresolved=tuple(unresolved)
    )


def _sentence(answer: str, sentences: Sequence[record.AnswerSentence], at: int) -> int:
    """Whose citation stands at `at`: of the sentence around it, or before it where it follows the full stop."""
    number = next((n for n, s in enumerate(sentences) if s.start <= at < s.end), len(sentences) - 1)
    if number < 1:
        return sentences[number].i if sentences else 0
    own, before = sentences[number], sentences[number - 1]
    stands_first = not _CITE.sub("", answer[own.start : at]).strip()
    follows = stands_first and "\n" not in answer[before.end : own.start]
    return before.i if follows else own.i


def _names(item: record.Item) -> Iterator[str]:
    """What may be cited of an item: itself, and the fields that came with it."""
    yield item.item_key
    value: Any = item.value
    fields: Any = cast("dict[str, Any]", value).get("fields") if isinstance(value, dict) else None
    if isinstance(fields, dict):
        yield from (f"{item.item_key}/{name}" for name in cast("dict[str, Any]", fields))
