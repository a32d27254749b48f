"""The eight levels at which a thing can stand in a document, from what it is called to everything (context req. 31).

Which ones a cut uses is data: by default identity, names and full. No model chooses a level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from ukai.context import structure
from ukai.context.item import Item
from ukai.context.subject import Subject
from ukai.kit import canonical

IDENTITY, NAMES, TYPED, LEAD, MATCHED, TEXT, ELEMENTS, FULL = (
    "identity",
    "names",
    "typed",
    "lead",
    "matched",
    "text",
    "elements",
    "full",
)
LEVELS = (IDENTITY, NAMES, TYPED, LEAD, MATCHED, TEXT, ELEMENTS, FULL)
"""From least to most. `none` stands in reports for what is not shown."""
NONE = "none"
_TYPES = ("data_type", "type")
_WORD = re.compile(r"\w")
LEADING = 160
"""Characters of the text at `lead`."""


def at_least(level: str, other: str) -> bool:
    """Whether `level` shows as much as `other`."""
    return LEVELS.index(level) >= LEVELS.index(other)


def body(subject: Subject, level: str, told: Collection[str] = ()) -> str:
    """What stands below or behind the name at `level`; empty where the level adds nothing.

    Each level says all that the one before it says, in more words. `told` are fields that stand above it already.
    """
    said = _full(subject, told) if level == FULL else _BODIES[level](subject)
    if not subject.elements or structure.is_plain(said):
        return said
    # What the name of an element and what it says make together may read as the composer's, too.
    return structure.quoted(said, own=structure.asides(_values(subject)))


def _values(subject: Subject) -> Iterator[object]:
    for item in (subject.item, *subject.elements):
        yield from (item.text, *item.fields.values())


def length(subject: Subject) -> int:
    """About how many characters the full body has, without making it."""
    item = subject.item
    fields = sum([len(k) + len(v if isinstance(v, str) else str(v)) + 3 for k, v in item.fields.items()])
    if not subject.elements:
        return fields + len(item.text)
    elements = sum([len(e.title or e.path.rpartition("/")[2]) + len(e.text) + 2 for e in subject.elements])
    return fields + max(len(item.text), elements)


def _names(subject: Subject) -> str:
    return ", ".join(subject.names)


def _typed(subject: Subject) -> str:
    return ", ".join(f"{n} {_type(e.fields)}".rstrip() for n, e in zip(subject.names, subject.elements, strict=True))


def _more(element: Item) -> str:
    """What else its fields say."""
    said = ((k, v) for k, v in sorted(element.fields.items()) if k not in _TYPES)
    stands = standing(element.path, element.title, element.text)
    more = ", ".join(f"{k}: {structure.inset(plain(v))}" for k, v in said if not is_said(v, stands))
    return f" ({more})" if more else ""


def types(subject: Subject) -> tuple[str, ...]:
    """Of its elements."""
    return tuple([_type(e.fields) for e in subject.elements])


def _type(fields: Mapping[str, object]) -> str:
    return structure.inset(str(next((fields[k] for k in _TYPES if fields.get(k)), "")))


def _lead(subject: Subject) -> str:
    text = subject.item.text
    end = text.find("\n")
    line = text if end < 0 else text[:end]
    short = line if len(line) <= LEADING else line[:LEADING].rpartition(" ")[0] + " …"
    return _joined(_typed(subject), short)


def _matched(subject: Subject) -> str:
    """With what the elements say that found the subject."""
    found = [
        f"{n}: {structure.inset(e.text)}"
        for n, e in zip(subject.names, subject.elements, strict=True)
        if e.text and e.why
    ]
    return _joined(_lead(subject), *found)


def _text(subject: Subject) -> str:
    names = [n for n in subject.names if not _has(subject.item.text, n)]
    return _joined(subject.item.text, ", ".join(names))


def _elements(subject: Subject) -> str:
    """A text that spells its elements out is not followed by them."""
    text = subject.item.text
    if not subject.elements:
        return text
    told = [
        " — ".join(filter(None, (f"{n} {_type(e.fields)}".rstrip() + _more(e), structure.inset(e.text))))
        for n, e in zip(subject.names, subject.elements, strict=True)
        if not _spells(text, n, e)
    ]
    return _joined(text, *told)


def _spells(text: str, name: str, element: Item) -> bool:
    """Whether a text says itself what the element is called, of which type it is, and all that it says."""
    said = (name, _type(element.fields), element.text)
    return all(_has(text, one) for one in said if one) and not _more(element)


def _has(text: str, said: str) -> bool:
    """Whether it stands there as words of its own: there is no `id` in `paid`."""
    at = text.find(said)
    while at >= 0:
        end = at + len(said)
        if not _WORD.search(text[at - 1 : at] + text[end : end + 1]):
            return True
        at = text.find(said, at + 1)
    return False


def _full(subject: Subject, told: Collection[str]) -> str:
    item = subject.item
    if not item.fields:
        return _behind(subject)
    lines: list[str] = []
    stands = standing(item.path, item.title, item.lead, item.text)
    for key, value in sorted(item.fields.items()):
        if not (key in told or is_said(value, stands) or (item.is_part and value == item.number[1])):
            lines.append(f"{key}: {structure.inset(plain(value))}")
    if behind := _behind(subject):
        lines.append(behind)
    return "\n".join(lines)


def _behind(subject: Subject) -> str:
    """What stands behind the fields."""
    text = _elements(subject)
    return text if subject.item.is_part else structure.after_fields(text)


def standing(path: str, *others: str) -> Collection[str]:
    """What needs no words of its own: the segments of a path, and all of what stands elsewhere.

    What merely occurs somewhere says another thing there, and so does a number: 7 is no part of 2026-07.
    """
    return {*path.split("/"), *others}


def is_said(value: object, stands: Collection[str]) -> bool:
    """Whether a field's value is a text that `stands` already."""
    return type(value) is str and value in stands


def plain(value: object) -> str:
    """A field's value as it is written."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) in (int, float) else canonical.dumps(value)


def _joined(*parts: str) -> str:
    return "\n".join([p for p in parts if p])


_BODIES: Mapping[str, Callable[[Subject], str]] = {
    IDENTITY: lambda _: "",
    NAMES: _names,
    TYPED: _typed,
    LEAD: _lead,
    MATCHED: _matched,
    TEXT: _text,
    ELEMENTS: _elements,
}
