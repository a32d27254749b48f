"""What a question names: records by what they are called, by their handle, or as `ticket 10001`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ukai import store
from ukai.context import rows
from ukai.context.clause import CompiledScope
from ukai.graph import schema
from ukai.kit import handle, words

FIELDS = ("name", "title")
"""A record is called by the first of these that it has, if the text is short enough to be said."""
MAX_WORDS = 6
SHORTEST = 4
"""Letters of a first word that may stand for the whole name; `Ann` and `The` are too many people and things."""
MOST, MOST_CALLED = 24, 200
_WORD = re.compile(r"[^\W_]+(?:[-.'’@][^\W_]+)*")
_HANDLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*#[^\s,;?!\"]+")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A record that a question names."""

    node: rows.Node
    said: str
    """The words of the question that name it."""
    whole: bool
    """The whole name was said, and not only its first word."""


def rows_of(node: rows.Node) -> Iterator[tuple[UUID, str, str, str]]:
    """How `called` keeps what a node is called: `(node, name, folded, first word)`."""
    for field in FIELDS:
        value = node.fields.get(field)
        if isinstance(value, str) and 0 < len(said := words.words(value)) <= MAX_WORDS:
            yield node.id, " ".join(value.split()), " ".join(said), said[0]
            return


def _said(fields: Mapping[str, Any]) -> list[str]:
    """What a record with these fields is called, as `called` keeps it."""
    return [" ".join(value.split()) for field in FIELDS if isinstance(value := fields.get(field), str)]


async def named(
    tx: store.Transaction, question: str, *, reader: CompiledScope, types: Mapping[str, schema.Type]
) -> list[Named]:
    """The records that `question` names and the reader may know by that name, each once.

    A first word alone counts when it opens with a capital, is long enough, and stands for one record that owns others.
    """
    tokens = _tokens(question)
    said_spans = spans(question)
    capitals = openings(question)
    by_handle = await _by_handle(tx, question, tokens, types)
    known = await reader.seen(tx, [n for _, n in by_handle])
    result = [Named(node=n, said=said, whole=True) for said, n in by_handle if n.id in known]
    sayable = await known_as(tx, reader, types, folded=said_spans, first=list(capitals))
    whole = [(name, n) for name, n in sayable if is_said(name, said_spans)]
    result += [Named(node=n, said=name, whole=True) for name, n in whole]
    taken = {w for name, _ in whole for w in words.words(name)}
    owners = reader.owner_types
    partial: dict[str, list[rows.Node]] = {}
    for name, n in sayable:
        opening = words.words(name)[0]
        if opening in capitals and opening not in taken and n.type in owners:
            partial.setdefault(opening, []).append(n)
    result += [Named(node=ns[0], said=capitals[w], whole=False) for w, ns in partial.items() if len(ns) == 1]
    return list({n.node.id: n for n in result}.values())[:MOST]


async def known_as(
    tx: store.Transaction,
    reader: CompiledScope,
    types: Mapping[str, schema.Type],
    *,
    folded: Sequence[str],
    first: Sequence[str],
) -> list[tuple[str, rows.Node]]:
    """`(name, node)` of records that the reader may know by a name that is one of `folded` or begins with a `first`."""
    found = await rows.called(tx, reader.called(types, FIELDS), folded=folded, first=first, limit=MOST_CALLED)
    seen = await reader.seen(tx, [n for _, n in found])
    return [(name, n) for name, n in found if (r := seen.get(n.id)) and name in _said(r.fields)]


def spans(question: str) -> list[str]:
    """Every run of up to MAX_WORDS words of `question`, folded as names are kept."""
    folded = _folded(_tokens(question))
    return [" ".join(folded[i : i + n]) for n in range(1, MAX_WORDS + 1) for i in range(len(folded) - n + 1)]


def openings(question: str) -> dict[str, str]:
    """Words of `question` that may stand for a whole name, folded, and as they were written."""
    tokens = _tokens(question)
    pairs = zip(tokens, _folded(tokens), strict=True)
    return {folded: said for said, folded in pairs if said[:1].isupper() and len(folded) >= SHORTEST}


def is_said(name: str, among: Sequence[str]) -> bool:
    """Whether the whole of `name` is one of the runs `among`. Names in small letters are words like any other."""
    return name.casefold() != name and " ".join(words.words(name)) in among


def without(question: str, found: Sequence[Named]) -> str:
    """`question` without the names in it: what is asked, whoever it is about. All of it when nothing else is left."""
    bare = question
    for name in found:
        for word in name.said.split():
            bare = re.sub(rf"(?<!\w){re.escape(word)}(?:['’]s)?(?!\w)", " ", bare)
    bare = " ".join(bare.split())
    return bare if words.terms(bare) else question


def _tokens(text: str) -> list[str]:
    return [m.group() for m in _WORD.finditer(text)]


def _folded(tokens: Sequence[str]) -> list[str]:
    return [words.words(t)[0] if words.words(t) else "" for t in tokens]


async def _by_handle(
    tx: store.Transaction, question: str, tokens: Sequence[str], types: Mapping[str, schema.Type]
) -> list[tuple[str, rows.Node]]:
    said: dict[str, handle.Handle] = {}
    for match in _HANDLE.finditer(question):
        if (parsed := handle.parse(match.group().rstrip("."))) is not None:
            said[match.group()] = parsed.whole
    by_word = {t.casefold(): t for t in types}
    for word, key in itertools.pairwise(tokens):
        kind = by_word.get(word.casefold())
        if kind is not None and any(c.isdigit() for c in key):
            said[f"{word} {key}"] = handle.Handle(type=kind, key=handle.encoded(key))
    nodes = await rows.by_handle(tx, list(said.values())) if said else {}
    return [(text, nodes[str(h)]) for text, h in said.items() if str(h) in nodes]
