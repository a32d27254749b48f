"""Credentials of tools: encrypted, bound to a principal and a tool, never another's (P3.4)."""

from __future__ import annotations

import asyncio
import base64
import stat
from pathlib import Path

import pytest

from tests.runtime import turns
from ukai import store
from ukai.app import doctor
from ukai.kit.clock import FixedClock
from ukai.runtime import credentials
from ukai.runtime.credentials import BadKey, NotConnected, OpenKey, Vault

ANN, BEN = turns.ANN, "ben@x.example"


def vault(db: store.Database, key: bytes = b"k" * 32) -> Vault:
    return Vault(db=db, key=key, clock=FixedClock(turns.NOW))


async def test_two_principals_and_a_thousand_calls_between_each_other_never_cross(database: store.Database):
    made = vault(database)
    for who in (ANN, BEN):
        await made.keep(who, "crm", f"secret of {who}")

    async def call(who: str) -> None:
        assert await made.get(who, "crm") == f"secret of {who}"

    await asyncio.gather(*(call((ANN, BEN)[n % 2]) for n in range(1_000)))


async def test_a_secret_stands_nowhere_in_the_clear_and_in_no_repr(database: store.Database):
    made = vault(database)
    await made.keep(ANN, "crm", "hunter2-hunter2")

    async with database.transaction() as tx:
        (row,) = await tx.fetch("select principal, tool, sealed from tool_credential")

    assert b"hunter2" not in bytes(row[2])
    assert "kkkk" not in repr(made)
    assert await made.listed(ANN) == [("crm", turns.NOW)]


@pytest.mark.parametrize("columns", ["principal = 'ben@x.example'", "tool = 'mail'"])
async def test_a_row_that_is_moved_to_another_name_does_not_open(database: store.Database, columns: str):
    made = vault(database)
    await made.keep(ANN, "crm", "x")

    async with database.transaction() as tx:
        await tx.execute(f"update tool_credential set {columns}")

    who, tool = (BEN, "crm") if "principal" in columns else (ANN, "mail")
    with pytest.raises(BadKey, match="does not open"):
        await made.get(who, tool)


async def test_another_key_opens_nothing_and_what_is_dropped_is_gone(database: store.Database):
    made = vault(database)
    await made.keep(ANN, "crm", "old")
    await made.keep(ANN, "crm", "new")

    with pytest.raises(BadKey):
        await vault(database, b"j" * 32).get(ANN, "crm")
    assert await made.get(ANN, "crm") == "new"
    assert await made.drop(ANN, "crm")
    assert not await made.drop(ANN, "crm")
    with pytest.raises(NotConnected):
        await made.get(ANN, "crm")


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path):
    first = credentials.key(tmp_path, {})

    assert credentials.key(tmp_path, {}) == first
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / credentials.KEY_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"c2hvcnQ=\n"])
def test_a_key_file_that_holds_no_key_is_told_as_such(tmp_path: Path, raw: bytes):
    (tmp_path / credentials.KEY_FILE).write_bytes(raw)
    (tmp_path / credentials.KEY_FILE).chmod(0o600)

    with pytest.raises(BadKey, match=f"key in .*{credentials.KEY_FILE}") as caught:
        credentials.key(tmp_path, {})
    assert not isinstance(caught.value, OpenKey)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_key_file_that_others_can_read_or_write_is_not_used(tmp_path: Path, mode: int):
    credentials.key(tmp_path, {})
    file = tmp_path / credentials.KEY_FILE
    file.chmod(mode)

    with pytest.raises(OpenKey, match=f"chmod 600 {file}"):
        credentials.key(tmp_path, {})
    file.chmod(0o400)
    assert credentials.key(tmp_path, {})


def test_the_doctor_says_that_the_key_is_open_and_how_to_close_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(credentials.KEY_VARIABLE, raising=False)
    (tmp_path / "ukai.yaml").write_text("")
    (tmp_path / ".ukai").mkdir()
    none_yet = list(doctor.secret(tmp_path))
    credentials.key(tmp_path / ".ukai", {})
    (closed,) = doctor.secret(tmp_path)
    (tmp_path / ".ukai" / credentials.KEY_FILE).chmod(0o644)
    (wide,) = doctor.secret(tmp_path)

    assert (none_yet, closed.state, wide.state) == ([], "ok", "fail")
    assert "open to others (644)" in wide.said
    assert wide.hint == f"`chmod 600 {tmp_path / '.ukai' / credentials.KEY_FILE}`"


def test_a_key_of_the_environment_comes_first_and_has_its_length(tmp_path: Path):
    given = base64.b64encode(b"e" * 32).decode()

    assert credentials.key(tmp_path, {"UKAI_SECRET_KEY": given}) == b"e" * 32
    assert not (tmp_path / credentials.KEY_FILE).exists()
    for bad in ("short", base64.b64encode(b"x").decode(), "not base64!"):
        with pytest.raises(BadKey) as caught:
            credentials.key(tmp_path, {"UKAI_SECRET_KEY": bad})
        assert bad not in str(caught.value)
