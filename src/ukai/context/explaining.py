"""Afterwards: why something is or is not in a document, the same document once more, and what was put aside.

Only for whoever it was composed for. What they may not read is not spoken of: absent and hidden are one answer. Who
may read the whole report and nothing else (`audit`) is told what it says of a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from ukai import store
from ukai.access import ALL
from ukai.context import bodies, cut, levels, making, offload, ranking, reading, rereading, retrieval, rows
from ukai.context.clause import CompiledScope
from ukai.context.given import Given, together
from ukai.context.reader import WHEREVER_RIGHTS_REACH, Reader
from ukai.context.request import Request
from ukai.context.rows import compositions
from ukai.context.scope import Scope
from ukai.context.settings import DEFAULT, Settings
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Asked, Candidate, Strategy
from ukai.context.view import View
from ukai.graph import schema
from ukai.kit import canonical, glob, handle, suggest

PARTS = 6
"""Lines about the parts of one record."""
TOO_LARGE = "records that share the most words with the question, or are named or pinned"
NOT_THERE = "there is no record of this name that you may read"
NO_HANDLE = "a record is named Type#key, as the report names it, with /part for one part of it"
FURTHER = "a larger budget goes further down the ranking; a record that the question names comes first"
NOT_REPORTED = (
    "its report says nothing of it: out of scope, not found, not there, or hidden from whoever it was composed for",
    "whoever it was composed for may ask which; `ukai access explain` says what they may read",
)

INPUTS: Mapping[str, str] = {
    "rights": "the rights of whoever reads",
    "scope": "the scope",
    "records": "records in scope",
    "vectors": "vectors that were not there yet",
    "types": "the types of the graph",
    "model": "the embedding model",
    "settings": "the thresholds or the strategies",
    "counter": "the way of counting tokens",
    "ranker": "the model that ranks",
    "templates": "the templates",
}
"""What may be otherwise when a composition is made once more: its name in a report, and in words."""
ITSELF = "the composer itself"
"""No input is another one, and still the bytes are: they were made by another version of the program."""


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Why one record is in a document, or is not."""

    handle: str
    is_shown: bool
    lines: tuple[str, ...]
    """The reason first, then what it rests on."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"handle": self.handle, "shown": self.is_shown, "why": list(self.lines)}


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A composition made once more, of what is there now."""

    same: bool
    """To the byte."""
    text: str
    changed: tuple[str, ...]
    """In words, which inputs are others than then; with the records that stand otherwise in the document."""


async def own(db: store.Database, id: UUID, reader: Reader) -> compositions.Saved | None:
    """The composition, when it was made for exactly these people with this agent."""
    async with db.transaction() as tx:
        saved = await compositions.saved(tx, id)
    people = tuple(sorted(c.id for c in reader.rights.audience.callers))
    return saved if saved and saved.principals == people and saved.agent == reader.rights.agent else None


def held(saved: compositions.Saved) -> Given:
    """What whoever received the composition holds since: what it showed, and what was given before it."""
    asked, report = json.loads(saved.request), json.loads(saved.report)
    return together(_given(asked["given"]), _given(report["shown"]))


async def explain(
    db: store.Database,
    id: UUID,
    name: str,
    *,
    library: reading.Library,
    reader: Reader,
    settings: Settings = DEFAULT,
) -> Explanation | None:
    """Why the record or part `name` is in the composition, or is not. None: there is no such composition for them."""
    saved = await own(db, id, reader)
    if saved is None:
        return None
    return await explained(db, saved, name, library=library, reader=reader, settings=settings)


async def explained(
    db: store.Database,
    saved: compositions.Saved,
    name: str,
    *,
    library: reading.Library,
    reader: Reader,
    settings: Settings = DEFAULT,
) -> Explanation:
    """The same of a composition that was found before. What is said of a record is what `reader` may know of it."""
    report = json.loads(saved.report)
    anywhere = reader.anywhere
    async with db.snapshot() as tx:
        name = await _named(tx, name, library, anywhere)
        parsed = handle.parse(name)
        found, updated = await _readable(tx, parsed, reader) if parsed else (None, None)
        report = await rereading.reread(tx, report, library=library, reader=anywhere)
        if parsed is None or found is None:
            meant = [*await _of_another_type(tx, name, library, anywhere), *_meant(parsed, report)]
            why = NO_HANDLE if parsed is None and not meant else NOT_THERE
            return Explanation(handle=name, is_shown=False, lines=(why, *meant))
        told, about = _reported(report, name, library.types)
        if (
            (not told or about != name)
            and parsed.part
            and await reading.read(tx, library, anywhere, name=parsed) is None
        ):
            return Explanation(handle=name, is_shown=False, lines=(NOT_THERE,))
        if not told:
            told = [*_of_scope(found, reader, _scope(saved))]
            told = told or await _of_scores(tx, saved, (name, about), found, library, reader, settings)
    if not (is_shown := _is_shown(report, about)) and any(map(_is_for_room, told)):
        told.append(FURTHER)
    told += _turns(told)
    if updated is not None and updated > saved.at:
        told.append(f"it was changed at {updated:%Y-%m-%d %H:%M}, after this was composed")
    return Explanation(handle=name, is_shown=is_shown, lines=tuple(told))


def reported(saved: compositions.Saved, name: str, types: Mapping[str, schema.Type]) -> Explanation:
    """What the report by itself says of the record or part `name`, for whoever may read all of it.

    Nothing is looked up.
    """
    report = json.loads(saved.report)
    kind = types.get(name.partition("#")[0])
    others = map(str, handle.unencoded(name, len(kind.key))) if kind else ()
    name = next((n for n in (name, *others) if _told(report, n)), name)
    told, about = _reported(report, name, types)
    return Explanation(handle=name, is_shown=_is_shown(report, about), lines=(*told, *_turns(told)) or NOT_REPORTED)


async def replay(
    db: store.Database,
    id: UUID,
    *,
    library: reading.Library,
    reader: Reader,
    settings: Settings = DEFAULT,
    strategies: Mapping[str, Strategy] = STRATEGIES,
    ranker: ranking.Ranker | None = None,
) -> Replayed | None:
    """The composition once more: the same bytes, or the name of the input that changed. None: as for `explain`.

    What a conversation had been given then, what a model said that ranked, and strategies that had timed out, are taken
    from the report: no model is asked.
    """
    saved = await own(db, id, reader)
    if saved is None:
        return None
    asked = json.loads(saved.request)
    past = making.Past(without=frozenset(asked["without"]), ranked=asked["ranked"])
    made = await making.made_of(
        db,
        _request(asked),
        library=library,
        reader=reader,
        settings=settings,
        strategies=strategies,
        past=past,
        given=_given(asked["given"]),
        ranker=ranker,
    )
    same = made.digest == saved.document
    then = json.loads(saved.report)
    changed = [said for key, said in INPUTS.items() if then["versions"].get(key) != made.report.versions.get(key)]
    if not same:
        changed += _otherwise(then["shown"], made.report.shown)
        timed_out = [s.strategy for s in made.report.graph if s.timed_out and s.strategy not in past.without]
        changed += [f"the strategy {s!r} ran out of time now" for s in timed_out]
        changed = changed or [ITSELF]
    return Replayed(same=same, text=made.text, changed=tuple(changed))


@dataclass(frozen=True, kw_only=True)
class PutAside:
    """A value that was too large for a document, as it is now."""

    handle: str
    """Of the record or the part that it is a value of."""
    field: str
    text: str


async def fetch_offloaded(db: store.Database, ref: str, *, library: reading.Library, reader: Reader) -> str | None:
    """The text of `put_aside`."""
    found = await put_aside(db, ref, library=library, reader=reader)
    return None if found is None else found.text


async def put_aside(db: store.Database, ref: str, *, library: reading.Library, reader: Reader) -> PutAside | None:
    """The value that was put aside under `ref`, as it is now. None: there is none, or none for this audience."""
    async with db.snapshot() as tx:
        at = await compositions.offloaded(tx, ref, reader.rights.principals_hash)
        parsed = handle.parse(at[0]) if at else None
        if at is None or parsed is None:
            return None
        node = (await rows.by_handle(tx, [parsed.whole])).get(str(parsed.whole))
        if node is None:
            return None
        asked = Candidate(id=at[0], node=node.id, part="/".join(parsed.part), score=0.0, why=())
        items = await bodies.fetch(tx, reader, library, [asked])
    if not items:
        return None
    field = offload.field_of(at[1])
    value = items[0].text if at[1] == offload.TEXT else items[0].fields.get(field)
    if value is None:
        return None
    return PutAside(handle=at[0], field=field, text=value if isinstance(value, str) else canonical.dumps(value))


async def _readable(
    tx: store.Transaction, name: handle.Handle, reader: Reader
) -> tuple[rows.Node | None, datetime | None]:
    """The record, if they may read any of it at all, inside the scope or out of it; and when that changed last."""
    anywhere = CompiledScope(rights=reader.rights, edges=reader.edges, scopes=(WHEREVER_RIGHTS_REACH,))
    node = (await rows.by_handle(tx, [name.whole])).get(str(name.whole))
    if node is None or not (seen := await anywhere.seen(tx, [node])):
        return None, None
    fixed = reader.rights.reading.fixed(node.type)
    # A field that went counts where no hidden one is among those that did.
    fields = node.field_versions if fixed is ALL else seen[node.id].fields if fixed is None else fixed
    return node, await rows.changed_at(tx, node.id, rows.version_of(fields, node.field_versions))


async def _named(tx: store.Transaction, name: str, library: reading.Library, reader: Reader) -> str:
    """`name` as reports have it; where nothing they may read is called so, the one that its key is if nothing in it is
    encoded (`Page#wiki/sales` for `Page#wiki%2Fsales`).
    """
    parsed, kind = handle.parse(name), library.types.get(name.partition("#")[0])
    if kind is None or (parsed is not None and await reading.read(tx, library, reader, name=parsed) is not None):
        return str(parsed or name)
    found = [
        h
        for h in handle.unencoded(name, len(kind.key))
        if h != parsed and await reading.read(tx, library, reader, name=h) is not None
    ]
    return str(found[0] if len(found) == 1 else parsed or name)


async def _of_another_type(tx: store.Transaction, name: str, library: reading.Library, reader: Reader) -> Sequence[str]:
    """What was probably meant where the type is misspelt: a record that they may read."""
    written, _, rest = name.partition("#")
    known = [t for t, kind in library.types.items() if reader.rights.readable(t, frozenset(kind.by_key))]
    near = None if written in known else suggest.suggest(written, known)
    if near is None:
        return ()
    other = handle.parse(await _named(tx, f"{near.name}#{rest}", library, reader))
    is_there = other is not None and await reading.read(tx, library, reader, name=other) is not None
    return (f"did you mean {other}?",) if is_there else ()


def _meant(name: handle.Handle | None, report: Mapping[str, Any]) -> Iterator[str]:
    """What was probably meant, among what was found then. `report` is one that speaks of what they may see now."""
    if name is None:
        return
    # With other numbers it is another record and no slip of the hand.
    known = [h for found in report["found"] if (h := handle.parse(found)) and _digits(h.key) == _digits(name.key)]
    near = suggest.suggest(name.key, [h.key for h in known if h.type == name.type])
    if near is not None:
        yield f"did you mean {handle.Handle(type=name.type, key=near.name)}?"


def _holding(name: handle.Handle, types: Mapping[str, schema.Type]) -> str | None:
    """Of a field, as cases name it: the item in which its value stands, or the first words of what its parts are called
    (`Page#x/body` stands in `Page#x`; `Call#x/turns` is `Call#x/turn/1` and others). None: no field is named.
    """
    kind = types.get(name.type)
    if kind is None or len(name.part) != 1 or name.part[0] not in kind.by_key:
        return None
    if kind.passages is not None and kind.passages.source == name.part[0]:
        return f"{name.whole}/{kind.passages.part}"
    return str(name.whole)


def _reported(report: Mapping[str, Any], name: str, types: Mapping[str, schema.Type]) -> tuple[list[str], str]:
    """What the report says of `name`, and of which item that is said: of a field, of the one that holds it."""
    told, parsed = _told(report, name), handle.parse(name)
    if told or parsed is None or (about := _holding(parsed, types)) is None:
        return told, name
    told = _told(report, about)
    return ([f"it stands in {about}", *told] if told and about == str(parsed.whole) else told), about


def _told(report: Mapping[str, Any], name: str) -> list[str]:
    return [*_of_ranking(report, name), *_of_dropped(report, name)]


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _is_for_room(reason: str) -> bool:
    return " left out: " in reason or " not read: " in reason


def _turns(told: Sequence[str]) -> list[str]:
    return [cut.TURNS] if any(cut.FIRST in line for line in told) else []


def _is_shown(report: Mapping[str, Any], name: str) -> bool:
    inside = (
        i for row in report["ranking"] if row["level"] not in (levels.NONE, levels.IDENTITY) for i in row["items"]
    )
    return name in inside or any(n == name or n.startswith(f"{name}/") for n in report["shown"])


def _of_ranking(report: Mapping[str, Any], name: str) -> Iterator[str]:
    """The record's own line, then its best parts."""
    found: list[str] = []
    scores = {row["section"]: row["score"] for row in report["ranking"]}
    for row in report["ranking"]:
        inside = [i for i in row["items"] if i == name or i.startswith(f"{name}/")]
        if inside:
            part = "" if inside[0] == name else f"{inside[0]}: "
            part = f"with {row['section']}: " if inside[0] not in (row["section"], *report["found"]) else part
            found_by = (w for i in (*inside, row["section"]) for w in report["found"].get(i, ()))
            ways = ", ".join(dict.fromkeys(found_by))
            figures = f"score {row['score']:.2f}, {row['tokens_full']} tokens in full, by {ways}"
            if (best := row.get("best")) in scores:
                figures += f"; ranked with {best}, score {scores[best]:.2f}"
            said = f"{part}{row['reason'] or row['level']} ({figures})"
            found.insert(0, said) if inside[0] == name else found.append(said)
    yield from found[:PARTS]
    if len(found) > PARTS:
        yield f"and {len(found) - PARTS} more of its parts"


def _of_dropped(report: Mapping[str, Any], name: str) -> Iterator[str]:
    ranked = {i for row in report["ranking"] for i in row["items"]}
    for row in report["dropped"]:
        is_of = row["section"] == name or row["section"].startswith(f"{name}/")
        if is_of and row["reason"] and row["section"] not in ranked:
            yield f"{row['section']}: {row['reason']}"


def _of_scope(node: rows.Node, reader: Reader, scope: Scope) -> Iterator[str]:
    if not reader.covers(node):
        yield f"the agent's scope does not cover its place, {node.path}"
    for pattern in scope.exclude:
        if glob.compile(pattern).matches(node.path):
            yield f"the scope excludes {pattern}, and it stands at {node.path}"
    named = node.handle in scope.static_ids or any(glob.compile(g).matches(node.path) for g in scope.globs)
    if not named and scope not in reader.scopes:  # of the agent's own that was said above
        yield f"no glob of the scope covers its place, {node.path}, and no static id names it"


async def _of_scores(
    tx: store.Transaction,
    saved: compositions.Saved,
    names: Sequence[str],
    node: rows.Node,
    library: reading.Library,
    reader: Reader,
    settings: Settings,
) -> list[str]:
    """It was in scope and no strategy brought it: where the best would rank now of what the first of `names` calls."""
    asked = json.loads(saved.request)
    request = _request(asked)
    ask = await making.asked_of(tx, reader.narrowed(request.scope), request.question, library, settings)
    readable = ask.scope.passages(library.types)
    found = next(filter(None, (_rows(ask.view, node, name) for name in names)), None)
    if node.id not in ask.view.nodes and await rows.passages_of(tx, readable, [node.id]):
        return [f"it is in scope, which is too large to be looked at as a whole, and not one of the {TOO_LARGE}"]
    if found is None:
        return ["it is in scope and was not found then; nothing of it is searched"]
    await retrieval.run(ask, STRATEGIES, without=frozenset(asked["without"]))
    row = max(found, key=lambda r: ask.score[r])
    called = "it" if (entry := ask.view.entries[row]).id == names[0] else entry.id
    told = [f"it is in scope and no strategy brought it: of {ask.view.size} items, {called} now ranks"]
    told += [f"  {_rank(scores, row)}. {by}" for by, scores in _rankings(ask)]
    if row in ask.found:
        told.append(f"  and {', '.join(ask.found[row])} would bring it now")
    return told


def _rows(view: View, node: rows.Node, name: str) -> list[int]:
    """The row of an item, or those of its parts."""
    if (own := view.rows.get(name)) is not None:
        return [own]
    of_record: list[int] = view.standing([node.id]).tolist()
    return [row for row in of_record if view.entries[row].id.startswith(f"{name}/")]


def _rankings(ask: Asked) -> Iterator[tuple[str, np.ndarray]]:
    yield "by words and meaning together", ask.score
    if ask.lexicals:
        yield (
            "by words" if ask.lexicals[0].any() else "by words (none of the question's is in any item)",
            ask.lexicals[0],
        )
    if ask.cosines:
        yield "by meaning", ask.cosines[0]


def _rank(scores: np.ndarray, row: int) -> int:
    return int((scores > scores[row]).sum()) + 1


def _otherwise(then: Mapping[str, Sequence[str]], now: Mapping[str, tuple[str, str]]) -> list[str]:
    """Items that stand in the document now and did then, with other words."""
    return [f"{name} says something else" for name in now if name in then and then[name][0] != now[name][0]]


def _given(kept: Mapping[str, Sequence[str]]) -> Given:
    return {item: (body, level) for item, (body, level) in kept.items()}


def _scope(saved: compositions.Saved) -> Scope:
    return _request(json.loads(saved.request)).scope


def _request(asked: Mapping[str, Any]) -> Request:
    scope = asked["scope"]
    return Request(
        question=asked["question"],
        scope=Scope(
            globs=tuple(scope["globs"]),
            exclude=tuple(scope["exclude"]),
            static_ids=tuple(scope["static_ids"]),
            budget_tokens=scope["budget_tokens"],
        ),
        skill=asked["skill"],
        budget_tokens=asked["budget_tokens"],
        conversation=asked["conversation"],
        ranker=asked["ranker"],
        ceiling_tokens=asked["ceiling_tokens"],
    )
