"""What a new version of a domain would say to the records that stand: "312 nodes would fail", part by part (W11).

Nothing is written and nothing becomes wrong: old data stays as it is until what is wrong with it is touched
(ratcheting, docs/howto/after-the-commit.md). Rules about a step (`old`) or a writer (`author`) say nothing about a
record that stands, and are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from ukai import store
from ukai.gate import domains, rows
from ukai.gate.rights import Rights
from ukai.graph import schema
from ukai.graph.catalogue import Catalogue, CompiledEdge, CompiledType
from ukai.graph.problem import Problem
from ukai.kit import handle

EXAMPLES = 3
LOOKED_AT = 200
"""Of the records that fail, so many at most are looked at for examples that the asker may read."""

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Broken:
    """One part of the schema that records would not meet."""

    type: str
    part: str
    """`size` (a field), `rule owned`, `state`, `road out`."""
    code: str
    """Of the rejection that a write of it would get."""
    count: int
    """Records that would fail."""
    new: int
    """Of these, those that do not fail under the version that is current."""
    examples: tuple[str, ...]
    """Handles, only of records that the asker may read."""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "examples": list(self.examples)}

    def __str__(self) -> str:
        before = "" if self.new == self.count else f", {self.count - self.new} of them before it already"
        shown = f"; for example {', '.join(self.examples)}" if self.examples else ""
        return f"{self.count:>8}  {self.type}.{self.part} [{self.code}]{before}{shown}"


@dataclass(frozen=True, kw_only=True)
class Impact:
    """What the whole version would say."""

    domain: str
    version: int
    """That it would become."""
    looked_at: int
    """Nodes and edges of the types that change."""
    failing: int
    """Nodes that would fail and do not fail now."""
    broken: tuple[Broken, ...]
    """Most records first."""

    def as_json(self) -> dict[str, Any]:
        """`{"domain", "version", "looked_at", "failing", "broken": [..]}`."""
        return {**vars(self), "broken": [b.as_json() for b in self.broken]}

    def lines(self) -> Iterator[str]:
        """For a person."""
        told = f"{self.failing} node{'' if self.failing == 1 else 's'} would fail"
        yield f"{self.domain} version {self.version}: {told}, of {self.looked_at} records looked at"
        yield from map(str, self.broken)
        if self.broken:
            yield "they stay as they are until a write touches what is wrong with them"


async def of(
    db: store.Database, domain: schema.Domain, *, rights: Rights, progress: Progress = lambda _: None
) -> Impact:
    """What `domain` as the next version would say. Types that do not change are not looked at."""
    async with db.snapshot() as tx:
        catalogue = await domains.read(tx, Catalogue(()))
        before = catalogue.domains.get(domain.domain)
        work = _Work(tx=tx, new=catalogue.with_domain(domain), old=catalogue, progress=progress)
        for type in domain.types:
            if before is not None and type.type in before.by_type and type != before.by_type[type.type]:
                await work.nodes(type)
        for edge in domain.edges:
            if before is not None and edge.edge in before.by_edge and edge != before.by_edge[edge.edge]:
                await work.edges(edge, before.by_edge[edge.edge])
        found = [await _told(tx, tally, rights) for tally in work.tallies.values()]
    return Impact(
        domain=domain.domain,
        version=(before.version if before else 0) + 1,
        looked_at=work.looked_at,
        failing=len(work.failing),
        broken=tuple(sorted(found, key=lambda b: (-b.count, b.type, b.part))),
    )


def failures(
    owner: CompiledType | CompiledEdge, props: Mapping[str, Any], state: str | None
) -> Iterator[tuple[str, str]]:
    """(part, code) of everything that a record as it stands does not meet."""
    for name, declared in owner.type.by_key.items():
        value = props.get(name)
        if value is None:
            if declared.required:
                yield name, "required_field"
        else:
            yield from ((name, code) for code in sorted(_wrong(owner, declared, value)))
    yield from ((name, "unknown_field") for name in props if name not in owner.type.by_key)
    if isinstance(owner, CompiledType):
        yield from _state(owner.type, state)
        yield from _rules(owner, props, state)


def _wrong(owner: CompiledType | CompiledEdge, declared: schema.Field, value: Any) -> set[str]:
    if declared.kind == "ref" and not declared.any_of:
        named = cast("list[Any]", value) if declared.many and isinstance(value, list) else [value]
        parsed = [handle.parse(n) if isinstance(n, str) else None for n in named]
        if None in parsed or declared.many != isinstance(value, list):
            return {"type_mismatch"}
        return {"ref_type_mismatch"} if declared.to and any(p and p.type != declared.to for p in parsed) else set()
    problems: list[Problem] = []
    owner.checks[declared.key](value, "", problems)
    return {p.code for p in problems}


def _state(type: schema.Type, state: str | None) -> Iterator[tuple[str, str]]:
    states = type.states
    fits = states is None if state is None else states is not None and state in states.values
    if not fits and not (state is None and states is not None and None in states.initial):
        yield "state", "state_unknown"


def _rules(owner: CompiledType, props: Mapping[str, Any], state: str | None) -> Iterator[tuple[str, str]]:
    new = dict(props) if owner.type.states is None else {**props, "state": state}
    for rule, program in owner.rules:
        if rule.severity == "warning" or program.speaks_of("old") or program.speaks_of("author"):
            continue
        found = program.evaluate({"new": new, "old": None, "author": ""})
        if found is not True:
            yield f"rule {rule.id}", "rule_violation" if found is False else "rule_error"


@dataclass(kw_only=True)
class _Tally:
    """Of one part: how many, how many of them are new, and the first ones."""

    type: str
    part: str
    code: str
    count: int = 0
    new: int = 0
    first: list[UUID] = field(default_factory=list[UUID])

    def add(self, node: UUID, *, new: bool) -> None:
        self.count += 1
        self.new += new
        if len(self.first) < LOOKED_AT:
            self.first.append(node)


@dataclass(kw_only=True)
class _Work:
    """The records of the types that change, one after the other."""

    tx: store.Transaction
    new: Catalogue
    old: Catalogue
    progress: Progress
    looked_at: int = 0
    failing: set[UUID] = field(default_factory=set[UUID])
    tallies: dict[tuple[str, str, str], _Tally] = field(default_factory=dict[tuple[str, str, str], _Tally])

    def add(self, type: str, part: str, code: str, node: UUID, *, new: bool) -> None:
        self.tallies.setdefault((type, part, code), _Tally(type=type, part=part, code=code)).add(node, new=new)
        if new:
            self.failing.add(node)

    async def nodes(self, type: schema.Type) -> None:
        owner, before = self.new.type(type.type), self.old.type(type.type)
        assert owner is not None
        assert before is not None
        async for part in rows.nodes_of(self.tx, type.type):
            for row in part:
                failed = list(failures(owner, row["props"], row["state"]))
                had = set(failures(before, row["props"], row["state"])) if failed else set[tuple[str, str]]()
                for name, code in failed:
                    self.add(type.type, name, code, row["id"], new=(name, code) not in had)
            self.looked_at += len(part)
            self.progress(f"records looked at: {self.looked_at}")
        for unique in {f.key for f in type.unique} - {f.key for f in before.type.unique}:
            for id in await rows.held_twice(self.tx, type.type, unique):
                self.add(type.type, unique, "unique_violation", id, new=True)

    async def edges(self, edge: schema.EdgeType, before: schema.EdgeType) -> None:
        owner, had = self.new.edge(edge.edge), self.old.edge(edge.edge)
        assert owner is not None
        assert had is not None
        if edge.fields != before.fields:
            async for part in rows.edges_of(self.tx, edge.edge):
                for row in part:
                    old = set(failures(had, row["props"], None))
                    for name, code in failures(owner, row["props"], None):
                        self.add(edge.edge, name, code, row["src"], new=(name, code) not in old)
                self.looked_at += len(part)
        await self._counts(edge, before, "out", edge.sources)
        await self._counts(edge, before, "in", edge.targets)

    async def _counts(self, edge: schema.EdgeType, before: schema.EdgeType, side: str, types: tuple[str, ...]) -> None:
        def bounds(of: schema.EdgeType) -> tuple[int, int | None]:
            return (of.min_out, of.max_out) if side == "out" else (of.min_in, of.max_in)

        if bounds(edge) == bounds(before):
            return
        found: dict[bool, Sequence[UUID]] = {}
        for is_new, of in ((True, edge), (False, before)):
            least, most = bounds(of)
            found[is_new] = await rows.counted_otherwise(self.tx, edge.edge, side, types=types, least=least, most=most)
        had = set(found[False])
        for id in found[True]:
            self.add(edge.edge, side, "cardinality", id, new=id not in had)


async def _told(tx: store.Transaction, tally: _Tally, rights: Rights) -> Broken:
    known = await rows.handles(tx, [str(id) for id in tally.first], rights)
    shown = [known[str(id)] for id in tally.first if str(id) in known][:EXAMPLES]
    return Broken(
        type=tally.type,
        part=tally.part,
        code=tally.code,
        count=tally.count,
        new=tally.new,
        examples=tuple(dict.fromkeys(shown)),
    )
