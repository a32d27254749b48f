"""`where`: a field equals a constant, one of a list, or something about the caller. Data, never an expression.

Equality is strict about kinds and exact: `1` is not `"1"`, `true` is not `1`, letter case counts. A field that is
missing or null never matches. A field that holds a list matches when one of its elements does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from ukai.access.caller import Caller
from ukai.kit import document, suggest
from ukai.kit.finding import Finding, excerpt
from ukai.kit.unicode import is_storable

ABOUT_CALLER = ("caller.id", "caller.email", "caller.groups")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One line of `where`, as written."""

    field: str
    constants: tuple[str | int | bool, ...]
    about: tuple[str, ...] = ()
    """Of `ABOUT_CALLER`."""

    def for_caller(self, caller: Caller, *, denies: bool) -> Values:
        """The values that match for this caller. Of many people at once, a denial hits whatever may hit one of them."""
        texts = {c for c in self.constants if isinstance(c, str)}
        if self.about and caller.is_many and denies:
            return Values(anything=True)
        if "caller.id" in self.about and not caller.is_many:
            texts.add(caller.id)
        if "caller.email" in self.about and caller.email:
            texts.add(caller.email)
        if "caller.groups" in self.about:
            # A source may write `sellers` where access writes `group:sellers`; both name the same group.
            texts |= caller.groups | {g.removeprefix("group:") for g in caller.groups}
        return Values(
            texts=frozenset(texts),
            numbers=frozenset(c for c in self.constants if type(c) is int),
            booleans=frozenset(c for c in self.constants if isinstance(c, bool)),
        )

    def __str__(self) -> str:
        values = [*self.about, *(repr(c) for c in self.constants)]
        return f"{self.field} is {values[0] if len(values) == 1 else 'one of ' + ', '.join(values)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """What a field may hold, for one caller."""

    texts: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()
    booleans: frozenset[bool] = frozenset()
    anything: bool = False
    """Any value but null."""

    def hold(self, value: Any) -> bool:
        """Whether `value` (JSON) is one of them, or has an element that is."""
        kind = cast("type[object]", type(value))
        if kind is str:
            return self.anything or value in self.texts
        if value is None:
            return False
        if self.anything:
            return True
        if kind is list:
            return any(type(e) is not list and self.hold(e) for e in cast("list[Any]", value))
        if kind is int:
            return value in self.numbers
        return kind is bool and value in self.booleans

    def tokens(self) -> list[str]:
        """The same values as `kind:text`, the spelling that PostgreSQL gives to a JSON scalar."""
        return sorted(
            [f"string:{t}" for t in self.texts]
            + [f"number:{n}" for n in self.numbers]
            + [f"boolean:{'true' if b else 'false'}" for b in self.booleans]
        )


def read(doc: document.Document, at: str, where: Any) -> tuple[tuple[Condition, ...], list[Finding]]:
    """The conditions of the mapping at `at`."""
    findings: list[Finding] = []
    conditions: list[Condition] = []
    for field, written in cast("dict[str, Any]", where).items():
        place = at + document.pointer(field)
        items: list[Any] = cast("list[Any]", written) if isinstance(written, list) else [written]
        if not items:
            findings.append(_bad(doc, place, "an empty list matches nothing", [], "name a value"))
        constants: list[str | int | bool] = []
        about: list[str] = []
        for item in items:
            if isinstance(item, str) and item.startswith("caller."):
                about.append(item)
                if item not in ABOUT_CALLER:
                    findings.append(_unknown(doc, place, item))
            elif isinstance(item, bool | int) or (isinstance(item, str) and is_storable(item)):
                constants.append(item)
            else:
                message = "a value that cannot be compared exactly"
                findings.append(_bad(doc, place, message, item, "write text, a whole number, true or false"))
        conditions.append(Condition(field=field, constants=tuple(constants), about=tuple(about)))
    return tuple(conditions), findings


def _unknown(doc: document.Document, at: str, item: str) -> Finding:
    return Finding(
        code="not_allowed",
        where=doc.where(at),
        message=f"{item!r} is nothing that is known about a caller",
        expected=" | ".join(ABOUT_CALLER),
        received=item,
        hint=suggest.hint_for(item, ABOUT_CALLER),
    )


def _bad(doc: document.Document, at: str, message: str, received: object, hint: str) -> Finding:
    return Finding(
        code="bad_condition",
        where=doc.where(at),
        message=message,
        expected="text | a whole number | true | false | a list of these | " + " | ".join(ABOUT_CALLER),
        received=excerpt(received),
        hint=hint,
    )
