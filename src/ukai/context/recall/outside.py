"""Corpora and cases from outside, one JSON object a line; the formats are in docs/reference/recall.md.

Keys that are not known are ignored: people keep their own things there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import Field

from ukai.context.item import Item
from ukai.kit import canonical, document, glob, shape
from ukai.kit.finding import Finding, excerpt

_LENIENT = {**shape.STRICT, "extra": "ignore"}
SPEAKERS = ("speaker", "author", "from", "who")
"""Properties that say who says a part; its title does where there is none of them."""
_NUMBERED = re.compile(r"(.*?)(\d+)")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class _Scope:
    __pydantic_config__ = _LENIENT
    globs: tuple[str, ...] = ()
    static_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question with the items that its document has to hold."""

    __pydantic_config__ = _LENIENT
    id: str
    question: str
    scope: _Scope | None = None
    """None: the whole corpus."""
    principal: Annotated[str | None, Field(alias="as")] = None
    required: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Line:
    __pydantic_config__ = _LENIENT
    id: str
    path: str
    type: str
    title: str = ""
    text: str = ""
    props: Mapping[str, Any] = field(default_factory=dict[str, Any])
    parent: str | None = None
    readers: tuple[str, ...] | None = None
    links: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """The items of a file in its own order, and who may read which."""

    items: tuple[Item, ...]
    readers: Mapping[str, tuple[str, ...]]
    """Of the items that name any."""

    def visible(self, case: Case) -> tuple[Item, ...]:
        """What the case may see: inside its scope and under its principal's rights, in the order of the file."""
        within = self.items if case.scope is None else self._within(case.scope)
        return tuple(i for i in within if self._may_read(case.principal, i.id))

    def _within(self, scope: _Scope) -> list[Item]:
        globs = [glob.compile(g) for g in scope.globs]
        pinned = frozenset(scope.static_ids)
        found = (replace(i, pinned=True) if i.id in pinned else i for i in self.items)
        return [i for i in found if i.pinned or any(g.matches(i.path) for g in globs)]

    def _may_read(self, principal: str | None, id: str) -> bool:
        readers = self.readers.get(id)
        if principal is None:
            return readers is None
        return readers is not None and (principal in readers or "public" in readers)


def read_corpus(lines: Iterable[str], *, name: str) -> tuple[Corpus, list[Finding]]:
    """The items of `lines`. A line that cannot be read is left out and told."""
    found, findings = _read(lines, name, _Line)
    read = _distinct(found, name, findings, key=lambda line: line.id)
    items = {line.id: line for line, _ in read}
    for line, where in read:
        if line.parent is not None and line.parent not in items:
            findings.append(_unknown(where, f"the parent of {line.id!r}", line.parent))
    readers = {line.id: line.readers for line, _ in read if line.readers is not None}
    return Corpus(items=tuple(_items([line for line, _ in read])), readers=readers), findings


def read_cases(lines: Iterable[str], *, name: str, corpus: Corpus) -> tuple[list[Case], list[Finding]]:
    """The cases of `lines`; one that requires nothing, or only what the corpus does not hold, is left out and told."""
    found, findings = _read(lines, name, Case)
    known = {item.id for item in corpus.items}
    cases: list[Case] = []
    for case, where in _distinct(found, name, findings, key=lambda case: case.id):
        required = tuple(dict.fromkeys(r for r in case.required if r in known))
        findings += [_unknown(where, f"case {case.id!r} requires what", r) for r in case.required if r not in known]
        if required:
            cases.append(replace(case, required=required))
        elif not case.required:
            findings.append(_unread(where, f"case {case.id!r} requires nothing", "[]"))
    return cases, findings


def _read(lines: Iterable[str], name: str, kind: type[T]) -> tuple[list[tuple[T, str]], list[Finding]]:
    found: list[tuple[T, str]] = []
    findings: list[Finding] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}:{number}:1"
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            findings.append(_unread(where, f"the line is not JSON: {error}", excerpt(line)))
            continue
        if not isinstance(data, dict):
            findings.append(_unread(where, "the line is not an object", excerpt(data)))
            continue
        value, problems = shape.parse(document.Document(name=name, data=data), kind)
        findings += [replace(p, where=where) for p in problems]
        if value is not None:
            found.append((value, where))
    return found, findings


def _distinct(
    found: Sequence[tuple[T, str]], name: str, findings: list[Finding], *, key: Callable[[T], str]
) -> list[tuple[T, str]]:
    seen: dict[str, tuple[T, str]] = {}
    for value, where in found:
        if key(value) in seen:
            findings.append(_unread(where, f"{key(value)!r} stands above already", key(value)))
        else:
            seen[key(value)] = (value, where)
    return list(seen.values())


def _items(lines: Sequence[_Line]) -> list[Item]:
    orders = _orders(lines)
    elements: dict[str, list[_Line]] = {}
    for line in lines:
        if line.parent is not None:
            elements.setdefault(line.parent, []).append(line)
    return [_item(line, orders.get(line.id, -1), elements.get(line.id, ())) for line in lines]


def _item(line: _Line, order: int, elements: Sequence[_Line]) -> Item:
    speaker = next((k for k in SPEAKERS if isinstance(line.props.get(k), str)), None)
    is_part = order >= 0
    return Item(
        id=line.id,
        path=line.path,
        kind=line.type,
        title="" if is_part else line.title,
        parent=line.parent,
        text=line.text,
        lead=(line.props[speaker] if speaker else line.title) if is_part else "",
        fields={k: v for k, v in line.props.items() if not (is_part and k == speaker)},
        schema_hash=_schema_hash(line, elements),
        order=order,
    )


def _schema_hash(line: _Line, elements: Sequence[_Line]) -> str:
    """Over the elements' names and properties where there are any (a table's columns), else over the own properties."""
    if elements:
        # In no order: exports of one table list its columns now so and now so.
        content: Any = sorted(canonical.dumps([PurePosixPath(e.path).name, e.type, dict(e.props)]) for e in elements)
    else:
        content = {k: type(v).__name__ for k, v in line.props.items()}
    return canonical.sha256([line.type, content])[:8]


def _orders(lines: Sequence[_Line]) -> dict[str, int]:
    """The places of the parts: siblings whose names are numbers behind one word, and that are not called differently.

    What has a name of its own, or elements, stands for itself; what has none is a part of what is around it.
    """
    siblings: dict[str, list[_Line]] = {}
    wholes = {line.parent for line in lines}
    for line in lines:
        if line.parent is None and line.id not in wholes:
            siblings.setdefault(line.path.rpartition("/")[0], []).append(line)
    orders: dict[str, int] = {}
    for group in siblings.values():
        named = [_NUMBERED.fullmatch(line.path.rpartition("/")[2]) for line in group]
        matches = [m for m in named if m is not None]
        if len(matches) < max(2, len(group)) or len({m[1] for m in matches}) > 1:
            continue
        if 2 * len({line.title for line in group}) <= len(group):
            orders |= {line.id: int(m[2]) for line, m in zip(group, matches, strict=True)}
    return orders


def _unread(where: str, message: str, received: str) -> Finding:
    return Finding(
        code="line_unreadable",
        where=where,
        message=message,
        received=received,
        hint="write one JSON object a line, each with an id of its own; this line is left out",
    )


def _unknown(where: str, what: str, id: str) -> Finding:
    return Finding(
        code="item_unknown",
        severity="warning",
        where=where,
        message=f"{what} is not in the corpus: {id!r}",
        received=id,
        hint="name the id of an item of the corpus; what names another is not counted",
    )
