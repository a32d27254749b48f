"""What an audience may do with one agent: compiled once, then asked for every record.

Everything holds for the whole audience: one member who may not is a no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ukai.access import fingerprint, opening, rows, rule, say, why, write
from ukai.access.caller import Audience
from ukai.access.clause import Clause
from ukai.access.decision import Decision
from ukai.access.field_policy import Allowlist
from ukai.access.policy import Policy
from ukai.access.reading import Reading
from ukai.access.record import ALL, NONE, Fields, OwningEdge, Record, common, includes, union
from ukai.access.write import Transition


@dataclass(frozen=True, kw_only=True)
class Rights:
    """Rights of `audience` with `agent` on `channel`. Values: equal files and callers give equal answers."""

    audience: Audience
    agent: str
    channel: str | None
    policies: tuple[Policy, ...]
    allowlist: Allowlist
    types: Mapping[str, frozenset[str]] | None
    """All declared types with their fields; nobody has rights on a record of another. None: not known here."""
    agents: frozenset[str] | None = None
    """All agents; another may not be invoked. None: not known here."""

    @cached_property
    def invoke(self) -> Decision:
        """Whether they may use the agent here."""
        if not self._is_agent:
            return say.no("invoke", f"no agent is named {self.agent!r}", denied_by=("unknown",))
        about = [p for p in self.policies if p.agents is None or any(g.matches(self.agent) for g in p.agents)]
        return say.simple("invoke", self.agent, self.invokers, about)

    def read(self, record: Record, field: str | None = None) -> Decision:
        """Whether they may read anything of the record (fields may still be withheld), or this field of it."""
        return why.read(self.reading, record, field, self.agent, self.policies)

    def fields(self, record: Record) -> Fields:
        """The fields they may read; `ALL` only when nothing is withheld."""
        return self.reading.fields(record)

    def visible(self, record: Record) -> Record | None:
        """The record as they may see it, with the fields they may read and no owners; None when none may be read.

        Its key and path are its name: they show whenever a field may.
        """
        return self.reading.visible(record)

    def may_write(
        self, type: str, fields: Fields, transition: Transition | None = None, record: Record | None = None
    ) -> Decision:
        """Whether they may change these fields of the record, and move it from one state to another.

        `record` is what stands before an update and what would stand after a create; `fields` is `ALL` for a delete.
        Without a record only policies count that allow the whole type, and every denial that could hit one of it.
        """
        if self.reading.is_unknown(type) or (record is not None and record.type != type):
            return say.no("write", f"no type is named {type!r} here", denied_by=("unknown",))
        return write.decide(self.writers, type=type, fields=fields, transition=transition, record=record)

    def writable(self, type: str, fields: frozenset[str]) -> write.Reach:
        """The most they may write of some record of the type: for describing it, never for deciding."""
        unknown = self.reading.is_unknown(type)
        return write.Reach(fields=NONE) if unknown else write.reach(self.writers, type, fields)

    def readable(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        """Of `fields`, the most they may read of some record of the type: for describing it, never for deciding."""
        return self.reading.most(type, fields)

    def may_send(self, output: str) -> Decision:
        """Whether they may send to this kind of destination outside. Off unless listed (P3.6)."""

        def is_about(policy: Policy) -> bool:
            return policy.outputs is None or output in policy.outputs

        senders = tuple(m.only(is_about) for m in self.senders)
        return say.simple("send", output, senders, filter(is_about, self.policies))

    def tell(self, record: Record) -> frozenset[str]:
        """Fields of a record that a refusal may disclose (P3.5). What is denied outright stays untold."""
        reading = self.reading
        left = reading.listed(record.type) if reading.members else NONE
        for teller, reader in zip(self.tellers, reading.members, strict=True):
            if not reader.is_reader(record) or reader.is_denied(record):
                return NONE
            told: Fields = NONE
            for teller_rule in teller.side(record.type).allows:
                if teller_rule.selects(record):
                    told = union(told, teller_rule.policy.fields)
            left = common(left, told)
            withheld = reader.denied_fields(record)
            left = NONE if withheld is ALL or left is ALL else left - withheld
        return NONE if left is ALL else left

    @property
    def tells(self) -> bool:
        """Whether there is a record of which they may be told something."""
        return bool(self.tellers) and all(m.allows for m in self.tellers)

    @cached_property
    def approximate(self) -> bool:
        """Whether an approximate index may answer them, which lets hidden records move what it finds near."""
        return say.simple("approximate", "here", self._members("approximate"), self.policies).allowed

    def sql(self, alias: str = "n", owning: Sequence[OwningEdge] = ()) -> tuple[str, list[Any]]:
        """`(text, params)`: a boolean expression over `node alias` that is true for the records they may read.

        Owners are looked up along `owning` in `edge` and `node`. Text for `%s` parameters, to be put in a `where`.
        """
        clause = rows.readable(self.reading.members, openings=self._openings, alias=alias, owning=owning)
        return clause.text, list(clause.params)

    def sql_covered(self, alias: str = "n") -> tuple[str, list[Any]]:
        """Like `sql`, for the records that policies cover by themselves, whatever is left of types and fields.

        Those may pass rights on: an owner does whatever of its own fields may be read.
        """
        clause = rows.readable(self.reading.members, openings=(opening.COVERED,), alias=alias, owning=())
        return clause.text, list(clause.params)

    def sql_field(self, field: str, alias: str = "n", owning: Sequence[OwningEdge] = ()) -> tuple[str, list[Any]]:
        """Like `sql`, for the records of which they may read this field, as far as their field policies list it."""
        clause = rows.showing(self.reading.members, field, alias=alias, owning=owning)
        return clause.text, list(clause.params)

    def sql_tell(self, alias: str = "n", owning: Sequence[OwningEdge] = ()) -> tuple[str, list[Any]]:
        """Like `sql`, for the records of which `tell` names a field that they have. `false` where nothing is told."""
        named = sorted(
            {f for m in self.tellers for r in m.allows if r.policy.fields is not ALL for f in r.policy.fields}
        )
        known = self.types if self.types is not None else self.allowlist.types()
        reading = self.reading
        listed = {
            f: None if known is None else frozenset(t for t in known if includes(reading.listed(t), f)) for f in named
        }
        clause = rows.tellable(self.tellers, reading.members, listed=listed, alias=alias, owning=owning)
        return clause.text, list(clause.params)

    def sql_among(
        self, ids: tuple[str, Sequence[Any]], owning: Sequence[OwningEdge] = (), *, dead: bool = False
    ) -> tuple[str, list[Any]] | None:
        """`(text, params)`: the array of those of `ids`, an array, whose nodes live (or not, with `dead`) and for which
        `sql` holds.

        For many rows: it asks each owner once. None where nothing passes from owners; then `sql` asks none.
        """
        array = Clause(text=ids[0], params=tuple(ids[1]))
        clause = rows.among(self.reading.members, openings=self._openings, owning=owning, ids=array, dead=dead)
        return None if clause is None else (clause.text, list(clause.params))

    @cached_property
    def _openings(self) -> tuple[opening.Opening, ...]:
        return opening.of(self.reading)

    @cached_property
    def principals_hash(self) -> str:
        """Equal for two audiences only when every answer is equal: fit to be part of a cache's key."""
        return fingerprint.of(
            agent=self.agent,
            is_agent=self._is_agent,
            types=self._concerned(),
            allowlist=self.allowlist,
            members=zip(
                self.invokers,
                self.reading.members,
                self.writers,
                self.tellers,
                self.senders,
                self._members("approximate"),
                strict=True,
            ),
        )

    @property
    def _is_agent(self) -> bool:
        return self.agents is None or self.agent in self.agents

    def _concerned(self) -> dict[str, frozenset[str]] | None:
        """The declared types that they have a right on, each with its fields where those decide what is read."""
        if self.types is None:
            return None
        asked = frozenset[str]().union(*(types or () for types, field in self._openings if field is not None))
        readers, listed = self.reading.members, self.reading.listed
        sides = [
            ([m.granted_types for m in members], left)
            for members, left in ((readers, listed), (self.tellers, listed), (self.writers, bool))
            if members
        ]
        return {
            type: names if type in asked else NONE
            for type, names in self.types.items()
            if any(left(type) and all(g is None or type in g for g in granted) for granted, left in sides)
        }

    @cached_property
    def invokers(self) -> tuple[rule.Member, ...]:
        return self._members("invoke")

    @cached_property
    def reading(self) -> Reading:
        """The part that is asked for every record; hold on to it in a loop."""
        return Reading(members=self._members("read"), allowlist=self.allowlist, types=self.types)

    @cached_property
    def writers(self) -> tuple[rule.Member, ...]:
        return self._members("write")

    @cached_property
    def tellers(self) -> tuple[rule.Member, ...]:
        return self._members("tell")

    @cached_property
    def senders(self) -> tuple[rule.Member, ...]:
        return self._members("send")

    def _members(self, right: str) -> tuple[rule.Member, ...]:
        return tuple(
            rule.member(c, self.policies, right=right, agent=self.agent, channel=self.channel)
            for c in self.audience.callers
        )
