"""Domains, version by version, and the claims that follow what a schema declares unique."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, cast

from psycopg.types.json import Jsonb

from ukai import store
from ukai.gate.rows.statement import put
from ukai.graph import schema


async def domain_versions(tx: store.Transaction) -> dict[str, int]:
    """Domain -> its current version."""
    return dict(await tx.fetch("select name, version from domain"))  # pyright: ignore[reportArgumentType]


async def domain_body(tx: store.Transaction, name: str, version: int) -> Any:
    """One version as it was uploaded, None when there is none."""
    return await tx.value("select body from domain_version where domain = %s and version = %s", (name, version))


async def lock_domain(tx: store.Transaction, name: str) -> None:
    """No commit under this domain until the transaction ends; waits for those under way."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('ukai.domains', 0))")  # one upload at a time
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('ukai.domain ' || %s, 0))", (name,))


async def save_domain(
    tx: store.Transaction, domain: schema.Domain, *, body: Any, author: Mapping[str, Any], at: datetime
) -> None:
    """The version, and what the commit function must know of it."""
    name = domain.domain
    await tx.execute(
        """insert into domain (name, version, fingerprint, updated_at) values (%s, %s, %s, %s)
           on conflict (name) do update set version = excluded.version, fingerprint = excluded.fingerprint,
                                            updated_at = excluded.updated_at""",
        (name, domain.version, domain.fingerprint, at),
    )
    await tx.execute(
        """insert into domain_version (domain, version, fingerprint, body, author, created_at)
           values (%s, %s, %s, %s, %s, %s)""",
        (name, domain.version, domain.fingerprint, Jsonb(body), Jsonb(dict(author)), at),
    )
    await tx.execute("delete from node_type where domain = %s", (name,))
    await tx.execute("delete from edge_type where domain = %s", (name,))
    for t in domain.types:
        edge = domain.by_edge.get(t.readers.edge) if t.readers and t.readers.edge else None
        side = None if edge is None else "out" if t.type in edge.sources else "in"
        await tx.execute(
            """insert into node_type (type, domain, readers_edge, readers_side, path, key)
               values (%s, %s, %s, %s, %s, %s)""",
            (t.type, name, edge.edge if edge else None, side, t.path, list(t.key)),
        )
    for e in domain.edges:
        await tx.execute(
            """insert into edge_type (edge, domain, sources, targets, min_out, max_out, min_in, max_in,
                                      on_source, on_target, acyclic, owns)
               values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""",
            (
                *(e.edge, name, list(e.sources), list(e.targets), e.min_out, e.max_out, e.min_in, e.max_in),
                *(e.on_delete.source, e.on_delete.target, e.acyclic, e.owns),
            ),
        )


async def living(tx: store.Transaction, kind: Literal["node", "edge"], types: Sequence[str]) -> dict[str, int]:
    """Type of nodes (or edges) -> how many live, those with none left out."""
    statement = put(
        "select type, count(*) from {kind} where gone = 0 and type = any (%s) group by 1 order by 1", kind=kind
    )
    return dict(cast("list[tuple[str, int]]", await tx.fetch(statement, (list(types),))))


async def field_values(tx: store.Transaction, type: str, name: str) -> list[tuple[Any, Any]]:
    """(id, value) of the living nodes that have one, the eldest first."""
    return await tx.fetch(  # pyright: ignore[reportReturnType]
        "select id, props->%s from node where type = %s and gone = 0 and props ? %s order by created_at, id",
        (name, type, name),
    )


async def claim_values(tx: store.Transaction, type: str, name: str, claims: Sequence[tuple[str, Any]]) -> int:
    """How many of the claims (value, holder) could be made."""
    return await tx.execute(
        """insert into claim (type, name, value, holder)
           select distinct on (c.value) %s, %s, c.value, c.holder
           from unnest(%s::text[], %s::uuid[]) with ordinality c(value, holder, place) order by c.value, c.place
           on conflict do nothing""",
        (type, name, [value for value, _ in claims], [holder for _, holder in claims]),
    )


async def claim_ends(tx: store.Transaction, edge: str, side: str) -> int:
    """Claim the ends of the living edges; how many edges could not have theirs."""
    row = await tx.one(
        """with end_of as (
               select id, case when %(side)s = 'out' then src else dst end::text as value, created_at
               from edge where type = %(edge)s and gone = 0
           ), made as (
               insert into claim (type, name, value, holder)
               select distinct on (value) %(edge)s, %(side)s, value, id from end_of order by value, created_at, id
               on conflict do nothing returning 1
           )
           select (select count(*) from end_of) - (select count(*) from made)""",
        {"edge": edge, "side": side},
    )
    return row[0] if row else 0


async def drop_claims(tx: store.Transaction, type: str, name: str) -> None:
    """The field, or the side of the edge, is no longer unique."""
    await tx.execute("delete from claim where type = %s and name = %s", (type, name))
