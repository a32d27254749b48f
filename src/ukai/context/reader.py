"""Under whose rights is read, and what they see of a node: the last check, on the bodies themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ukai import store
from ukai.access import OwningEdge, Record, Rights
from ukai.context import rows
from ukai.graph import schema


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Rights, and the edges along which they pass."""

    rights: Rights
    edges: tuple[schema.EdgeType, ...]

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
        return self.rights.sql("n", self.owning)

    async def seen(self, tx: store.Transaction, nodes: Sequence[rows.Node]) -> Mapping[UUID, Record]:
        """What the reader may see of each node, by its id; nodes without anything to see are absent.

        The records keep those of their owners that may be seen too.
        """
        result: dict[UUID, Record] = {}
        for id, record in (await rows.records(tx, nodes, self.owning)).items():
            visible = self.rights.visible(record)
            if visible is not None:
                owners = tuple(o for owner in record.owners if (o := self.rights.visible(owner)) is not None)
                result[id] = Record(
                    type=visible.type,
                    key=visible.key,
                    path=visible.path,
                    fields=visible.fields,
                    readers=visible.readers,
                    owners=owners,
                )
        return result
