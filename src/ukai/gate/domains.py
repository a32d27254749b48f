"""Domains in the store: uploaded, counted by version, and known to every process that proposes (W1).

A commit names the versions it was checked against. The function compares them under a lock that an upload takes
exclusively, so nothing is ever written under a schema that is no longer the current one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from weakref import WeakKeyDictionary

from ukai import store
from ukai.gate import program, rows
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.graph.catalogue import Catalogue
from ukai.kit import canonical
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What an upload came to."""

    domain: schema.Domain | None
    """With its version; None when there are error findings."""
    changed: bool = False
    """False also when the same schema was there already: uploads can be repeated."""
    findings: tuple[Finding, ...] = ()


_known: WeakKeyDictionary[store.Database, Catalogue] = WeakKeyDictionary()


async def known(db: store.Database, *, fresh: bool = False) -> Catalogue:
    """The domains as this process last saw them. `fresh` looks for newer versions and loads only those."""
    before = _known.get(db)
    if before is not None and not fresh:
        return before
    async with db.transaction() as tx:
        now = await read(tx, before or Catalogue(()))
    _known[db] = now
    return now


async def read(tx: store.Transaction, before: Catalogue) -> Catalogue:
    """The current domains; `before` itself when it still holds them, and what it has compiled where it does."""
    versions = await rows.domain_versions(tx)
    if before.domains.keys() - versions.keys():
        before = Catalogue(())
    for name in sorted(versions):
        had = before.domains.get(name)
        if had is None or had.version != versions[name]:
            before = before.with_domain(await version(tx, name, versions[name]))
    return before


async def version(tx: store.Transaction, name: str, number: int) -> schema.Domain:
    """One version of a domain as it was uploaded. Raises PermanentError when there is none."""
    body = await rows.domain_body(tx, name, number)
    domain, findings = domain_file.from_data(body, name=name) if body is not None else (None, [])
    if domain is None:
        said = "; ".join(f.message for f in errors(findings)) or "it was never uploaded"
        raise PermanentError(f"version {number} of the domain {name!r} cannot be read: {said}")
    return replace(domain, version=number)


async def upload(db: store.Database, domain: schema.Domain, *, author: Author, at: datetime) -> Uploaded:
    """Make `domain` the current version. The same content again changes nothing.

    A type that still has living nodes cannot be left out. Old nodes that would not meet the new schema stay as they
    are; only what a later change touches is checked.
    """
    async with db.transaction() as tx:
        await rows.lock_domain(tx, domain.domain)
        catalogue = await read(tx, _known.get(db) or Catalogue(()))
        before = catalogue.domains.get(domain.domain)
        tried = await _tried(tx, domain, catalogue)
        if tried.domain is None or not tried.changed:
            return tried
        new, findings = tried.domain, [*tried.findings]
        await rows.save_domain(tx, new, body=domain_file.as_data(new), author=author.as_json(), at=at)
        findings += await _claims(tx, new, before)
    await known(db, fresh=True)
    return Uploaded(domain=new, changed=True, findings=tuple(findings))


async def tried(db: store.Database, domain: schema.Domain) -> Uploaded:
    """What an upload would come to; nothing is changed. `impact.of` says what it would mean for what stands."""
    async with db.snapshot() as tx:
        return await _tried(tx, domain, await read(tx, _known.get(db) or Catalogue(())))


async def _tried(tx: store.Transaction, domain: schema.Domain, catalogue: Catalogue) -> Uploaded:
    before = catalogue.domains.get(domain.domain)
    if before is not None and before.fingerprint == domain.fingerprint:
        return Uploaded(domain=before)
    findings = (*_elsewhere(domain, catalogue), *await _left_out(tx, domain, before))
    if errors(findings):
        return Uploaded(domain=None, findings=findings)
    new = replace(domain, version=(before.version if before else 0) + 1)
    return Uploaded(domain=new, changed=True, findings=findings)


def _elsewhere(domain: schema.Domain, catalogue: Catalogue) -> Iterable[Finding]:
    """Handles say `Type#key` without the domain, so names are unique over all of them."""
    for kind, names, owners in (
        ("type", [t.type for t in domain.types], catalogue.type),
        ("edge", [e.edge for e in domain.edges], catalogue.edge),
    ):
        for name in names:
            found = owners(name)
            owner = found.domain if found else domain
            if owner.domain != domain.domain:
                yield Finding(
                    code="duplicate_name",
                    where=domain.domain,
                    message=f"the {kind} {name!r} is declared by the domain {owner.domain!r}",
                    expected=f"a {kind} name that no other domain uses",
                    received=name,
                    hint=f"rename the {kind}, or add to {owner.domain!r}",
                )


async def _left_out(tx: store.Transaction, domain: schema.Domain, before: schema.Domain | None) -> list[Finding]:
    gone = sorted(before.by_type.keys() - domain.by_type.keys()) if before else []
    counts = await rows.living(tx, "node", gone) if gone else {}
    cut = sorted(before.by_edge.keys() - domain.by_edge.keys()) if before else []
    counts |= await rows.living(tx, "edge", cut) if cut else {}
    return [
        Finding(
            code="type_in_use",
            where=domain.domain,
            message=f"{name!r} is no longer declared, and {count} of it live",
            expected="every type and edge that is in use",
            received=f"{count} living",
            hint=f"delete them first, or keep {name!r} in the domain",
        )
        for name, count in counts.items()
    ]


async def _claims(tx: store.Transaction, new: schema.Domain, before: schema.Domain | None) -> list[Finding]:
    """Claims follow what the schema declares unique; of two old holders the elder keeps the value."""
    findings: list[Finding] = []
    for type in new.types:
        old = before.by_type.get(type.type) if before else None
        had = {f.key for f in old.unique} if old else set[str]()
        for name in sorted(had - {f.key for f in type.unique}):
            await rows.drop_claims(tx, type.type, name)
        for name in sorted({f.key for f in type.unique} - had) if old else ():
            held = await rows.field_values(tx, type.type, name)
            claims = [(program.claimed(value), id) for id, value in held]
            twice = len(claims) - await rows.claim_values(tx, type.type, name, claims)
            if twice:
                findings.append(_twice(new, f"{type.type}.{name}", twice))
    for edge in new.edges:
        old_edge = before.by_edge.get(edge.edge) if before else None
        for side, most, had_most in (
            ("out", edge.max_out, old_edge.max_out if old_edge else edge.max_out),
            ("in", edge.max_in, old_edge.max_in if old_edge else edge.max_in),
        ):
            if had_most == 1 and most != 1:
                await rows.drop_claims(tx, edge.edge, side)
            if most == 1 and had_most != 1:
                twice = await rows.claim_ends(tx, edge.edge, side)
                if twice:
                    findings.append(_twice(new, f"{edge.edge} ({side})", twice))
    return findings


def _twice(domain: schema.Domain, what: str, count: int) -> Finding:
    return Finding(
        code="claimed_twice",
        severity="warning",
        where=domain.domain,
        message=f"{count} values of {what} are held more than once already",
        expected="one holder each",
        received=canonical.dumps(count),
        hint="they stay; give the later holders another value",
    )
