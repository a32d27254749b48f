"""A server that outlives its users stops by itself (X1)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psycopg

from tests.store import rig
from ukai.store import embedded, folder, watcher

HALF_A_SECOND = replace(rig.QUIET, idle_minutes=0.5 / 60)
LONG = replace(rig.QUIET, idle_minutes=10)


def _is_stopped(data_dir: Path) -> bool:
    """Seen from outside: a look through a connection would be a use."""
    return not (data_dir / "postmaster.pid").exists()


def test_a_server_nobody_uses_is_stopped_and_the_watcher_ends(data_dir: Path):
    embedded.ensure(data_dir, HALF_A_SECOND)

    rig.eventually(lambda: _is_stopped(data_dir))
    rig.eventually(lambda: not rig.watchers(data_dir))

    assert "database system is shut down" in folder.Place(data_dir).log_file.read_text()


def test_a_server_with_a_client_stays(data_dir: Path):
    url = embedded.ensure(data_dir, HALF_A_SECOND)

    with psycopg.connect(url, autocommit=True) as client:
        client.execute("select pg_sleep(2)")
        assert client.execute("select 1").fetchone() == (1,)

    rig.eventually(lambda: _is_stopped(data_dir))


def test_a_watcher_that_was_killed_is_replaced_at_the_next_join(data_dir: Path):
    embedded.ensure(data_dir, LONG)
    pid = rig.pid_of(data_dir)
    rig.eventually(lambda: embedded.is_watched(data_dir))
    (killed,) = rig.watchers(data_dir)
    os.kill(killed, signal.SIGKILL)
    rig.eventually(lambda: not embedded.is_watched(data_dir))

    embedded.ensure(data_dir, LONG)

    rig.eventually(lambda: embedded.is_watched(data_dir))
    assert rig.pid_of(data_dir) == pid
    assert rig.watchers(data_dir) != [killed]


def test_a_watcher_follows_its_server_over_a_restart(data_dir: Path):
    embedded.ensure(data_dir, HALF_A_SECOND)
    rig.eventually(lambda: embedded.is_watched(data_dir))
    os.kill(rig.pid_of(data_dir), signal.SIGKILL)

    embedded.ensure(data_dir, HALF_A_SECOND)

    rig.eventually(lambda: _is_stopped(data_dir))


def test_a_watcher_does_not_give_up_its_place_while_a_server_lives(data_dir: Path):
    embedded.ensure(data_dir, rig.QUIET)
    place = folder.Place(data_dir)
    fd = os.open(place.watch_file, os.O_RDWR | os.O_CREAT, 0o600)

    while_it_lives = watcher._over(place, fd)
    embedded.stop(data_dir)
    afterwards = watcher._over(place, fd)

    assert (while_it_lives, afterwards) == (False, True)


def test_many_joins_have_one_watcher(data_dir: Path):
    for _ in range(5):
        embedded.ensure(data_dir, LONG)
    rig.eventually(lambda: embedded.is_watched(data_dir))

    rig.eventually(lambda: len(rig.watchers(data_dir)) == 1)


def test_stopping_the_server_ends_the_watcher(data_dir: Path):
    url = embedded.ensure(data_dir, LONG)
    looks_on = "select 1 from pg_stat_activity where application_name = 'ukai lifecycle' and state = 'idle'"
    rig.eventually(lambda: rig.execute(url, looks_on))

    embedded.stop(data_dir)

    rig.eventually(lambda: not rig.watchers(data_dir))


def test_nothing_that_was_started_holds_the_callers_streams(data_dir: Path):
    caller = rig.ensured_elsewhere(data_dir, idle_minutes=10)

    out, err = caller.communicate(timeout=60)  # returns at the end of both streams, not of the process

    assert out.strip() == embedded.running(data_dir).url  # type: ignore[union-attr]
    assert err == ""


def test_the_watcher_cannot_be_led_astray_by_files_where_the_caller_stands(data_dir: Path, tmp_path: Path):
    (tmp_path / "psycopg.py").write_text("raise SystemExit('led astray')")
    code = (
        "import sys; sys.path.pop(0); from pathlib import Path; from ukai.store import embedded; "
        f"embedded.ensure(Path({str(data_dir)!r}))"
    )

    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

    rig.eventually(lambda: embedded.is_watched(data_dir))
