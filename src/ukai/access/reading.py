"""Which records and fields an audience reads: formats §6, rules (1) to (5). The part that runs for every record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ukai.access.field_policy import Allowlist
from ukai.access.record import ALL, NONE, Fields, Record, common, includes, union
from ukai.access.rule import Member


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The right to read, compiled."""

    members: tuple[Member, ...]
    """One for each person of the audience."""
    allowlist: Allowlist
    types: Mapping[str, frozenset[str]] | None
    """All declared types with their fields; a record of another is not read. None: not known here, so not asked."""
    _listed: dict[str, Fields] = field(default_factory=dict[str, Fields], compare=False, repr=False)

    def listed(self, type: str) -> Fields:
        """The fields of a type that the field policies leave."""
        found = self._listed.get(type)
        if found is None:
            found = NONE if self.is_unknown(type) else self.allowlist.fields(type)
            self._listed[type] = found
        return found

    def is_unknown(self, type: str) -> bool:
        return self.types is not None and type not in self.types

    def names(self, type: str) -> frozenset[str] | None:
        """The fields that a record of the type may have; None: not known here."""
        return None if self.types is None else self.types.get(type, NONE)

    @property
    def bound(self) -> frozenset[str] | None:
        """The types of which the field policies leave something; None: all."""
        listed = self.allowlist.types()
        known = listed if self.types is None else frozenset(self.types)
        return known if known is None or listed is None else known & listed

    def fixed(self, type: str) -> Fields | None:
        """The fields of every record of a type that is read at all; None when they differ from record to record."""
        for member in self.members:
            if member.partial or any(r.policy.fields is not ALL for r in member.reaching(type)[0]):
                return None
        return self.listed(type)

    def most(self, type: str, fields: frozenset[str]) -> frozenset[str]:
        """Of `fields`, those that are read of at least some record of a type; a record may show fewer, never more."""
        listed = self.listed(type)
        left = NONE if not self.members else fields if listed is ALL else fields & listed
        for member in self.members:
            side = member.side(type)
            granted: Fields = NONE
            for rule in (*side.allows, *(r for r in member.allows if r.policy.and_owned)):
                granted = union(granted, rule.policy.fields)
            left &= fields if granted is ALL else granted
            for rule in (*side.denies, *side.partial):
                if not rule.where and rule.paths is None:
                    left = NONE if rule.policy.fields is ALL else left - rule.policy.fields
        return left

    def always(self, type: str, field: str) -> bool:
        """Whether the field is read of every record of the type that is read at all. May say no where it is."""
        for member in self.members:
            own = member.side(type).allows
            reaching, withholding = member.reaching(type)
            granting = [r for r in reaching if includes(r.policy.fields, field)]
            is_granted = any(r in own and not r.where and r.paths is None for r in granting)
            if not is_granted and len(granting) < len(reaching):
                return False
            if any(includes(r.policy.fields, field) for r in withholding):
                return False
        return bool(self.members) and includes(self.listed(type), field)

    def is_open(self, record: Record) -> bool:
        """Whether any of it may be read; single fields may still be withheld."""
        return self._left(record) is not None

    def fields(self, record: Record) -> Fields:
        """The fields that are read; `ALL` only when nothing is withheld."""
        left = self._left(record)
        return NONE if left is None else left

    def _left(self, record: Record) -> Fields | None:
        """The fields that are read; None when none may be, whether the record has one or not."""
        left, gone = self.listed(record.type), NONE
        if not left or not self.members:
            return None
        for member in self.members:
            if record.readers is not None and record.readers.isdisjoint(member.caller.principals):
                return None
            left = common(left, member.granted(record))
            if not left or member.is_denied(record):
                return None
            if member.partial:
                withheld = member.denied_fields(record)
                if withheld is ALL:
                    return None
                gone |= withheld
        if left is ALL and not gone:
            return ALL
        names = self.names(record.type)
        if left is ALL:
            return None if names and names <= gone else frozenset(record.fields) - gone
        left -= gone
        return left if left and (names is None or not left.isdisjoint(names)) else None

    def visible(self, record: Record) -> Record | None:
        """The record with the fields that are read and without owners; None when none may be."""
        fields = self._left(record)
        if fields is None:
            return None
        if fields is ALL:
            return replace(record, owners=()) if record.owners else record
        seen = {k: v for k, v in record.fields.items() if k in fields}
        return Record(type=record.type, key=record.key, path=record.path, fields=seen, readers=record.readers)
