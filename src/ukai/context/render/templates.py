"""Bodies by templates, keyed by content type and the hash of the content's schema (context req. 34-36).

`templates/<type>/<schema hash, 8 hex>.md.j2` in the workspace, each `off`, `shadow` or `active` by `templates.yaml`. A
new field makes a new hash, for which there is no template: the plain body stands, never a half-filled one. In shadow a
template is rendered and compared, and changes no byte.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from ukai.context import levels, structure
from ukai.context.render import sandbox
from ukai.context.sections import Unit
from ukai.kit import suggest
from ukai.kit.document import Document, pointer
from ukai.kit.finding import Finding

Mode = Literal["off", "shadow", "active"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The templates of a workspace."""

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """`Type/hash` -> the text of the template."""
    modes: Mapping[str, Mode] = field(default_factory=dict[str, Mode])
    """`Type/hash` -> its mode; `off` where none is written."""


EMPTY = Shelf()


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A template in shadow that would have said something else, or could not."""

    template: str
    item: str
    problem: str


class Bodies:
    """What stands below the name of a unit: by its template in full, by `levels.body` otherwise."""

    def __init__(self, shelf: Shelf = EMPTY) -> None:
        self._shelf = shelf
        self._mismatches: dict[tuple[str, str], Mismatch] = {}

    def __call__(self, unit: Unit, level: str, told: Collection[str] = ()) -> str:
        """The body of its first member at `level`; without a template, not the fields that are `told` already."""
        plain = levels.body(unit.subjects[0], level, told)
        if level != levels.FULL or not self._shelf.sources:
            return plain
        key = f"{unit.item.kind}/{unit.item.schema_hash}"
        mode = self._shelf.modes.get(key, "off")
        if mode == "off" or key not in self._shelf.sources:
            return plain
        made, problem = self._rendered(key, unit)
        if mode == "active" and made is not None:
            return made
        if made != plain:
            told = problem or "the body differs"
            self._mismatches[key, unit.id] = Mismatch(template=key, item=unit.id, problem=told)
        return plain

    def mismatches(self) -> tuple[Mismatch, ...]:
        """By template and item."""
        return tuple(self._mismatches[k] for k in sorted(self._mismatches))

    def _rendered(self, key: str, unit: Unit) -> tuple[str | None, str]:
        subject = unit.subjects[0]
        item = subject.item
        given: dict[str, Any] = {
            "id": item.id,
            "path": item.path,
            "type": item.kind,
            "title": item.title,
            "text": item.text,
            "fields": dict(item.fields),
            "at": item.at,
            "elements": [
                {"name": n, "text": e.text, "fields": dict(e.fields)}
                for n, e in zip(subject.names, subject.elements, strict=True)
            ],
        }
        try:
            made = sandbox.shared().rendered(self._shelf.sources[key], given).strip("\n")
            # What it joins may read as the composer's again.
            return structure.quoted(made, own=structure.asides([item.text, *item.fields.values()])), ""
        except sandbox.TooMuch:
            return None, "it cannot be rendered: it does too much, or makes too long a text"
        except sandbox.Unreadable as error:
            return None, f"it cannot be rendered: {error}"
        except Exception as error:  # whatever a template does, the plain body stands
            return None, f"it cannot be rendered: {type(error).__name__}"


def shelf(sources: Mapping[str, str], modes: object) -> Shelf:
    """The templates by `Type/hash`, with the modes that the data of templates.yaml gives them as far as it is valid."""
    written: dict[str, Mode] = {}
    for kind, hashes in _mapping(modes).items():
        written |= {f"{kind}/{h}": m for h, m in _mapping(hashes).items() if m in MODES}
    return Shelf(sources=dict(sources), modes=written)


def too_long(sources: Mapping[str, str]) -> list[Finding]:
    """The templates, by `Type/hash`, that are never rendered for their length."""
    return [
        Finding(
            code="too_long",
            severity="warning",
            where=f"templates/{key}.md.j2:1:1",
            message=f"the template has {len(source)} characters and is not rendered: the plain body stands",
            expected=f"at most {sandbox.LONGEST} characters",
            received=str(len(source)),
            hint="say less around the fields: a template makes the body of one thing",
        )
        for key, source in sorted(sources.items())
        if len(source) > sandbox.LONGEST
    ]


def findings(doc: Document) -> list[Finding]:
    """What an author should repair in templates.yaml: `{Type: {8 hex digits: off | shadow | active}}`."""
    data: object = doc.data
    if not isinstance(data, dict):
        return [_wrong(doc, "", "a mapping of types", data)]
    found: list[Finding] = []
    for kind, hashes in _mapping(data).items():  # pyright: ignore[reportUnknownArgumentType]
        at = pointer(kind)
        if not isinstance(hashes, dict):
            found.append(_wrong(doc, at, "a mapping of schema hashes", hashes))
        for name, mode in _mapping(hashes).items():  # pyright: ignore[reportUnknownArgumentType]
            here = at + pointer(name)
            if not _is_hash(name):
                found.append(_wrong(doc, here, "8 hexadecimal digits", name))
            if mode not in MODES:
                found.append(_mode(doc, here, mode))
    return found


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_hash(name: str) -> bool:
    return len(name) == 8 and all(c in "0123456789abcdef" for c in name)


def _wrong(doc: Document, at: str, expected: str, received: object) -> Finding:
    return Finding(
        code="wrong_type",
        where=doc.where(at),
        message=f"expected {expected}",
        expected=expected,
        received=repr(received),
        hint="write {Type: {schema hash: off | shadow | active}}",
    )


def _mode(doc: Document, at: str, received: object) -> Finding:
    return Finding(
        code="not_allowed",
        where=doc.where(at),
        message=f"{received!r} is no mode of a template",
        expected=" | ".join(MODES),
        received=repr(received),
        hint=suggest.hint_for(str(received), MODES) or "write off, shadow or active",
    )
