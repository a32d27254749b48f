"""Why a record or a field is read, or is not: the first thing that stands in the way, put into words."""

from __future__ import annotations

from collections.abc import Iterable

from ukai.access import say
from ukai.access.decision import Decision
from ukai.access.policy import Policy
from ukai.access.reading import Reading
from ukai.access.record import ALL, Record
from ukai.access.rule import Rule


def read(reading: Reading, record: Record, field: str | None, agent: str, policies: Iterable[Policy]) -> Decision:
    """The decision about a record, or about one field of it."""
    if not reading.is_open(record):
        return _closed(reading, record, agent, policies)
    fields = reading.fields(record)
    if field is not None and fields is not ALL and field not in fields:
        return _withheld(reading, record, field, agent)
    rules = [
        r
        for m in reading.members
        for r in (*(r for r in m.side(record.type).allows if r.selects(record)), *m.through(record))
    ]
    what = f"{record.handle}/{field}" if field else record.handle
    return say.yes("read", what, [m.caller for m in reading.members], _policies(rules))


def _closed(reading: Reading, record: Record, agent: str, policies: Iterable[Policy]) -> Decision:
    what = record.handle
    if not reading.members:
        return say.nobody("read")
    if reading.is_unknown(record.type):
        return say.no("read", f"no type is named {record.type!r}, so {what} is not read", denied_by=("unknown",))
    if not reading.listed(record.type):
        return _unlisted(reading, what, record.type, agent)
    for member in reading.members:
        caller = member.caller
        if not caller.is_known:
            return say.unknown("read", what, caller)
        hit = _policies(member.denying(record))
        if hit:
            return say.denied("read", what, caller, hit)
        if not member.is_reader(record):
            named = ", ".join(sorted(record.readers or ())) or "nobody"
            reason = f"{caller.id} may not read {what}: its readers are {named}"
            needed = ["the readers of the record, which come from its source, would have to name the caller"]
            return say.no("read", reason, denied_by=("readers",), missing=needed, who=caller.id)
        if not member.granted(record):
            about = [p for p in policies if p.types is None or record.type in p.types]
            return say.uncovered("read", what, caller, about)
    return _bare(reading, what, record)


def _bare(reading: Reading, what: str, record: Record) -> Decision:
    """Policies cover it, and no field of it is left."""
    hit = [p for m in reading.members for p in _policies(m.withholding(record))]
    names = say.named({p.id: p for p in hit}.values())
    return say.no(
        "read",
        f"nobody here may read {what}: no field of it is left" + (f" by {names}" if names else ""),
        denied_by=[*(p.id for p in hit), *(f"field_policy:{p.name}" for p in reading.allowlist.policies)],
        missing=["one field of it that everybody here is granted, nobody is denied and the field policies list"],
    )


def _withheld(reading: Reading, record: Record, field: str, agent: str) -> Decision:
    what = f"{record.handle}/{field}"
    listed = reading.listed(record.type)
    if listed is not ALL and field not in listed:
        return _unlisted(reading, what, record.type, agent)
    for member in reading.members:
        hit = [p for p in _policies(member.withholding(record)) if p.fields is not ALL and field in p.fields]
        if hit:
            return say.denied("read", what, member.caller, hit)
        granted = member.granted(record)
        if granted is not ALL and field not in granted:
            return say.lacking("read", what, member.caller, [f"the field {field!r}"])
    return say.no("read", f"{what} is not there: the record has no such field, and not all of its fields are open")


def _unlisted(reading: Reading, what: str, type: str, agent: str) -> Decision:
    allowlist = reading.allowlist
    if allowlist.unknown:
        names = ", ".join(repr(n) for n in allowlist.unknown)
        reason = f"{agent} does not read {what}: no field policy named {names} can be read"
        return say.no("read", reason, denied_by=("unknown",), missing=["a file of that name in access/field_policies"])
    names = ", ".join(f"{p} ({p.place})" for p in allowlist.policies)
    return say.no(
        "read",
        f"{agent} does not read {what}: its field policy {names} does not list it",
        denied_by=[f"field_policy:{p.name}" for p in allowlist.policies],
        missing=[f"a line for it under {type} in {p.place.split(':')[0]}" for p in allowlist.policies],
    )


def _policies(rules: Iterable[Rule]) -> list[Policy]:
    return [r.policy for r in rules]
