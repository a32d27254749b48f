"""One compiled scope: where an author lets look AND what the caller may read, in the three forms that retrieval needs.

Compiled once a call and handed to everything that retrieves. It cannot say "everything": there is no None in it, and a
scope that names nothing, or no scope at all, covers nothing (context req. 9-13). Where an author means wherever the
rights reach, that is written out, as `**`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol
from uuid import UUID

from ukai import store
from ukai.access import ALL, OwningEdge, Record, Rights
from ukai.context import rows
from ukai.context.scope import Scope, is_expression
from ukai.graph import schema
from ukai.kit import canonical, glob, handle, unicode

_Fits = Callable[[str], object] | None
TOGETHER = 500
"""Patterns of one expression: PostgreSQL needs memory for its square, and keeps 32 expressions compiled."""


class Named(Protocol):
    """What a scope asks of a record: its handle and its place."""

    @property
    def handle(self) -> str: ...

    @property
    def path(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class CompiledScope:
    """Rights, the edges along which they pass, and scopes that all have to cover a record."""

    rights: Rights
    edges: tuple[schema.EdgeType, ...]
    scopes: tuple[Scope, ...]
    """All of them hold: the agent's, then the skill's. None at all: nothing is covered."""

    def narrowed(self, scope: Scope) -> CompiledScope:
        """The part of it that `scope` covers, too. Compiled once: a turn composes several times."""
        found = self._narrowed.get(scope)
        if found is None:
            found = CompiledScope(rights=self.rights, edges=self.edges, scopes=(*self.scopes, scope))
            self._narrowed[scope] = found
        return found

    @cached_property
    def _narrowed(self) -> dict[Scope, CompiledScope]:
        return {}

    @cached_property
    def key(self) -> str:
        """Equal for two scopes only when they cover and show the same of every graph: part of every cache's key."""
        owning = sorted((e.edge, e.owned_side) for e in self.owning)
        return canonical.sha256([self.rights.principals_hash, owning, [_written(s) for s in self.scopes]])

    @cached_property
    def written(self) -> str:
        """Equal for scopes that say the same of places, whoever reads: names a change of them in a replay."""
        return canonical.sha256([_written(s) for s in self.scopes])

    @cached_property
    def owning(self) -> tuple[OwningEdge, ...]:
        """The edges along which rights pass, as `access` knows them."""
        return tuple(
            OwningEdge(edge=e.edge, owned_side="from" if e.owns == "target" else "to") for e in self.edges if e.owns
        )

    @cached_property
    def owner_types(self) -> frozenset[str]:
        """Types whose records own others."""
        ends = [e.targets if e.owns == "target" else e.sources for e in self.edges if e.owns]
        return frozenset(name for end in ends for name in end)

    @cached_property
    def pinned(self) -> frozenset[str]:
        """Handles that a scope names one by one."""
        return frozenset(name for s in self.scopes for name in s.static_ids)

    @cached_property
    def clause(self) -> rows.Clause:
        """In SQL: true for the rows of `node n` that it covers and the caller may read."""
        (covered, values), (text, params) = self._covered, self.rights.sql("n", self.owning)
        clause = f"({covered} and {text})", [*values, *params]
        if self.rights.sql_among(("null", ()), self.owning) is None:
            return clause
        within, more = self._within or ("true", ())
        candidates = f"select n.id from node n where n.alive and {covered} and {within}", [*values, *more]  # noqa: S608
        return rows.Together(clause, among=self._among, covered=self._covered, candidates=candidates)

    def _among(self, ids: rows.Clause) -> rows.Clause:
        among = self.rights.sql_among(ids, self.owning)
        assert among is not None  # whoever has a clause `Together` has rights that pass from owners
        return among

    @property
    def _covered(self) -> rows.Clause:
        """True for the rows of `node n` that all scopes cover."""
        covered = [_covered(s) for s in self.scopes] or [("false", [])]
        return " and ".join(c[0] for c in covered), [p for c in covered for p in c[1]]

    def passages(self, types: Mapping[str, schema.Type], field: str = "p.field") -> rows.Clause:
        """`clause` for statements about passages: true where the caller may read the passage's field, too.

        `field` is what the statement calls that field.
        """
        if self._is_whole(types):
            return self.clause
        texts = [(t.type, f) for t in types.values() for f in _texts(t)]
        return rows.also(self.clause, self._shown(texts, field))

    def called(self, types: Mapping[str, schema.Type], names: Sequence[str]) -> rows.Clause:
        """`clause` for statements about `called c`: true where one of the fields `names` says it and may be read.

        A record is called by the first of them that it has: where an earlier one may not be read, a later one says
        nothing, since it would tell whether the earlier one is there.
        """
        if self._is_whole(types):
            return self.clause
        said: list[rows.Clause] = []
        for i, name in enumerate(names):
            having = [t for t in types.values() if name in t.by_key]
            parts: list[rows.Clause] = [(_SAID, [name]), self._shown([(t.type, name) for t in having], f"'{name}'")]
            for earlier in names[:i]:
                both = [(t.type, earlier) for t in having if earlier in t.by_key]
                text, params = self._shown(both, f"'{earlier}'")
                parts.append((f"(not n.type = any(%s::text[]) or {text})", [[t for t, _ in both], *params]))
            said.append((f"({' and '.join(p[0] for p in parts)})", [p for part in parts for p in part[1]]))
        return rows.also(self.clause, _some(said))

    def _is_whole(self, types: Mapping[str, schema.Type]) -> bool:
        return all(self.rights.reading.fixed(t) is ALL for t in types)

    def _shown(self, texts: Sequence[tuple[str, str]], field: str) -> rows.Clause:
        """True where the type of `node n` and `field` are one of `texts` and the caller may read that field of it.

        Rows are asked only about fields that may be read of some records of a type and not of all.
        """
        reading = self.rights.reading
        always = [t for t in texts if reading.always(*t)]
        shown = [_pairs(always, field)]
        unsure = [t for t in texts if not reading.always(*t) and reading.most(t[0], frozenset(t[1:]))]
        asked = {f: self.rights.sql_field(f, "n", self.owning) for f in sorted({f for _, f in unsure})}
        while unsure:
            clause = asked[unsure[0][1]]
            alike = [t for t in unsure if asked[t[1]] == clause]
            unsure = [t for t in unsure if asked[t[1]] != clause]
            text, params = _pairs(alike, field)
            shown.append((f"({text} and {clause[0]})", [*params, *clause[1]]))
        return _some(shown)

    def covers(self, node: Named) -> bool:
        """Whether all scopes cover the record: the same rule as in `clause`, without the rights."""
        place, tests = f"{node.path or ''}/", self._tests
        for named, inside, outside in tests:
            if not (inside and inside(place)) and not (named and node.handle in named):
                return False
            if outside and outside(place):
                return False
        return bool(tests)

    @cached_property
    def _tests(self) -> list[tuple[frozenset[str], _Fits, _Fits]]:
        """Of each scope: what it names, and what fits its globs and its exceptions; None for none."""
        return [(frozenset(s.static_ids), _anywhere(s.globs), _anywhere(s.exclude)) for s in self.scopes]

    def admits(self, record: Record) -> bool:
        """In Python: whether it covers the record (given with its owners) and the caller may read anything of it."""
        return self.covers(record) and self.rights.visible(record) is not None

    async def seen(self, tx: store.Transaction, nodes: Sequence[rows.Node]) -> Mapping[UUID, Record]:
        """What the caller may see of each node, by its id; nodes without anything to see are absent.

        The records keep those of their owners, near and far, that may be seen too, the nearest first: none that is tied
        to them by something hidden.
        """
        result: dict[UUID, Record] = {}
        covers, see = self.covers, self.rights.reading.visible
        inside = [n for n in nodes if covers(n)]
        for id, record in (await rows.records(tx, inside, self.owning)).items():
            if (visible := see(record)) is not None:
                owners = tuple(self._above(record)) if record.owners else ()
                result[id] = replace(visible, owners=owners) if owners else visible
        return result

    def _above(self, record: Record) -> Iterator[Record]:
        """The owners of a record that may be seen, then the owners of these."""
        level: tuple[Record, ...] = record.owners
        while level:
            seen = [(owner, visible) for owner in level if (visible := self.rights.visible(owner)) is not None]
            yield from (visible for owner, visible in seen if self.covers(owner))
            level = tuple(o for owner, _ in seen for o in owner.owners)

    @property
    def _within(self) -> rows.Clause | None:
        """True for all that may be readable, cheaply found: what policies select themselves, and what that owns.

        None where no rights are allowed along edges, or where several people are asked for at once: they may read one
        record for the sake of different owners.
        """
        members = self.rights.reading.members
        if len(members) != 1 or not any(r.policy.and_owned for r in members[0].allows):
            return None
        text, params = rows.owned_by(self.rights.sql_covered("r"), self.owning)
        return f"n.id in ({text})", params


def _texts(kind: schema.Type) -> tuple[str, ...]:
    """The fields whose texts are passages."""
    return kind.text if kind.passages is None else (*kind.text, kind.passages.source)


_SAID = (
    r"c.name = btrim(regexp_replace(n.props ->> %s, "
    r"'[\u0009-\u000d\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+', ' ', 'g'))"
)
"""As names are kept: without the space around them, and with one blank where Python sees space."""


def _pairs(texts: Sequence[tuple[str, str]], field: str) -> rows.Clause:
    """True where the type of `node n` and `field` are one of `texts`. `is true` keeps it from becoming a join."""
    text = f"((n.type, {field}) in (select unnest(%s::text[]), unnest(%s::text[]))) is true"
    return f"({text})", [[t for t, _ in texts], [f for _, f in texts]]


def _written(scope: Scope) -> list[list[str]]:
    return [sorted(set(scope.globs)), sorted(set(scope.exclude)), sorted(set(scope.static_ids))]


@lru_cache(maxsize=4096)
def _anywhere(globs: tuple[str, ...]) -> _Fits:
    """One expression for all of `globs`; None for none. Held against the whole of `path + "/"`."""
    if not globs:
        return None
    return re.compile("|".join(f"(?:{glob.compile(g).regex.pattern})" for g in globs), re.DOTALL).fullmatch


def _covered(scope: Scope) -> rows.Clause:
    if "**" in scope.globs:
        inside: rows.Clause = ("true", [])
    else:
        inside = _some([*_places(scope.globs), *_named(scope.static_ids)])
    if not scope.exclude:
        return inside
    outside = _some([*_places(scope.exclude)])
    return f"({inside[0]} and not {outside[0]})", [*inside[1], *outside[1]]


def _named(static_ids: Sequence[str]) -> Iterator[rows.Clause]:
    """True for these records. One condition for a type: planning takes the square of how many there are."""
    pinned = [h for name in static_ids if (h := handle.parse(name)) is not None and not h.part]
    for type in dict.fromkeys(h.type for h in pinned):
        yield "(n.type = %s and n.key = any(%s::text[]))", [type, [h.key for h in pinned if h.type == type]]


def _some(clauses: Sequence[rows.Clause]) -> rows.Clause:
    if not clauses:
        return "false", []
    return f"({' or '.join(c[0] for c in clauses)})", [p for c in clauses for p in c[1]]


def _places(globs: Sequence[str]) -> Iterator[rows.Clause]:
    """True for what one of `globs` covers, in forms that the index over paths is entered with where there are any.

    PostgreSQL keeps 32 compiled expressions: a list of more would be compiled anew for every row, so that many patterns
    become one. What no path can hold covers none.
    """
    globs = [g for g in globs if unicode.is_storable(g)]
    plain = [g for g in globs if not is_expression(g)]
    open_ended = [g.removesuffix("/**") for g in plain if g.endswith("/**")]
    literal = [g for g in plain if not g.endswith("/**")]
    if literal or open_ended:
        yield "n.path = any(%s::text[])", [[*literal, *open_ended]]
    for begin in open_ended:
        yield _range(f"{begin}/")
    patterns = [g for g in globs if is_expression(g)]
    for first in range(0, len(patterns), TOGETHER):
        part = patterns[first : first + TOGETHER]
        expression = "|".join(glob.compile(g).sql for g in part)
        under = _some([_range(begin) for begin in sorted({_literal(g) for g in part})])
        yield f"({under[0]} and (n.path || '/') ~ %s)", [*under[1], expression]


def _range(begin: str) -> rows.Clause:
    """True for paths that begin with `begin`."""
    behind = _behind(begin) if begin else ""
    return ("(n.path ~>=~ %s and n.path ~<~ %s)", [begin, behind]) if behind else ("n.path ~>=~ %s", [begin])


def _literal(pattern: str) -> str:
    """What every path that `pattern` covers begins with."""
    stops = [i for c in "*?" if (i := pattern.find(c)) >= 0]
    begin = pattern[: min(stops)] if stops else pattern
    return begin.rstrip("/")  # `a/b/**` covers `a/b` as well


def _behind(begin: str) -> str:
    """The first text behind all that begin with `begin`, byte by byte; empty where there is none."""
    last = ord(begin[-1])
    if last == 0x10FFFF:
        return _behind(begin[:-1]) if len(begin) > 1 else ""
    return begin[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
