"""A document as where its words stand in the records that it was made of: ids and numbers, and no word of a record.

It is what is kept of a document (context req. 39): the composer's own marks, and for all else the value it comes from,
and from where to where. Of the same values, read anew, the same text is written out again without ranking, cutting or
rendering. Whoever keeps it keeps the hash of the text as well, so that of other values there comes nothing.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from ukai.access import Record
from ukai.context import levels
from ukai.kit import light

Value = tuple[int, int, str, *tuple[int, ...]]
"""Where a text stands: which record, 0 for itself or which of its owners, the field, and numbers down from it."""
Block = tuple[str, Sequence[str]]
"""A part of a document, and the ids of the items whose words are in it: none where all of it is the composer's own."""
OWN, VALUE = 90, 150
"""Bytes of a text of the composer's own and of a value. Source: measured, as `tests/context/test_memory.py` does."""
_WORD = re.compile(r"\w+")
_END = "\0"
"""Between two texts: no text of the store has it."""


@light.value
class Said:
    """The texts of a record that an item may quote, and the words that are the composer's own there: of ids, names and
    templates."""

    texts: Sequence[tuple[Value, str]]
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Spans:
    """A document without its words."""

    values: tuple[Value, ...]
    own: tuple[str, ...]
    """What the composer writes itself."""
    parts: array[int]
    """In order, three numbers for each: which of the values, from where, up to where; or which of `own`, as -1, -2 and
    so on, and twice nothing."""

    @property
    def nbytes(self) -> int:
        """What it takes in memory, roughly."""
        return self.parts.itemsize * len(self.parts) + OWN * len(self.own) + VALUE * len(self.values)

    def text(self, records: Sequence[Record]) -> str | None:
        """The text, of the values as they are in `records`; None where one of them is not there."""
        try:
            said = [_said(records[value[0]], value) for value in self.values]
        except (LookupError, TypeError, StopIteration):
            return None
        own, numbers = self.own, iter(self.parts)
        parts = zip(numbers, numbers, numbers, strict=True)
        return "".join([said[n][start:end] if n >= 0 else own[~n] for n, start, end in parts])


def of(blocks: Iterable[Block], said: Callable[[str], Said], own: frozenset[str] = frozenset()) -> Spans | None:
    """The spans of a text that comes in blocks. `said` knows what the item of an id may quote, `own` are words of the
    composer's beside those.

    None where it says what no record does, as a template can that writes in capitals: that would be kept as a word.
    """
    try:
        return _of(blocks, said, own)
    except _SaidByNone:
        return None


class _SaidByNone(Exception):
    """A letter that stands neither in a value nor in a word of the composer's own."""


def _of(blocks: Iterable[Block], said: Callable[[str], Said], words: frozenset[str]) -> Spans:
    numbers: dict[Value, int] = {}
    marks: dict[str, int] = {}
    parts: list[int] = []
    own = ""
    for text, ids in blocks:
        for part in _parts(text, [said(id) for id in ids], words) if ids else (text,):
            if isinstance(part, str):
                own += part
                continue
            if own:
                parts += (~marks.setdefault(own, len(marks)), 0, 0)
                own = ""
            value, start, end = part
            parts += (numbers.setdefault(value, len(numbers)), start, end)
    if own:
        parts += (~marks.setdefault(own, len(marks)), 0, 0)
    return Spans(values=tuple(numbers), own=tuple(marks), parts=array("i", parts))


def values(place: int, record: Record, fields: Collection[str], called: Sequence[str]) -> list[tuple[Value, str]]:
    """The texts of the record that is the `place`th: of `fields` as they are written, of the others those inside.

    `called` are the fields by which its owners are called.
    """
    found: list[tuple[Value, str]] = []
    for name, value in record.fields.items():
        inside = [((), levels.plain(value))] if name in fields else _inside(value)
        found += [((place, 0, name, *at), text) for at, text in inside if text]
    for n, (owner, name) in enumerate(zip(record.owners, called, strict=True), 1):
        if isinstance(text := owner.fields.get(name), str):
            found.append(((place, n, name), text))
    return found


def words(*names: str) -> frozenset[str]:
    """Of ids, places and names of fields."""
    return frozenset[str]().union(*map(_words, names))


@lru_cache(maxsize=16_384)
def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name))


def _inside(value: object, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], str]]:
    if isinstance(value, (list, dict)):
        inside = cast("Iterable[object]", value.values() if isinstance(value, dict) else value)
        for n, one in enumerate(inside):
            yield from _inside(one, (*at, n))
    else:
        yield at, levels.plain(value)


def _said(record: Record, value: Value) -> str:
    _, owner, field, *inside = value
    said: Any = (record.owners[owner - 1] if owner else record).fields[field]
    for n in inside:
        said = next(islice(cast("Mapping[str, Any]", said).values(), n, None)) if isinstance(said, dict) else said[n]
    return said if isinstance(said, str) else levels.plain(said)


def _parts(text: str, said: Sequence[Said], own: frozenset[str]) -> Iterator[str | tuple[Value, int, int]]:
    found = said[0].texts if len(said) == 1 else list(dict.fromkeys(pair for one in said for pair in one.texts))
    own = own.union(*(one.own for one in said))
    starts, at = [0], 0
    for _, one in found:
        starts.append(at := at + len(one) + len(_END))
    for part in _quotes(text, _END.join([one for _, one in found]), own):
        if isinstance(part, str):
            yield part
        else:
            n = bisect_right(starts, part[0]) - 1
            yield found[n][0], part[0] - starts[n], part[1] - starts[n]


def _quotes(text: str, source: str, own: Collection[str]) -> Iterator[str | tuple[int, int]]:
    """`text` in order, as what stands in `source` from where to where, and what does not stand there.

    From each word on, the rest of its line is looked for, then the word alone, then its letters; what is found goes on
    as far as both say the same.
    """
    at = 0
    while (word := _WORD.search(text, at)) is not None:
        start, end = word.span()
        if start > at:
            yield text[at:start]
        at = text.find("\n", end)
        at = len(text) if at < 0 else at
        if (found := source.find(text[start:at])) < 0:
            at = end
            if word.group() in own:
                yield word.group()
                continue
            found = source.find(word.group())
        if found >= 0:
            length = _common(text, start, source, found, at - start)
            at = start + length
            yield found, found + length
        else:
            for letter in word.group():
                found = source.find(letter)
                if found < 0 and letter.isalpha():
                    raise _SaidByNone
                yield (found, found + 1) if found >= 0 else letter
    if at < len(text):
        yield text[at:]


def _common(one: str, i: int, other: str, j: int, least: int) -> int:
    """How many characters they have in common from there on, of which the first ones are known to be."""
    length, step = least, 1
    while step:
        part = one[i + length : i + length + step]
        is_same = len(part) == step and other.startswith(part, j + length)
        length += step * is_same
        step = step * 2 if is_same else step // 2
    return length
