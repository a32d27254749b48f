"""Transactions as the rooms use them."""

from __future__ import annotations

import pytest

from ukai import store


async def test_what_a_transaction_wrote_stays_when_it_ends(database: store.Database):
    async with database.transaction() as tx:
        written = await tx.execute("insert into domain (name, fingerprint) values (%s, '')", ("sales",))

    async with database.transaction() as tx:
        assert written == 1
        assert await tx.fetch("select name, version from domain") == [("sales", 1)]
        assert await tx.one("select name from domain where name = %s", ("none",)) is None
        assert await tx.value("select count(*) from domain") == 1


async def test_what_a_failed_transaction_wrote_is_undone(database: store.Database):
    with pytest.raises(RuntimeError):
        async with database.transaction() as tx:
            await tx.execute("insert into domain (name, fingerprint) values ('sales', '')")
            raise RuntimeError

    async with database.transaction() as tx:
        assert await tx.value("select count(*) from domain") == 0
