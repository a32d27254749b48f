"""A database into a file and back (X3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.store import rig
from ukai.store import address, archive, binaries, migrations
from ukai.store.failures import DatabaseBusy, DatabaseUnfit

FOUND = binaries.every()
INSERT = "insert into witness values ('{}')"
NAMES = "select name from witness order by name"


@pytest.fixture
def dumped(database_url: str, tmp_path: Path) -> Path:
    """A dump of `database_url` with one row, `sales`."""
    rig.execute(database_url, INSERT.format("sales"))
    archive.dump(database_url, tmp_path / "a.dump", FOUND)
    return tmp_path / "a.dump"


@pytest.fixture
def name(database_url: str) -> Iterator[str]:
    """The database's name; what a broken restore left beside it is dropped."""
    found = str(psycopg.conninfo.conninfo_to_dict(database_url)["dbname"])
    yield found
    for ending in (archive.RESTORING, archive.REPLACED):
        rig.execute(address.with_name(database_url, "postgres"), f'drop database if exists "{found}{ending}"')


def _beside(url: str, name: str) -> list[object]:
    rows = rig.execute(address.with_name(url, "postgres"), "select datname from pg_database")
    return [row[0] for row in rows if str(row[0]).startswith(f"{name}_")]


def test_a_restore_gives_back_the_rows_and_the_migration(database_url: str, dumped: Path, name: str):
    rig.execute(database_url, "truncate witness")

    archive.restore(database_url, dumped, FOUND)

    assert rig.execute(database_url, NAMES) == [("sales",)]
    assert migrations.run(database_url) == []
    assert _beside(database_url, name) == []


def test_a_dump_is_for_its_owner_only(dumped: Path):
    assert stat.S_IMODE(dumped.stat().st_mode) == 0o600
    assert [p.name for p in dumped.parent.iterdir()] == ["a.dump"]


def test_a_dump_does_not_replace_a_file_unless_told_to(database_url: str, dumped: Path):
    before = dumped.read_bytes()

    with pytest.raises(archive.ArchiveRefused, match="exists"):
        archive.dump(database_url, dumped, FOUND)

    assert dumped.read_bytes() == before
    assert archive.dump(database_url, dumped, FOUND, forced=True) > 0


def test_a_dump_that_fails_leaves_no_file(database_url: str, tmp_path: Path):
    broken = address.with_name(database_url, "not_there")

    with pytest.raises(Exception, match="not_there"):
        archive.dump(broken, tmp_path / "a.dump", FOUND)

    assert list(tmp_path.iterdir()) == []


def test_a_database_with_rows_is_replaced_only_by_force(database_url: str, dumped: Path, name: str):
    rig.execute(database_url, INSERT.format("review"))

    with pytest.raises(archive.ArchiveRefused, match=r"not empty: rows in public\.witness"):
        archive.restore(database_url, dumped, FOUND)

    assert rig.execute(database_url, NAMES) == [("review",), ("sales",)]
    archive.restore(database_url, dumped, FOUND, forced=True)
    assert rig.execute(database_url, NAMES) == [("sales",)]


def test_a_damaged_file_changes_nothing(database_url: str, dumped: Path, name: str):
    raw = dumped.read_bytes()
    dumped.write_bytes(raw[: len(raw) // 2])

    with pytest.raises(archive.ArchiveRefused, match="pg_restore failed"):
        archive.restore(database_url, dumped, FOUND, forced=True)

    assert rig.execute(database_url, NAMES) == [("sales",)]
    assert _beside(database_url, name) == []


def test_clients_that_hold_on_are_cut_off(database_url: str, dumped: Path, name: str):
    with psycopg.connect(database_url) as client:
        client.execute("select 1")

        archive.restore(database_url, dumped, FOUND, forced=True)

        with pytest.raises(psycopg.OperationalError):
            client.execute("select 1")
        client.close()


def test_what_a_killed_restore_left_is_in_nobodys_way(database_url: str, dumped: Path, name: str):
    admin = address.with_name(database_url, "postgres")
    rig.execute(admin, f'create database "{name}{archive.RESTORING}"')
    rig.execute(admin, f'create database "{name}{archive.REPLACED}"')

    archive.restore(database_url, dumped, FOUND, forced=True)

    assert rig.execute(database_url, NAMES) == [("sales",)]
    assert _beside(database_url, name) == []


def test_a_restore_killed_before_the_exchange_leaves_the_database_as_it_was(
    database_url: str, dumped: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    rig.execute(database_url, INSERT.format("review"))
    monkeypatch.setattr(archive, "_swap", lambda *_: os._exit(9))
    child = os.fork()
    if child == 0:
        archive.restore(database_url, dumped, FOUND, forced=True)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 9
    assert rig.execute(database_url, NAMES) == [("review",), ("sales",)]


def test_two_restores_do_not_meet(database_url: str, dumped: Path, name: str):
    with archive._administrator(database_url), pytest.raises(DatabaseBusy, match="another restore"):
        archive.restore(database_url, dumped, FOUND, forced=True)


def test_programs_older_than_the_server_are_refused(database_url: str, tmp_path: Path):
    with pytest.raises(DatabaseUnfit, match="no pg_dump of"):
        archive.dump(database_url, tmp_path / "a.dump", [])


def test_a_password_is_not_on_the_command_line(database_url: str, tmp_path: Path):
    told = tmp_path / "told"
    (tmp_path / "pg_dump").write_text(f'#!/bin/sh\necho "$@" > {told}\necho "key=$PGPASSWORD" >> {told}\n')
    (tmp_path / "pg_dump").chmod(0o755)
    fake = binaries.Binaries(provider="fake", bin=tmp_path, major=99, version="99.0", vector="", is_warmed=False)

    archive.dump(f"{database_url} password=s3cret", tmp_path / "a.dump", [fake])

    arguments, environment = told.read_text().splitlines()
    assert "s3cret" not in arguments
    assert environment == "key=s3cret"
