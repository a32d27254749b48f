"""The server that Ukai starts by itself (X1, X3)."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from tests import scratch
from tests.store import rig
from ukai.store import account, binaries, embedded, folder, launch, process, server
from ukai.store.failures import DatabaseBusy, EmbeddedBroken, EmbeddedUnfit

BLOCKED = ("/bin/false",)
as_root = pytest.mark.skipif(not rig.IS_ROOT, reason="root only")


def test_the_second_caller_joins_the_server_of_the_first(data_dir: Path):
    first = embedded.ensure(data_dir, rig.QUIET)
    pid = rig.pid_of(data_dir)

    second = embedded.ensure(data_dir, rig.QUIET)

    assert second == first
    assert rig.pid_of(data_dir) == pid
    assert rig.execute(second, "select current_database()") == [("ukai",)]


def test_rows_survive_a_stop_and_a_start(bare_dir: Path):
    url = embedded.ensure(bare_dir, rig.QUIET)
    rig.execute(url, "create table t (x int); insert into t values (7)")

    stopped = embedded.stop(bare_dir)
    running = embedded.running(bare_dir)
    again = embedded.ensure(bare_dir, rig.QUIET)

    assert (stopped, running, again) == (True, None, url)
    assert rig.execute(again, "select x from t") == [(7,)]


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="Linux only")
def test_a_server_whose_folder_was_removed_is_one_that_is_ended_before_the_next_start(bare_dir: Path):
    """It notices within a minute, and as it ends removes the socket's file, which has become the next one's."""
    program = bare_dir.parent.parent / "postgres"
    shutil.copy2(shutil.which("sleep") or "", program)
    bare_dir.mkdir(parents=True)
    with subprocess.Popen([program, "60"], cwd=bare_dir) as old:
        shutil.rmtree(bare_dir.parent)

        found = process.left_behind(bare_dir)

        old.kill()
    assert found == [old.pid]


def test_stopping_what_does_not_run_says_so(data_dir: Path):
    assert embedded.stop(data_dir) is False


def test_four_processes_at_once_share_one_server(bare_dir: Path):
    callers = [rig.ensured_elsewhere(bare_dir) for _ in range(4)]
    said = [caller.communicate(timeout=120) for caller in callers]

    assert {out.strip() for out, _ in said} == {embedded.running(bare_dir).url}  # type: ignore[union-attr]
    log = folder.Place(bare_dir).log_file.read_text()
    assert log.count("starting PostgreSQL") == 1


def test_a_server_whose_starter_was_killed_just_now_is_waited_for(data_dir: Path):
    program = binaries.choose(binaries.every()).program("postgres")
    prefix = account.fit_for(data_dir, program).prefix
    sockets = folder.Place(data_dir).socket_dir()
    late = ["/bin/sh", "-c", 'read -r go; exec "$@"', "sh", *prefix, program, "-D", str(data_dir)]
    late += ["--listen_addresses=", f"--unix_socket_directories={sockets}"]
    with subprocess.Popen(late, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as orphan:
        try:
            rig.eventually(lambda: process.on_the_way(data_dir) == [orphan.pid])  # its name comes a moment after it
            joiner = rig.ensured_elsewhere(data_dir)
            rig.eventually(lambda: folder.Place(data_dir).used_at() > 0)  # it has the lock, and looks around
            assert orphan.stdin is not None
            orphan.stdin.write(b"go\n")
            orphan.stdin.close()

            out, err = joiner.communicate(timeout=60)

            assert (out.strip(), err) == (embedded.running(data_dir).url, "")  # type: ignore[union-attr]
            assert rig.pid_of(data_dir) == orphan.pid
        finally:
            embedded.stop(data_dir)
            orphan.kill()  # if it never became a server: whatever failed above is told, and nobody waits for ever


def test_rows_survive_a_kill_of_the_server(data_dir: Path):
    url = embedded.ensure(data_dir, replace(rig.QUIET, settings={}))
    rig.execute(url, "create table t (x int); insert into t values (7)")
    rig.kill_server(data_dir)

    again = embedded.ensure(data_dir, rig.QUIET)

    assert rig.execute(again, "select x from t") == [(7,)]


def _pid_file(data_dir: Path, pid: int, sockets: Path) -> None:
    (data_dir / "postmaster.pid").write_text(f"{pid}\n{data_dir}\n1700000000\n5432\n{sockets}\n\n  1 2\nready   \n")


@pytest.fixture
def zombie() -> Iterator[int]:
    """The pid of a process that ended and that nobody has reaped yet."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    yield pid
    os.waitpid(pid, 0)


def test_a_zombie_is_not_alive(zombie: int):
    assert not process.is_alive(zombie)
    assert process.is_alive(os.getpid())


def test_a_zombie_with_the_noted_pid_is_not_taken_for_the_server(data_dir: Path, zombie: int):
    embedded.ensure(data_dir, rig.QUIET)
    sockets = embedded.running(data_dir).socket_dir  # type: ignore[union-attr]
    embedded.stop(data_dir)
    _pid_file(data_dir, zombie, sockets)
    sockets.mkdir(mode=0o700)
    (sockets / ".s.PGSQL.5432.lock").write_text(f"{zombie}\n{data_dir}\n1700000000\n5432\n{sockets}\n")

    url = embedded.ensure(data_dir, rig.QUIET)

    assert rig.execute(url, "select 1") == [(1,)]


def test_a_stranger_with_the_noted_pid_is_left_alone(data_dir: Path):
    embedded.ensure(data_dir, rig.QUIET)
    embedded.stop(data_dir)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        _pid_file(data_dir, stranger.pid, data_dir)

        stopped = embedded.stop(data_dir)
        url = embedded.ensure(data_dir, rig.QUIET)

        assert stopped is False
        assert stranger.poll() is None
        assert rig.execute(url, "select 1") == [(1,)]
        stranger.communicate(b"\n")


def test_the_server_of_another_folder_is_not_ours(data_dir: Path, postgres_url: str):
    other = Path(str(rig.execute(postgres_url, "show data_directory")[0][0]))
    embedded.ensure(data_dir, rig.QUIET)
    embedded.stop(data_dir)
    (data_dir / "postmaster.pid").write_text((other / "postmaster.pid").read_text())

    running = embedded.running(data_dir)
    stopped = embedded.stop(data_dir)
    url = embedded.ensure(data_dir, rig.QUIET)

    assert (running, stopped) == (None, False)
    assert Path(str(rig.execute(url, "show data_directory")[0][0])) == data_dir
    assert rig.execute(postgres_url, "select 1") == [(1,)]


def test_where_a_process_cannot_be_looked_into_the_server_still_says_whose_it_is(
    bare_dir: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    other = Path(str(rig.execute(postgres_url, "show data_directory")[0][0]))
    bare_dir.mkdir(parents=True)
    (bare_dir / "postmaster.pid").write_text((other / "postmaster.pid").read_text())
    monkeypatch.setattr(process, "serves", lambda *_: True)

    assert embedded.running(bare_dir) is None
    assert embedded.running(other) is not None


def test_a_pid_file_that_is_being_written_names_no_socket(tmp_path: Path):
    place = folder.Place(tmp_path)
    place.pid_file.write_text(f"{os.getpid()}\n{tmp_path}\n1700000000\n5432\n\n")

    noted = place.noted()

    assert noted is not None
    assert noted.socket_dir is None
    assert server.running(place) is None


def test_what_a_killed_initdb_left_is_removed(bare_dir: Path):
    half = bare_dir.with_name("postgres.new-abc")
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    url = embedded.ensure(bare_dir, rig.QUIET)

    assert not half.exists()
    assert rig.execute(url, "select 1") == [(1,)]


def test_a_folder_of_another_major_is_refused_with_the_way_out(bare_dir: Path):
    bare_dir.mkdir(parents=True)
    (bare_dir / "PG_VERSION").write_text("14\n")

    with pytest.raises(EmbeddedUnfit, match="made by PostgreSQL 14") as refused:
        embedded.ensure(bare_dir, rig.QUIET)

    assert "ukai db dump" in refused.value.hint
    assert (bare_dir / "PG_VERSION").read_text() == "14\n"


def test_a_folder_of_something_else_is_refused_and_kept(bare_dir: Path):
    bare_dir.mkdir(parents=True)
    (bare_dir / "thesis.txt").write_text("mine")

    with pytest.raises(EmbeddedUnfit, match="no data folder of PostgreSQL"):
        embedded.ensure(bare_dir, rig.QUIET)

    assert (bare_dir / "thesis.txt").read_text() == "mine"


def test_no_program_of_postgresql_is_an_error_that_names_both_ways_out(bare_dir: Path):
    with pytest.raises(EmbeddedUnfit) as refused:
        embedded.ensure(bare_dir, replace(rig.QUIET, found=list))

    assert ".[embedded]" in refused.value.hint
    assert "UKAI_DATABASE_URL" in refused.value.hint


def test_a_workspace_deep_down_still_has_a_socket(bare_dir: Path):
    deep = bare_dir.parent / ("deep" * 25) / ("down" * 25) / "postgres"
    try:
        url = embedded.ensure(deep, rig.QUIET)

        assert len(os.fsencode(deep)) > 200
        assert rig.execute(url, "select 1") == [(1,)]
    finally:
        embedded.stop(deep)


def test_a_path_full_of_shell_letters_is_only_a_path(bare_dir: Path):
    odd = bare_dir.parent / "a b'c\"d $(touch hurt) `x`;" / "postgres"
    try:
        assert rig.execute(embedded.ensure(odd, rig.QUIET), "select 1") == [(1,)]
    finally:
        embedded.stop(odd)


def test_data_and_socket_are_for_their_owner_and_no_port_is_open(bare_dir: Path):
    embedded.ensure(bare_dir, rig.QUIET)

    alive = embedded.running(bare_dir)
    assert alive is not None
    private = [stat.S_IMODE(p.stat().st_mode) for p in (bare_dir.parent, bare_dir, alive.socket_dir)]
    assert private == [0o700] * 3
    assert stat.S_IMODE((alive.socket_dir / ".s.PGSQL.5432").stat().st_mode) == 0o700
    assert rig.execute(alive.url, "show listen_addresses") == [("",)]


def test_a_socket_folder_that_others_can_enter_is_not_used(data_dir: Path):
    embedded.ensure(data_dir, rig.QUIET)
    alive = embedded.running(data_dir)
    assert alive is not None
    embedded.stop(data_dir)
    alive.socket_dir.mkdir(mode=0o700)
    alive.socket_dir.chmod(0o777)
    try:
        embedded.ensure(data_dir, rig.QUIET)

        now = embedded.running(data_dir)
        assert now is not None
        assert now.socket_dir != alive.socket_dir
        assert stat.S_IMODE(now.socket_dir.stat().st_mode) == 0o700
    finally:
        alive.socket_dir.rmdir()


def test_the_server_inherits_nobodys_keys_and_no_pg_variable(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    monkeypatch.setenv("PGPORT", "6543")

    url = embedded.ensure(data_dir, rig.QUIET)

    environment = Path(f"/proc/{rig.pid_of(data_dir)}/environ").read_bytes()
    assert b"sk-secret" not in environment
    assert rig.execute(url, "show port") == [("5432",)]


def test_text_sorts_by_code_point_on_every_machine(bare_dir: Path):
    url = embedded.ensure(bare_dir, rig.QUIET)

    order = rig.execute(url, "select x from unnest(array['b', 'a', 'B', 'ä', 'Z']) x order by x")

    assert [row[0] for row in order] == ["B", "Z", "a", "b", "ä"]
    assert rig.execute(url, "select upper('ä')") == [("Ä",)]


def test_a_server_that_starts_again_reads_what_its_buffers_held(bare_dir: Path):
    url = embedded.ensure(bare_dir, rig.QUIET)
    rig.execute(url, "create table kept as select n, repeat('x', 500) from generate_series(1, 2000) n")
    rig.execute(url, "select count(*) from kept")
    embedded.stop(bare_dir)

    url = embedded.ensure(bare_dir, rig.QUIET)

    # Counted without touching the table: only the server itself can have read its pages.
    held = "select count(*) > 100 from pg_buffercache where relfilenode = pg_relation_filenode('kept')"
    rig.execute(url, "create extension pg_buffercache")
    assert rig.eventually(lambda: rig.execute(url, held) == [(True,)])


@pytest.mark.parametrize(("said", "mb"), [("268435456", 256), ("max", None), ("", None)])
def test_a_container_has_the_memory_of_its_limit(tmp_path: Path, said: str, mb: int | None):
    machine = launch.memory_mb(tmp_path / "missing")
    (tmp_path / "memory.max").write_text(said)

    found = launch.memory_mb(tmp_path / "memory.max")

    assert found == (machine if mb is None else mb)


@pytest.mark.parametrize("end", [embedded.stop, rig.kill_server])
def test_nothing_is_left_of_the_socket_when_the_server_is_gone(data_dir: Path, end: Callable[[Path], object]):
    embedded.ensure(data_dir, rig.QUIET)
    alive = embedded.running(data_dir)
    assert alive is not None

    end(data_dir)
    embedded.stop(data_dir)

    assert not alive.socket_dir.exists()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(data_dir: Path):
    with pytest.raises(EmbeddedBroken, match="ended at once") as broken:
        embedded.ensure(data_dir, replace(rig.QUIET, settings={"shared_buffers": "plenty"}))

    assert 'invalid value for parameter "shared_buffers"' in broken.value.log
    assert "UKAI_DATABASE_URL" in str(broken.value)


def test_an_initdb_that_fails_shows_its_words_and_leaves_no_folder(bare_dir: Path, tmp_path: Path):
    for name, text in (("postgres", "exit 0"), ("initdb", "echo 'could not write: No space left on device'; exit 1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    full = binaries.Binaries(provider="fake", bin=tmp_path, major=18, version="18.6", vector="0.8.6", is_warmed=False)

    with pytest.raises(EmbeddedBroken, match="No space left on device"):
        embedded.ensure(bare_dir, replace(rig.QUIET, found=lambda: [full]))

    assert sorted(p.name for p in bare_dir.parent.iterdir()) == ["postgres.lock", "postgres.used"]


def test_a_place_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(EmbeddedUnfit, match=r"cannot write .*: ") as refused:
        embedded.ensure(tmp_path / "file" / "postgres", rig.QUIET)

    assert "UKAI_DATABASE_URL" in refused.value.hint


def test_a_lock_that_is_held_too_long_is_temporary(bare_dir: Path):
    place = folder.Place(bare_dir)
    place.prepare()

    with place.locked(timeout_s=1), pytest.raises(DatabaseBusy, match="another process"):
        embedded.ensure(bare_dir, replace(rig.QUIET, start_s=0.1))


@as_root
def test_blocked_user_namespaces_end_in_an_error_that_names_the_way_out(bare_dir: Path):
    with pytest.raises(EmbeddedUnfit, match="user namespaces are blocked") as refused:
        embedded.ensure(bare_dir, replace(rig.QUIET, unshare=BLOCKED))

    assert "UKAI_DATABASE_URL" in refused.value.hint
    assert stat.S_IMODE(bare_dir.parent.stat().st_mode) == 0o700
    assert list(bare_dir.parent.glob("*.new-*")) == []


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A folder that every user may enter, as /srv/something is."""
    root = scratch.folder("ukai-open-")
    root.chmod(0o755)
    yield root
    embedded.stop(root / "postgres")
    shutil.rmtree(root, ignore_errors=True)


@as_root
def test_blocked_user_namespaces_are_no_hindrance_where_another_user_can_work(open_root: Path):
    blocked = replace(rig.QUIET, unshare=BLOCKED)
    try:
        url = embedded.ensure(open_root / "postgres", blocked)
    except EmbeddedUnfit:
        pytest.skip("the programs lie where no other user can run them")

    assert rig.execute(url, "select 1") == [(1,)]
    assert Path(f"/proc/{rig.pid_of(open_root / 'postgres')}").stat().st_uid != 0
    assert (open_root.stat().st_uid, stat.S_IMODE(open_root.stat().st_mode)) == (0, 0o755)
    os.kill(rig.pid_of(open_root / "postgres"), signal.SIGKILL)
    assert rig.execute(embedded.ensure(open_root / "postgres", blocked), "select 1") == [(1,)]


@as_root
def test_as_root_the_files_stay_roots(bare_dir: Path):
    embedded.ensure(bare_dir, rig.QUIET)

    assert (bare_dir / "PG_VERSION").stat().st_uid == 0


def test_a_full_server_is_not_taken_for_a_dead_one(data_dir: Path):
    few = replace(rig.QUIET, settings={**rig.FAST, "max_connections": "4", "superuser_reserved_connections": "0"})
    url = embedded.ensure(data_dir, few)
    alive = embedded.running(data_dir)
    assert alive is not None

    with ExitStack() as clients:
        while client := _one_more(alive):
            clients.enter_context(client)
        again = embedded.ensure(data_dir, few)

    assert again == url
    assert rig.pid_of(data_dir) == alive.pid


def _one_more(alive: server.Server) -> psycopg.Connection[tuple[object, ...]] | None:
    try:
        return server.opened(alive.socket_dir)
    except psycopg.OperationalError:
        return None  # full
