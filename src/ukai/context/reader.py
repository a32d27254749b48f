"""Under whose rights is read, and what they see of a node: the last check, on the bodies themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from ukai import store
from ukai.access import OwningEdge, Record, Rights
from ukai.context import rows
from ukai.context.scope import Scope
from ukai.graph import schema
from ukai.kit import glob


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Rights, and the edges along which they pass."""

    rights: Rights
    edges: tuple[schema.EdgeType, ...]
    scope: Scope | None = None
    """Where the agent may look at all; None: wherever the rights allow. It only narrows."""

    @property
    def owning(self) -> tuple[OwningEdge, ...]:
        """The edges along which rights pass, as `access` knows them."""
        return tuple(
            OwningEdge(edge=e.edge, owned_side="from" if e.owns == "target" else "to") for e in self.edges if e.owns
        )

    @property
    def owner_types(self) -> frozenset[str]:
        """Types whose records own others."""
        ends = [e.targets if e.owns == "target" else e.sources for e in self.edges if e.owns]
        return frozenset(name for end in ends for name in end)

    @property
    def clause(self) -> rows.Clause:
        """True for readable rows of `node n`."""
        text, params = self.rights.sql("n", self.owning)
        if self.scope is not None:
            place = "coalesce(n.path, '') || '/'"
            inside = f"(({place}) ~ any(%s::text[]) or (n.type || '#' || n.key) = any(%s::text[]))"
            outside = f"not (({place}) ~ any(%s::text[]))"
            globs = [glob.compile(g).sql for g in self.scope.globs]
            exclude = [glob.compile(g).sql for g in self.scope.exclude]
            text = f"({text} and {inside} and {outside})"
            params = [*params, globs, list(self.scope.static_ids), exclude]
        within = self._within
        return (text, params) if within is None else rows.Narrow((text, params), within)

    @property
    def _within(self) -> rows.Clause | None:
        """All that may be readable, cheaply found: what policies select themselves, and what that owns.

        None where rights do not pass along edges, or where several people are asked for at once: they may read one
        record for the sake of different owners.
        """
        members = self.rights.reading.members
        if len(members) != 1 or not any(r.policy.and_owned for r in members[0].allows):
            return None
        # An owner gives rights whatever of its own fields and types the agent may see.
        anything = replace(self.rights, allowlist=type(self.rights.allowlist)(), types=None)
        return rows.owned_by(anything.sql("r", ()), self.owning)

    def is_inside(self, node: rows.Node | Record) -> bool:
        """Whether the scope covers the node: the same rule as in `clause`."""
        if self.scope is None:
            return True
        named = node.handle in self.scope.static_ids or any(
            glob.compile(g).matches(node.path or "") for g in self.scope.globs
        )
        return named and not any(glob.compile(g).matches(node.path or "") for g in self.scope.exclude)

    async def seen(self, tx: store.Transaction, nodes: Sequence[rows.Node]) -> Mapping[UUID, Record]:
        """What the reader may see of each node, by its id; nodes without anything to see are absent.

        The records keep those of their owners, near and far, that may be seen too, the nearest first.
        """
        result: dict[UUID, Record] = {}
        inside = [n for n in nodes if self.is_inside(n)]
        for id, record in (await rows.records(tx, inside, self.owning)).items():
            visible = self.rights.visible(record)
            if visible is not None:
                above = [o for o in _above(record) if self.is_inside(o)]
                owners = tuple(o for owner in above if (o := self.rights.visible(owner)) is not None)
                result[id] = Record(
                    type=visible.type,
                    key=visible.key,
                    path=visible.path,
                    fields=visible.fields,
                    readers=visible.readers,
                    owners=owners,
                )
        return result


def _above(record: Record) -> Iterator[Record]:
    """The owners of a record, then the owners of these."""
    level = record.owners
    while level:
        yield from level
        level = tuple(o for owner in level for o in owner.owners)
