from __future__ import annotations

import asyncio

import pytest

from tests.gate import auditor, world
from tests.gate.world import change, done, edge, refused, remove, town
from ukai import store
from ukai.gate import domains
from ukai.kit.errors import PermanentError


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


def newer(old: bytes, new: bytes) -> bytes:
    found = world.DOMAIN.replace(old, new)
    assert found != world.DOMAIN
    return found


async def test_versions_are_counted_and_the_same_schema_again_changes_nothing(db: store.Database):
    again = await world.upload(db)
    other = await world.upload(db, newer(b"max_out: 2", b"max_out: 3"))

    assert (again.changed, again.domain and again.domain.version) == (False, 1)
    assert (other.changed, other.domain and other.domain.version) == (True, 2)
    async with db.transaction() as tx:
        first = await domains.version(tx, "world", 1)
        with pytest.raises(PermanentError):
            await domains.version(tx, "world", 9)
    assert first.fingerprint == world.domain().fingerprint


async def test_a_domain_that_was_stored_reads_back_as_it_was(db: store.Database):
    assert (await domains.known(db)).domains["world"].fingerprint == world.domain().fingerprint


async def test_names_of_types_and_edges_belong_to_one_domain(db: store.Database):
    other = world.domain(
        b"domain: elsewhere\ntypes: [{type: Town, key: name, fields: [{key: name, kind: string, required: true}]}]\n"
    )

    outcome = await domains.upload(db, other, author=world.ANN, at=world.CLOCK.now())

    assert [f.code for f in outcome.findings] == ["duplicate_name"]
    assert outcome.domain is None


async def test_a_type_in_use_cannot_be_left_out(db: store.Database):
    without = newer(b"  - type: Sign\n    fields: [{key: text, kind: string}]\n", b"")
    await done(db, {"kind": "create_node", "ref": "$s", "node_type": "Sign", "set": {"text": "x"}})

    blocked = await world.upload(db, without)
    async with db.transaction() as tx:
        handle = await tx.value("select 'Sign#' || key from node where type = 'Sign'")
    await done(db, remove(handle))
    allowed = await world.upload(db, without)

    assert [f.code for f in blocked.findings] == ["type_in_use"]
    assert allowed.changed


async def test_a_field_that_becomes_unique_claims_what_stands(db: store.Database):
    await done(db, town("a", motto="m"), town("b", motto="m"), town("c", motto="n"))

    outcome = await world.upload(db, newer(b"{key: motto, kind: string}", b"{key: motto, kind: string, unique: true}"))

    assert [(f.code, f.severity) for f in outcome.findings] == [("claimed_twice", "warning")]
    assert await refused(db, town("d", motto="n")) == ["unique_violation"]
    await done(db, change("Town#b", motto="o"))
    await done(db, change("Town#a", size=1))


async def test_a_field_that_is_no_longer_unique_gives_its_claims_up(db: store.Database):
    await done(db, town("a", seal="s"))

    await world.upload(db, newer(b"kind: string, unique: true", b"kind: string"))

    await done(db, town("b", seal="s"))


async def test_an_edge_that_becomes_one_of_at_most_one_claims_its_ends(db: store.Database):
    await done(db, town("a"), town("b"), town("c"), town("d"))
    await done(db, edge("road", "Town#a", "Town#b"))

    await world.upload(db, newer(b"max_out: 2", b"max_out: 1"))

    assert await refused(db, edge("road", "Town#a", "Town#c")) == ["cardinality_max"]
    assert await auditor.violations(db) == {}


async def test_many_uploads_at_once_count_one_after_another(db: store.Database):
    sources = [newer(b"max_out: 2", b"max_out: %d" % n) for n in (3, 4, 5, 6)]

    found = await asyncio.gather(*(world.upload(db, s) for s in sources))

    assert sorted(u.domain.version for u in found if u.domain) == [2, 3, 4, 5]
    assert (await domains.known(db)).domains["world"].version == 5
