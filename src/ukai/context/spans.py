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
from itertools import accumulate, islice
from typing import Any, cast

from ukai.access import Record
from ukai.context import levels, structure
from ukai.kit import light

Value = tuple[int, int, str, *tuple[int, ...]]
"""Where a text stands: which record, 0 for itself or which of its owners, the field, and numbers down from it."""
Block = tuple[str, Sequence[str]]
"""A part of a document, and the ids of the items whose words are in it: none where all of it is the composer's own."""
OWN, VALUE = 90, 150
"""Bytes of a text of the composer's own and of a value. Source: measured, as `tests/context/test_memory.py` does."""
TRIES = 4
"""Words of a line from which on the rest of it is looked for: what stands behind more of them is a list of names."""
_WORD = re.compile(r"\w+")
_END = "\0"
"""Between two texts: no text of the store has it."""


@light.value
class Said:
    """The texts of a record that an item may quote."""

    texts: Sequence[tuple[Value, str]]
    names: Sequence[str] = ()
    """Ids, places, fields and templates, whose words are the composer's own."""


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


def of(blocks: Iterable[Block], said: Callable[[str], Said], refs: Iterable[str] = ()) -> Spans | None:
    """The spans of a text that comes in blocks. `said` knows what the item of an id may quote; `refs` stand in it for
    what was put aside.

    None where it says what no record does, as a template can that writes in capitals: that would be kept as a word.
    """
    try:
        return _of(blocks, said, structure.WORDS.union(*map(_words, refs)))
    except _SaidByNone:
        return None


class _SaidByNone(Exception):
    """A letter that stands neither in a value nor in a word of the composer's own."""


def _of(blocks: Iterable[Block], said: Callable[[str], Said], own: frozenset[str]) -> Spans:
    made = _Writing(own)
    for text, ids in blocks:
        if ids:
            made.quote(text, [said(id) for id in ids])
        else:
            made.write(text)
    return made.spans()


class _Source:
    """All texts that a block may quote, as one."""

    def __init__(self, said: Sequence[Said]) -> None:
        texts = said[0].texts if len(said) == 1 else list(dict.fromkeys(pair for one in said for pair in one.texts))
        self.values = [value for value, _ in texts]
        self.text = _END.join([*(text for _, text in texts), ""])
        self.starts = [0, *accumulate(len(text) + len(_END) for _, text in texts)]
        self._said = said

    def names(self, word: str) -> bool:
        """Whether it is one of the names. Asked last: there may be thousands of them, and mostly the first has it."""
        return any(word in _words(name) for one in self._said for name in one.names)


class _Writing:
    """Spans as they come."""

    def __init__(self, own: frozenset[str]) -> None:
        self._words = own
        self._numbers: dict[Value, int] = {}
        self._marks: dict[str, int] = {}
        self._parts: list[int] = []
        self._own = ""
        """What the composer has written since the last value."""

    def write(self, text: str) -> None:
        """A text of the composer's own."""
        self._own += text

    def quote(self, text: str, said: Sequence[Said]) -> None:
        """A text of values and of the composer's own words.

        From each of the first words on, the rest of their line is looked for, then the word alone, then its letters;
        what is found goes on as far as both say the same.
        """
        source, at, line, tries = _Source(said), 0, 0, 0
        while (word := _WORD.search(text, at)) is not None:
            start, end = word.span()
            self._own += text[at:start]
            if start >= line:
                line = text.find("\n", end)
                line, tries = len(text) if line < 0 else line, TRIES
            at, tries = line, tries - 1
            if (n := source.text.find(text[start:at]) if tries >= 0 else -1) < 0:
                at, n = end, source.text.find(word.group())
            if n >= 0:
                whole = source.text[n : source.text.find(_END, n)]
                is_whole = text.startswith(whole, start)  # mostly
                at = start + (len(whole) if is_whole else _common(text, start, source.text, n, at - start))
                self._value(source, n, n + at - start)
            elif word.group() in self._words or source.names(word.group()):
                self._own += word.group()
            else:
                self._letters(word.group(), source)
        self._own += text[at:]

    def _letters(self, word: str, source: _Source) -> None:
        for letter in word:
            n = source.text.find(letter)
            if n >= 0:
                self._value(source, n, n + 1)
            elif letter.isalpha():
                raise _SaidByNone
            else:
                self._own += letter

    def _value(self, source: _Source, start: int, end: int) -> None:
        self._end_own()
        place = bisect_right(source.starts, start) - 1
        before = source.starts[place]
        number = self._numbers.setdefault(source.values[place], len(self._numbers))
        self._parts += (number, start - before, end - before)

    def _end_own(self) -> None:
        if self._own:
            self._parts += (~self._marks.setdefault(self._own, len(self._marks)), 0, 0)
            self._own = ""

    def spans(self) -> Spans:
        """All of it."""
        self._end_own()
        return Spans(values=tuple(self._numbers), own=tuple(self._marks), parts=array("i", self._parts))


def values(place: int, record: Record, fields: Collection[str], called: Sequence[str]) -> list[tuple[Value, str]]:
    """The texts of the record that is the `place`th: of `fields` as they are written, of the others those inside.

    `called` are the fields by which its owners are called.
    """
    found: list[tuple[Value, str]] = []
    for name, value in record.fields.items():
        if isinstance(value, str):  # most are
            found.append(((place, 0, name), value))
        elif name in fields:
            found.append(((place, 0, name), levels.plain(value)))
        else:
            found += [((place, 0, name, *at), text) for at, text in _inside(value)]
    for n, (owner, name) in enumerate(zip(record.owners, called, strict=True), 1):
        if isinstance(text := owner.fields.get(name), str):
            found.append(((place, n, name), text))
    return found


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


def _common(one: str, i: int, other: str, j: int, least: int) -> int:
    """How many characters they have in common from there on, of which the first ones are known to be."""
    length, step = least, 1
    while step:
        part = one[i + length : i + length + step]
        is_same = len(part) == step and other.startswith(part, j + length)
        length += step * is_same
        step = step * 2 if is_same else step // 2
    return length
