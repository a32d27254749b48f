"""`ukai db` and `ukai doctor` as an operator meets them (X1, X4)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.store import rig
from ukai.app import db, doctor, workspace
from ukai.kit.errors import PermanentError
from ukai.surfaces import cli
from ukai.surfaces.cli import output


@pytest.fixture
def place(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose embedded server is `data_dir`'s."""
    monkeypatch.delenv(db.VARIABLE, raising=False)
    monkeypatch.setenv("UKAI_DATABASE_IDLE_MINUTES", "5")
    root = data_dir.parent.parent
    (root / "ukai.yaml").write_text("database: embedded\n")
    return root


@pytest.fixture
def ukai(capsys: pytest.CaptureFixture[str]):
    def run(*words: object) -> tuple[int, str, str]:
        code = output.guarded(lambda: cli.app([str(word) for word in words]))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_way_of_a_database_from_start_to_restore(place: Path, ukai: Any, tmp_path: Path):
    code, out, err = ukai("db", "status", "-w", place, "--json")
    assert (code, json.loads(out)["running"], err) == (0, False, "")

    code, out, _ = ukai("db", "start", "-w", place, "--json")
    assert (code, json.loads(out)["kind"]) == (0, "embedded")
    _, out, _ = ukai("db", "url", "-w", place)
    url = out.strip()
    rig.execute(url, "create table witness (name text); insert into witness values ('sales')")

    code, out, _ = ukai("db", "dump", tmp_path / "a.dump", "-w", place, "--json")
    assert (code, json.loads(out)["bytes"]) == (0, (tmp_path / "a.dump").stat().st_size)
    code, _, err = ukai("db", "restore", tmp_path / "a.dump", "-w", place)
    assert (code, "--force" in err) == (1, True)
    code, out, _ = ukai("db", "restore", tmp_path / "a.dump", "-w", place, "--force")
    assert (code, "restored from" in out) == (0, True)

    _, out, _ = ukai("db", "status", "-w", place, "--json")
    status = json.loads(out)
    assert (status["running"], status["migration"], status["leftovers"]) == (True, status["newest"], [])
    _, out, _ = ukai("db", "status", "-w", place)
    assert "running      yes" in out
    assert ukai("db", "stop", "-w", place)[:2] == (0, "stopped\n")
    assert ukai("db", "stop", "-w", place)[:2] == (0, "it did not run\n")


def test_the_variable_names_another_database_and_its_password_is_not_shown(
    ukai: Any, database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv(db.VARIABLE, f"{database_url} password=s3cret")

    said = [ukai("db", verb, "-w", tmp_path, "--json") for verb in ("start", "status")]
    said.append(ukai("db", "stop", "-w", tmp_path))

    assert [code for code, _, _ in said] == [0, 0, 1]
    assert all("s3cret" not in out + err for _, out, err in said)
    assert "password=***" in said[1][1]
    assert "s3cret" in ukai("db", "url", "-w", tmp_path)[1]  # asked for


def test_ukai_yaml_may_name_a_variable(place: Path):
    (place / "ukai.yaml").write_text("database: COMPANY_DATABASE\n")

    named = db.site(place, environment={"COMPANY_DATABASE": "postgresql://db/ukai"})

    assert (named.kind, named.named_by, named.url) == ("external", "COMPANY_DATABASE", "postgresql://db/ukai")
    with pytest.raises(PermanentError, match="'COMPANY_DATABASE', which is not set"):
        db.site(place, environment={})


def test_an_address_in_ukai_yaml_is_refused_and_not_repeated(place: Path):
    (place / "ukai.yaml").write_text("name: x\ndatabase: postgresql://kim:s3cret@db/ukai\n")

    with pytest.raises(PermanentError, match=r"ukai\.yaml:2:11: `database` is neither") as refused:
        db.site(place, environment={})

    assert "s3cret" not in str(refused.value)


def test_a_workspace_is_found_from_below_and_missed_with_a_hint(place: Path):
    (place / "agents" / "coach").mkdir(parents=True)

    assert workspace.locate(place / "agents" / "coach") == place
    with pytest.raises(workspace.NoWorkspace, match="ukai init"):
        workspace.locate(place.parent)


async def test_any_verb_gets_a_migrated_database(place: Path):
    async with db.opened(place) as database, database.transaction() as tx:
        assert await tx.value("select count(*) from node") == 0


def test_the_doctor_has_a_line_for_each_check(place: Path, ukai: Any):
    code, out, _ = ukai("doctor", "-w", place, "--json")

    document = json.loads(out)
    checks = {line["check"]: line["state"] for line in document["checks"]}
    assert (code, document["ok"]) == (0, True), document
    assert {"python", "workspace", "disk", "binaries", "server", "vector", "pool"} <= checks.keys()
    assert checks["migrations"] == "warn"  # it looks and does not change
    assert checks["server"] == "ok"


def test_the_doctor_goes_on_after_a_failure_and_ends_with_1(ukai: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("")
    monkeypatch.setenv(db.VARIABLE, f"postgresql://kim:s3cret@/ukai?host={tmp_path}")

    code, out, _ = ukai("doctor", "-w", tmp_path)

    assert code == 1
    assert "ok   python" in out
    assert "fail database         cannot connect to postgresql://kim:***@" in out
    assert "s3cret" not in out


@pytest.mark.parametrize(("free", "state"), [(10 << 30, "ok"), (500 << 20, "warn"), (1 << 20, "fail")])
def test_the_doctor_weighs_the_free_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: str):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: type("Usage", (), {"free": free}))

    (verdict,) = doctor.disk(tmp_path)

    assert verdict.state == state
    assert bool(verdict.hint) == (state != "ok")


def test_the_doctor_sees_a_data_folder_that_is_open_to_others(tmp_path: Path):
    (tmp_path / "ukai.yaml").write_text("")
    (tmp_path / ".ukai").mkdir(mode=0o755)

    _, verdict = doctor.place(tmp_path)

    assert (verdict.state, verdict.hint) == ("warn", f"chmod 700 {tmp_path / '.ukai'}")
