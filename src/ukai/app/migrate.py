"""`ukai schema migrate FILE`: old records brought to a new schema, by expressions over what they hold (W11).

    migration: sizes-in-words
    types:
      - type: Town
        where: "row.size != null"
        set: {extent: "row.size > 10 ? 'large' : 'small'"}

The expressions are those of connectors; `row` is the record as it stands, `row.state` its state, and null clears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ukai.app import desk as desks
from ukai.app import propose
from ukai.connect import mapping
from ukai.gate import describe, domains, reform
from ukai.graph.catalogue import Catalogue
from ukai.kit import document, shape, suggest
from ukai.kit.finding import Finding, errors

WHERE = "where"


@dataclass(frozen=True, kw_only=True)
class Step:
    """What becomes of the records of one type."""

    __pydantic_config__ = shape.STRICT
    type: str
    where: str = "true"
    set: Annotated[Mapping[str, str], Field(min_length=1)] = field(default_factory=dict[str, str])


@dataclass(frozen=True, kw_only=True)
class Migration:
    """A file."""

    __pydantic_config__ = shape.STRICT
    migration: str
    types: Annotated[tuple[Step, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Migrated:
    """What came of it."""

    migration: str
    types: tuple[reform.Reformed, ...]
    dry_run: bool

    @property
    def failed(self) -> bool:
        """Some records could not follow."""
        return any(t.refused for t in self.types)

    def as_json(self) -> dict[str, Any]:
        """`{"migration", "dry_run", "types": [{"type", "changed", "unchanged", "left_out", "refused", "why"}]}`."""
        return {"migration": self.migration, "dry_run": self.dry_run, "types": [t.as_json() for t in self.types]}

    def lines(self) -> Iterator[str]:
        """For a person."""
        if self.dry_run:
            yield "dry run, nothing was written (--yes does it)"
        for t in self.types:
            done = "would change" if self.dry_run else "changed"
            rest = f"{t.unchanged} as they should be, {t.left_out} not meant, {t.refused} refused"
            yield f"{t.type}: {t.changed} {done}, {rest}"
            yield from (f"    {name}: {reason}" for name, reason in t.why)


async def migrate(
    path: Path,
    file: Path,
    *,
    named: str | None = None,
    sure: bool = False,
    progress: reform.Progress = lambda _: None,
) -> Migrated | list[Finding]:
    """Run a migration, or only judge it; findings when the file cannot be run.

    Needs the right `upload`; what is read and written are the records and fields that whoever runs it may read and
    write. Raises NoRight, Unreadable.
    """
    async with desks.opened(path, named=named, max_size=2) as desk:
        desk.standing.need("upload", "migrate records")
        catalogue = await domains.known(desk.db, fresh=True)
        wanted, findings = read(propose.read_file(file, most=propose.ENOUGH), catalogue, desk.rights, name=file.name)
        if wanted is None:
            return findings
        done = [
            await reform.reform(
                desk.db,
                step.type,
                _compute(step),
                author=desk.standing.author,
                rights=desk.rights,
                clock=desk.clock,
                dry_run=not sure,
                progress=progress,
            )
            for step in wanted.types
        ]
    return Migrated(migration=wanted.migration, types=tuple(done), dry_run=not sure)


def read(
    raw: bytes, catalogue: Catalogue, sight: describe.Sight, *, name: str
) -> tuple[Migration | None, list[Finding]]:
    """A migration file, held against the types and fields that `sight` shows something of."""
    doc, findings = document.read(raw, name=name)
    if doc is None:
        return None, findings
    found, findings = shape.parse(doc, Migration)
    if found is None:
        return None, findings
    seen = describe.only(catalogue, sight)
    for i, step in enumerate(found.types):
        findings += _findings(doc, f"/types/{i}", step, seen)
    return (None if errors(findings) else found), findings


def _findings(doc: document.Document, at: str, step: Step, seen: Catalogue) -> Iterator[Finding]:
    owner = seen.type(step.type)
    if owner is None:
        known = seen.types()
        yield Finding(
            code="unknown_type",
            where=doc.where(f"{at}/type"),
            message=f"no type is called {step.type!r}",
            expected=", ".join(known),
            received=step.type,
            hint=suggest.hint_for(step.type, known),
        )
        return
    fields = [*owner.type.by_key, *(["state"] if owner.type.states else [])]
    for field_ in step.set:
        if field_ not in owner.type.by_key:
            yield _unknown_field(doc.where_key(f"{at}/set{document.pointer(field_)}"), step.type, field_, fields)
    for place, text in (
        (f"{at}/where", step.where),
        *((f"{at}/set{document.pointer(n)}", e) for n, e in step.set.items()),
    ):
        for fault in mapping.faults(text):
            yield Finding(code="invalid_expression", where=doc.where(place), message=fault.message, hint=fault.hint)
        for column in sorted((mapping.columns(text) or frozenset()) - set(fields)):
            yield _unknown_field(doc.where(place), step.type, column, fields)


def _unknown_field(where: str, type: str, name: str, fields: list[str]) -> Finding:
    return Finding(
        code="unknown_field",
        where=where,
        message=f"{type} has no field {name!r}",
        expected=", ".join(fields),
        received=name,
        hint=suggest.hint_for(name, fields),
    )


def _compute(step: Step) -> Callable[[Mapping[str, Any]], Mapping[str, Any] | str | None]:
    asking = mapping.Expressions({WHERE: step.where})
    giving = mapping.Expressions(step.set)

    def compute(row: Mapping[str, Any]) -> Mapping[str, Any] | str | None:
        meant = asking.values(row)
        if isinstance(meant, list):
            return f"`where` gives no answer: {meant[0].reason}"
        if meant[WHERE] is not True:
            return None
        values = giving.values(row)
        return f"{values[0].name!r} gives no value: {values[0].reason}" if isinstance(values, list) else values

    return compute
