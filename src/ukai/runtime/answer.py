"""Citations of an answer: `[Type#key/part]` behind a sentence, resolved against what the tools returned (P4.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    """The citations in `answer`, in order, each once per sentence. A field of an item counts as the item's."""
    known = {i.item_key for i in items}
    found: dict[tuple[int, str], None] = {}
    unresolved: dict[str, None] = {}
    for match in _CITE.finditer(answer):
        for name in (part.strip() for part in match.group(1).split(";")):
            if "#" not in name and not name.startswith("tool:"):
                continue
            owner = name.rpartition("/")[0]
            if name in known or owner in known:
                sentence = next(
                    (s.i for s in sentences if s.start <= match.start() < s.end), max(len(sentences) - 1, 0)
                )
                found[(sentence, name)] = None
            else:
                unresolved[name] = None
    return Cited(
        citations=tuple(record.Citation(sentence=s, item_key=k) for s, k in found), unresolved=tuple(unresolved)
    )
