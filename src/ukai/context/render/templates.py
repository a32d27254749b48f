"""Bodies by templates, keyed by content type and the hash of the content's schema (context req. 34-36).

`templates/<type>/<schema hash, 8 hex>.md.j2` in the workspace, each `off`, `shadow` or `active` by `templates.yaml`. A
new field makes a new hash, for which there is no template: the plain body stands, never a half-filled one, and an event
says so. In shadow a template is rendered and compared, and changes no byte. Users read docs/reference/templates.md.
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
MISMATCH, OUTDATED = "template_mismatch", "template_outdated"
"""How the events begin: one for each item that a template said otherwise, one for each template of another schema."""


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """The templates of a workspace."""

    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """`Type/hash` -> the text of the template."""
    modes: Mapping[str, Mode] = field(default_factory=dict[str, Mode])
    """`Type/hash` -> its mode; `off` where none is written."""

    def mode(self, key: str) -> Mode | None:
        """What becomes of the template of this key; None where there is none."""
        return self.modes.get(key, "off") if key in self.sources else None


EMPTY = Shelf()


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A template that would have said something else, could not, or is of another schema than the record."""

    template: str
    item: str = ""
    """Empty where it is so for every item of the type."""
    problem: str

    @property
    def event(self) -> str:
        """As a report tells it. Without a word of the item: reports outlive the right to read it."""
        begins = f"{MISMATCH} {self.template} {self.item}" if self.item else f"{OUTDATED} {self.template}"
        return f"{begins}: {self.problem}"


class Bodies:
    """What stands below the name of a unit: by its template in full, by `levels.body` otherwise."""

    def __init__(self, shelf: Shelf = EMPTY) -> None:
        self._shelf = shelf
        self._mismatches: dict[tuple[str, str], Mismatch] = {}
        self._live: dict[str, list[str]] = {}
        for key in shelf.sources:
            if shelf.mode(key) != "off":
                self._live.setdefault(key.rpartition("/")[0], []).append(key)

    def __call__(self, unit: Unit, level: str, told: Collection[str] = ()) -> str:
        """The body of its first member at `level`; without a template, not the fields that are `told` already."""
        plain = levels.body(unit.subjects[0], level, told)
        if level != levels.FULL or not self._shelf.sources:
            return plain
        key = f"{unit.item.kind}/{unit.item.schema_hash}"
        mode = self._shelf.mode(key)
        if mode is None:
            self._miss(unit.item.kind, unit.item.schema_hash)
        if mode is None or mode == "off":
            return plain
        made, problem = self._rendered(key, unit)
        if mode == "active" and made is not None:
            return made
        if made != plain:
            said = problem if made is None else _difference(made, plain)
            self._mismatches[key, unit.id] = Mismatch(template=key, item=unit.id, problem=said)
        return plain

    def _miss(self, kind: str, hash: str) -> None:
        for key in self._live.get(kind, ()):
            said = f"{kind} has the schema hash {hash}, for which there is no template; the plain body stands"
            self._mismatches[key, ""] = Mismatch(template=key, problem=said)

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
            where=f"{file(key)}:1:1",
            message=f"the template has {len(source)} characters and is not rendered: the plain body stands",
            expected=f"at most {sandbox.LONGEST} characters",
            received=str(len(source)),
            hint="say less around the fields: a template makes the body of one thing",
        )
        for key, source in sorted(sources.items())
        if len(source) > sandbox.LONGEST
    ]


def unused(shelf: Shelf, doc: Document | None, types: Mapping[str, str]) -> list[Finding]:
    """What never makes a body: a template of no type, of another schema than the type's, a mode or a file by itself.

    `doc` is templates.yaml; `types` gives each type its schema hash, and is empty where nobody knows the types.
    """
    data = _mapping(doc.data) if doc else {}
    written = {f"{kind}/{name}" for kind, hashes in data.items() for name in _mapping(hashes)}
    found: list[Finding] = []
    for key in sorted({*shelf.sources, *(k for k in shelf.modes if _is_hash(k.rpartition("/")[2]))}):
        kind, _, name = key.rpartition("/")
        where = f"{file(key)}:1:1" if key in shelf.sources or doc is None else doc.where_key(pointer(kind, name))
        current = types.get(kind, "")
        if types and not current:
            hint = suggest.hint_for(kind, types)
            found.append(_unused("unknown_type", where, f"no type is named {kind!r}", kind, hint))
        elif types and name != current:
            said = f"{kind!r} has the schema hash {current} now: the plain body stands"
            hint = f"write {file(f'{kind}/{current}')}, and try it in shadow"
            found.append(_unused("template_outdated", where, said, name, hint, current))
        elif key not in shelf.sources:
            hint = f"write {file(key)}, or take the mode out"
            found.append(_unused("template_missing", where, f"there is no template {file(key)}", key, hint))
        elif key not in written:
            hint = f"write {kind}: {{{name}: shadow}} in templates.yaml"
            found.append(_unused("template_off", where, "the template has no mode and is off", "no mode", hint))
    return found


def file(key: str) -> str:
    """Where the template of this key lies in a workspace."""
    return f"templates/{key}.md.j2"


def _unused(code: str, where: str, message: str, received: str, hint: str, expected: str = "") -> Finding:
    return Finding(
        code=code,
        severity="warning",
        where=where,
        message=message,
        expected=expected,
        received=received,
        hint=hint,
    )


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


def _difference(made: str, plain: str) -> str:
    """Where the two part, and how long they are."""
    ours, theirs = made.split("\n"), plain.split("\n")
    line = next(
        (n for n, (a, b) in enumerate(zip(ours, theirs, strict=False), 1) if a != b), min(len(ours), len(theirs)) + 1
    )
    return (
        f"the body differs from line {line} on: {len(ours)} lines with {len(made)} characters, "
        f"in place of {len(theirs)} with {len(plain)}"
    )


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
