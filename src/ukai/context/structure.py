"""What the composer itself writes into a document, and how what it quotes is kept apart from that (E6, E7).

    ## 2. firms · Firm                       a section
    ### Alder [Firm#alder]                   a thing: fields, then its text
    - Memo 3 [Memo#3]: as Memo 2             a thing on one line
    already given above: Memo#{1,2}          those that the conversation holds
    also here: Birch [Firm#birch]            those that are only named
    14 Ada: Why?                             a part: number, speaker, text

Whoever writes a record writes nothing of this. A name is one line and holds no handle. What would begin another field
or another turn is set in. Of a text the lines that read like any of the above begin with a backslash, also those that
begin with a number where nobody is said to speak; every other one stands as it is. What is recognised is made of what
is written, so that one does not change without the other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from ukai.kit import handle, unicode

SECTION = "## "
THING = "### "
ENTRY = "- "
ALSO = "also here: "
GIVEN = "already given above: "
AS = "as "
MORE, LESS, INSTEAD, AFTER, FIRST = "also ", "without ", "instead of ", "after ", "first: "
"""Behind the name of what it is as: in what it differs."""
_ASIDE = ("[... ", " characters; the whole: fetch_offloaded ")
WORDS = frozenset(
    " ".join((ALSO, GIVEN, AS, MORE, LESS, INSTEAD, AFTER, FIRST, *_ASIDE)).replace(":", "").replace(";", "").split()
)
"""Of all of these: no record says them, so whoever keeps a document may keep them."""
UNNAMED = "?"
"""Who speaks where nothing says it and others have names: what they say does not begin a line either."""
INSET = "  "
"""Before a line that goes on with the value of a field, or with what somebody says."""
LONGEST_SPEAKER = 80
"""Characters. Source of both: none, a choice."""


def _begins(mark: str) -> str:
    """It, whatever blanks stand between and behind its words."""
    return "".join(rf"{re.escape(word)}\s+" for word in mark.split())


_ASIDES = re.compile(r"(?<!\\)" + r"([\d,.]+)\s+".join(map(_begins, _ASIDE)) + r"[^\s\[\]]*\]?")
_LISTS = rf"{_begins(ALSO)[:-3]}|{_begins(GIVEN)[:-3]}"
_OURS = re.compile(
    rf"{_begins(SECTION)}\d+\.|(?:{'|'.join(map(_begins, (THING, ENTRY, AS)))}).*(?<!\\){handle.IN_BRACKETS.pattern}"
    rf"|{_LISTS}"
)
_HERE, _ABOVE, _FETCH = (mark.split()[-1] for mark in (ALSO, GIVEN, _ASIDE[1]))
"""One of these stands in each of ours that holds no handle and is no heading."""
_NUMBER = r"\d+(?:/\d+)*"
_OPENS = re.compile(rf"#|{_begins(ENTRY)}|{_LISTS}|{_NUMBER}\s")
_NUMBERED = re.compile(rf"\s?{_NUMBER}(?:\s|\Z)")
_TURN = re.compile(rf"{_NUMBERED.pattern}|\s?\S[^:]{{0,{LONGEST_SPEAKER}}}:(?:\s|\Z)")
_SPEAKS = re.compile(r":(?=\s|\Z)")
_FIELD = re.compile(r"[a-z_]\w*:\s")


def section(number: int, said: str) -> str:
    """The heading of a section."""
    return f"\n{SECTION}{number}. {said}\n"


def thing(name: str, body: str) -> str:
    """A thing with what is said of it, in lines of their own."""
    return f"{THING}{name}\n{body}\n"


def entry(name: str, said: str = "") -> str:
    """A thing on one line."""
    return f"{ENTRY}{name}: {said}\n" if said else f"{ENTRY}{name}\n"


def part(lead: str, text: str) -> str:
    """A part with who says it; what stands before it is its number. Where nobody does, no line begins with another."""
    return f"{lead}: {text}\n" if lead else f"{_unnumbered(text)}\n"


def bracketed(written: str) -> str:
    """A handle as it stands behind a name."""
    return f"[{handle.shown(written)}]"


def aside(size: int, ref: str) -> str:
    """In place of so many characters that are put aside."""
    return f"{f'{size:,}'.join(_ASIDE)}{ref}]"


def asides(texts: Iterable[object]) -> frozenset[str]:
    """What `aside` wrote into these."""
    return frozenset(m.group() for t in texts if isinstance(t, str) and _FETCH in t for m in _ASIDES.finditer(t))


def line(name: str) -> str:
    """A name, a place or a value as part of a line that is the composer's: it ends no line and names no record."""
    if name.isascii() and name.isprintable() and "[" not in name:  # most are
        return " ".join(name.split()) if " " in name else name
    said = " ".join(unicode.shown(name).split())
    if "[" in said:
        read = _read(said)  # what joins letters hides nothing either
        said = read if handle.IN_BRACKETS.search(read) or _ASIDES.search(read) else said
        said = _ASIDES.sub(r"\\\g<0>", handle.IN_BRACKETS.sub(r"\\\g<0>", said))
    return said


def speaker(name: str) -> str:
    """Who speaks, at the beginning of a line: nobody else does by their name, and it is no number of a part.

    Nobody where there is no name at all: what has parts may be a text.
    """
    if not name:
        return ""
    said = line(name)
    read = _read(said)  # what joins letters hides nothing here either
    if not read or _OPENS.match(read) or _SPEAKS.search(read):
        said = _SPEAKS.sub(r"\:", read) or UNNAMED
    if len(said) > LONGEST_SPEAKER:
        said = said[: LONGEST_SPEAKER - 1] + "…"
    return f"\\{said}" if _OPENS.match(said) else said


def quoted(text: str, *, own: Collection[str] = ()) -> str:
    """A text as it stands in a document: its own lines that read as the composer's begin with a backslash.

    `own` are asides that are the composer's.
    """
    if is_plain(text):
        return text
    is_hidden = unicode.has_unseen(text)
    return "".join([_quoted(one, own, is_hidden=is_hidden) for one in text.splitlines(keepends=True)])


def is_plain(text: str) -> bool:
    """Whether nothing in it can read as the composer's, as in most texts: then no line has to be looked at."""
    may_name = "#" in text and ("##" in text or "[" in text)
    return not (may_name or _HERE in text or _ABOVE in text or _FETCH in text or unicode.has_unseen(text))


def inset(value: str) -> str:
    """The value of a field: the lines after the first do not begin where a field does."""
    return INSET.join(value.splitlines(keepends=True)) if _has_lines(value) else value


def spoken(text: str) -> str:
    """What somebody says: no line of it begins as somebody else's does."""
    if not _has_lines(text):
        return text
    first, *others = text.splitlines(keepends=True)
    return first + "".join([INSET + one if _TURN.match(_read(one)) else one for one in others])


def after_fields(text: str) -> str:
    """The text of a thing, which stands behind its fields and is none of them."""
    return f"\n{text}" if _FIELD.match(_read(text)) else text


def _unnumbered(text: str) -> str:
    lines = text.splitlines(keepends=True) if _has_lines(text) else (text,)
    return "".join([_marked(read) if _NUMBERED.match(read := _read(one)) else one for one in lines])


def _has_lines(text: str) -> bool:
    return not text.isprintable() and len(text.splitlines()) > 1


def _quoted(one: str, own: Collection[str], *, is_hidden: bool) -> str:
    read = _read(one) if is_hidden else one
    begin = len(read) - len(read.lstrip())
    is_ours = _OURS.match(read, begin) is not None
    if not is_ours and _FETCH not in read:
        return one
    said = "".join(_without_asides(read, own))
    if is_ours:
        return _marked(said)
    return one if said == read else said


def _marked(read: str) -> str:
    begin = len(read) - len(read.lstrip())
    return f"{read[:begin]}\\{read[begin:]}"


def _without_asides(read: str, own: Collection[str]) -> Iterator[str]:
    at = 0
    for found in _ASIDES.finditer(read):
        yield read[at : found.start()]
        yield found.group() if found.group() in own else f"\\{found.group()}"
        at = found.end()
    yield read[at:]


def _read(one: str) -> str:
    """A line as it is read: without what does not show."""
    return unicode.UNSEEN.sub("", one) if unicode.has_unseen(one) else one
