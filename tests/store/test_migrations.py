"""Bringing a database to the shape the code expects (X3)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.store import rig
from ukai import store
from ukai.store import address, migrations
from ukai.store.failures import DatabaseAway, MigrationsUnfit

AT = "select version_num from alembic_version"


@pytest.fixture
def empty_url(postgres_url: str) -> Iterator[str]:
    """A database with nothing in it."""
    name = f"empty_{uuid4().hex[:12]}"
    rig.execute(postgres_url, f'create database "{name}"')
    yield address.with_name(postgres_url, name)
    rig.execute(postgres_url, f'drop database "{name}" with (force)')


def chain(folder: Path, *bodies: str) -> Path:
    """Steps 0001, 0002 ... whose upgrades run these statements."""
    for number, body in enumerate(bodies, 1):
        step(folder, f"{number:04d}", f'"{number - 1:04d}"' if number > 1 else "None", body)
    return folder


def step(folder: Path, number: str, before: str, body: str = "select 1") -> None:
    (folder / f"{number}_step.py").write_text(
        f'from alembic import op\nrevision = "{number}"\ndown_revision = {before}\n'
        f"def upgrade():\n    op.execute({body!r})\n"
    )


async def test_an_empty_database_is_brought_to_the_newest_step(empty_url: str):
    ran = await store.migrate(empty_url)
    again = await store.migrate(empty_url)

    assert ran == [s.number for s in migrations.steps()]
    assert again == []
    assert rig.execute(empty_url, AT) == [(migrations.newest(),)]


async def test_only_the_missing_steps_run(empty_url: str, tmp_path: Path):
    await store.migrate(empty_url, folder=chain(tmp_path, "create table a ()"))

    ran = await store.migrate(empty_url, folder=chain(tmp_path, "create table a ()", "create table b ()"))

    assert ran == ["0002"]


def test_two_migrations_at_once_run_each_step_once(empty_url: str, tmp_path: Path):
    folder = chain(tmp_path, "create table a (); select pg_sleep(0.3)", "create table b ()")
    code = (
        "import sys; from pathlib import Path; from ukai.store import migrations; "
        "print(*migrations.run(sys.argv[1], folder=Path(sys.argv[2])))"
    )

    def elsewhere(_: int) -> str:
        command = [sys.executable, "-c", code, empty_url, str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with ThreadPoolExecutor(3) as threads:
        said = sorted(threads.map(elsewhere, range(3)))

    assert said == ["", "", "0001 0002"]


async def test_a_step_that_fails_leaves_nothing_of_itself(empty_url: str, tmp_path: Path):
    folder = chain(tmp_path, "create table a ()", "create table b (); select 1/0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        await store.migrate(empty_url, folder=folder)

    assert rig.execute(empty_url, "select tablename from pg_tables where schemaname = 'public'") == []


async def test_a_database_of_a_newer_ukai_is_refused(empty_url: str, tmp_path: Path):
    chain(tmp_path, "select 1", "select 1")
    await store.migrate(empty_url, folder=tmp_path)
    (tmp_path / "0002_step.py").unlink()

    with pytest.raises(MigrationsUnfit, match="at migration 0002, this code knows 0001") as unfit:
        await store.migrate(empty_url, folder=tmp_path)

    assert "newer Ukai" in unfit.value.hint


def test_a_gap_in_the_chain_names_the_missing_number(tmp_path: Path):
    step(tmp_path, "0001", "None")
    step(tmp_path, "0003", '"0002"')

    with pytest.raises(MigrationsUnfit, match=r"0003_step\.py stands where migration 0002 is expected"):
        migrations.steps(tmp_path)


def test_a_file_that_continues_another_than_the_one_before_it_is_refused(tmp_path: Path):
    step(tmp_path, "0001", "None")
    step(tmp_path, "0002", '"0001"')
    step(tmp_path, "0003", '"0001"')

    with pytest.raises(MigrationsUnfit, match=r"0003_step\.py does not continue") as unfit:
        migrations.steps(tmp_path)

    assert 'down_revision = "0002"' in unfit.value.hint


def test_a_file_with_a_name_of_its_own_kind_is_refused(tmp_path: Path):
    (tmp_path / "graph.py").write_text("")

    with pytest.raises(MigrationsUnfit, match="0001"):
        migrations.steps(tmp_path)


def test_our_own_chain_is_whole():
    numbers = [s.number for s in migrations.steps()]

    assert numbers == [f"{n:04d}" for n in range(1, len(numbers) + 1)]


def test_a_migrated_database_costs_no_import_of_alembic(database_url: str):
    code = (
        "import sys; from ukai.store import migrations; migrations.run(sys.argv[1]); "
        "print([m for m in ('alembic', 'sqlalchemy') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code, database_url], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


async def test_a_server_that_is_not_there_is_temporary(tmp_path: Path):
    with pytest.raises(DatabaseAway):
        await store.migrate(f"postgresql://kim:s3cret@/ukai?host={tmp_path}")
