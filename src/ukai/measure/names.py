"""Names in an answer, and the registry of entities that evidence speaks of, with their aliases.

Code finds names by their capitals; it knows no dictionary and asks no model. English prose, markdown and JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from rapidfuzz import fuzz, process

from ukai.kit import words
from ukai.measure import content
from ukai.measure.reading import Reading, Source, Unit

FUZZY = 92
"""token_sort_ratio from which two spellings are one name (research: measured inside one type)."""
TITLES = words.listed("mr mrs ms miss mx dr prof sir madam lord lady rev hon sen rep gov st jr sr mme herr frau")
SUFFIXES = words.listed("inc incorporated ltd limited llc llp plc corp corporation co company gmbh ag sa nv bv pty kg")
"""Forms of companies: the name without them is the same name."""
NO_NAMES = words.listed("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december spring summer autumn winter celsius fahrenheit kelvin i ok pm am
""")
"""Words with a capital that name nobody."""
_NAMING = words.listed("name full_name fullname company account account_name customer client owner title organization")

_WORD = r"[A-Z][\w&]*(?:[-'’./&][\w]+)*"
_RUN = re.compile(rf"(?<![\w@#/.’'-]){_WORD}(?:[ ](?:(?:of|the|and|for|de|von|van|der|la|&)[ ]){{0,2}}{_WORD})*")
_LEAD = re.compile(r"[\s*_\"“”'‘(\[#>•\-–\d.)]*")
_OPENERS = {":", ";", "?", "!", "•"}
"""After these a new sentence, or a list's entry, may begin with a capital."""
_SAID = re.compile(r"[\w&]+")
_PLACEHOLDER = re.compile(r"([a-z])\1+$")


@dataclass(frozen=True, kw_only=True)
class Name:
    """A name as it stands in a text."""

    text: str
    start: int
    end: int
    parts: tuple[str, ...]
    """Its words, folded, without titles, company forms and possessive endings."""


def written(text: str, units: Iterable[Unit], skip: Iterable[tuple[int, int]] = ()) -> Iterator[Name]:
    """The capitalised names of sentences. What opens a sentence has its capital from there and is passed over.

    Headings, code and units where most words are capitalised say nothing about names and are passed over too.
    """
    spans = tuple(skip)
    for unit in units:
        if unit.block in ("heading", "code", "table_row") or _is_titled(unit.text):
            continue
        opening = unit.start + _opening(unit.text, text[: unit.start])
        for match in _RUN.finditer(text, unit.start, unit.end):
            start, end = match.span()
            if start == opening or text[:start].rstrip(' *_"“‘(')[-1:] in _OPENERS:
                start = _after_first(text, start, end)
            if start >= end or any(a <= start < b for a, b in spans):
                continue
            parts = parts_of(text[start:end])
            if parts:
                yield Name(text=text[start:end], start=start, end=end, parts=parts)


ADDRESSES = {"mr": "mr", "mister": "mr", "sir": "mr", "mrs": "ms", "ms": "ms", "miss": "ms", "madam": "ms"}
_ADDRESS = re.compile(r"(?<!\w)(Mr|Mrs|Ms|Miss|Mister|Sir|Madam)\.?[ ]([A-Z][\w'’-]+(?:[ ][A-Z][\w'’-]+){0,2})")


@dataclass(frozen=True, kw_only=True)
class Address:
    """A form of address with the name after it."""

    text: str
    start: int
    end: int
    form: str
    """`mr` or `ms`; `Mrs.`, `Ms.` and `Miss` are not told apart, people use them alike."""
    names: tuple[str, ...]
    """First and last, as far as they are said."""


def addresses(text: str) -> Iterator[Address]:
    """`Mr. Smith`, `Ms Jones`."""
    for match in _ADDRESS.finditer(text):
        form = ADDRESSES[match[1].lower()]
        said = tuple(words.words(match[2]))
        yield Address(text=match.group(), start=match.start(), end=match.end(), form=form, names=said)


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name that tell it from others."""
    found: list[str] = []
    for piece in name.split():
        folded = words.words(piece.removesuffix("'s").removesuffix("’s"))
        found += [w for w in folded if w not in TITLES and w not in SUFFIXES and w not in words.STOP]
    return tuple(_shortened(w) for w in found if not w.isdigit() and w not in NO_NAMES)


def _shortened(word: str) -> str:
    """`XXXX` and `XX` stand for the same unknown, `YYY` for another."""
    return word[:2] if _PLACEHOLDER.fullmatch(word) else word


@dataclass(frozen=True, kw_only=True)
class Entity:
    """Somebody or something that the evidence names."""

    key: str
    """The item that names it first."""
    name: str
    parts: tuple[str, ...]


class Registry:
    """The entities of a run's evidence: names in records first, then capitalised runs of prose."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @cached_property
    def entities(self) -> tuple[Entity, ...]:
        """One a spelling, in the order of the evidence."""
        found: dict[tuple[str, ...], Entity] = {}
        for source in self._reading.items:
            for name in (*_recorded(source), *(m.group() for m in _RUN.finditer(source.text))):
                parts = parts_of(name)
                if parts:
                    found.setdefault(parts, Entity(key=source.key, name=name, parts=parts))
        return tuple(found.values())

    @cached_property
    def _aliases(self) -> dict[str, list[Entity]]:
        """Every way in which an entity may be called: whole, last word, initials."""
        aliases: dict[str, list[Entity]] = {}
        for entity in self.entities:
            for alias in _aliases(entity.parts):
                aliases.setdefault(alias, []).append(entity)
        return aliases

    def resolve(self, name: Name) -> tuple[Entity, ...]:
        """Whom a name may mean: by alias, or by a spelling that is nearly the same."""
        whole = " ".join(name.parts)
        found = self._aliases.get(whole)
        if found is None:
            close = process.extractOne(whole, list(self._aliases), scorer=fuzz.token_sort_ratio, score_cutoff=FUZZY)
            found = self._aliases[close[0]] if close else []
        return tuple(found)

    def knows(self, name: Name) -> bool:
        """Whether any word of it, or all run together, or its initials stand in the evidence in any letter case."""
        return (
            any(self._knows_word(part) for part in name.parts)
            or _flat(name.text) in self._flat
            or self._is_initials(name)
        )

    def _knows_word(self, word: str) -> bool:
        reading = self._reading
        if _PLACEHOLDER.fullmatch(word):
            return any(_PLACEHOLDER.fullmatch(said) and said[0] == word[0] for said in reading.words)
        if word in reading.words or content.stem(word) in reading.stems:
            return True
        return len(word) > 4 and word in self._flat

    def _is_initials(self, name: Name) -> bool:
        """`YoY` of `year over year`, `BLS` of `Bureau of Labor Statistics`."""
        if len(name.parts) != 1 or not 2 <= len(name.parts[0]) <= 5 or sum(c.isupper() for c in name.text) < 2:
            return False
        return name.parts[0] in self._initials[0] or name.parts[0] in self._initials[1]

    @cached_property
    def _initials(self) -> tuple[str, str]:
        """First letters of all words, and of those that are no stop words, in order."""
        said = [w for source in self._reading.sources for w in words.words(source.text)]
        return "".join(w[0] for w in said), "".join(w[0] for w in said if w not in words.STOP)

    @cached_property
    def _flat(self) -> str:
        return "\n".join(_flat(source.text) for source in self._reading.sources)

    def nearest(self, name: Name, limit: int = 3) -> tuple[Entity, ...]:
        """The entities that are spelt most alike, for a reader to compare."""
        whole = " ".join(name.parts)
        known = [" ".join(entity.parts) for entity in self.entities]
        ranked = process.extract(whole, known, scorer=fuzz.token_sort_ratio, limit=limit)
        return tuple(self.entities[index] for _, _, index in ranked)


def _aliases(parts: tuple[str, ...]) -> Iterator[str]:
    yield " ".join(parts)
    if len(parts) > 1:
        yield parts[-1]
        yield "".join(part[0] for part in parts)
        yield "".join(parts)


def _recorded(source: Source) -> Iterator[str]:
    """The naming fields of a record."""
    if not source.text.startswith(("{", "[")):
        return
    try:
        value = json.loads(source.text)
    except (ValueError, RecursionError):
        return
    yield from _named(value, 0)


def _named(value: Any, depth: int) -> Iterator[str]:
    if depth > 8:
        return
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            if isinstance(inner, str) and key.casefold() in _NAMING:
                yield inner
            else:
                yield from _named(inner, depth + 1)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _named(inner, depth + 1)


def _flat(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _is_titled(text: str) -> bool:
    said = [w for w in _SAID.findall(text) if not w[0].isdigit() and w.lower() not in words.STOP]
    return len(said) > 2 and sum(w[0].isupper() for w in said) > 0.7 * len(said)


def _opening(text: str, before: str) -> int:
    """Where the first word stands; -1 when the sentence was cut after a title (`Ms.`) and opens with a name."""
    last = before.rstrip().rpartition(" ")[2].rstrip(".").lower()
    lead = _LEAD.match(text)
    return -1 if last in TITLES and before.rstrip().endswith(".") else lead.end() if lead else 0


def _after_first(text: str, start: int, end: int) -> int:
    """The start of the run without the sentence's first word; titles at its head count as no word."""
    for piece in re.finditer(r"\S+", text[start:end]):
        if piece.group().rstrip(".").lower() not in TITLES:
            rest = text[start + piece.end() : end]
            return start + piece.end() + len(rest) - len(rest.lstrip())
        if piece.end() < end - start:
            return start + piece.end() + 1
    return end
