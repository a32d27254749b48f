"""What a verb writes appears whole or not at all; what stops a verb is told in the way that was asked for (X3)."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from ukai.app import files, new
from ukai.surfaces import cli
from ukai.surfaces.cli import output


def test_a_full_disk_leaves_no_half_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "ukai.yaml").write_text("company: harbor\n")
    written = Path.write_text

    def full(path: Path, text: str, **how: str) -> int:
        written(path, text[:9], **how)
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        new.new(tmp_path, "agent", "helper")

    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["ukai.yaml"]


def test_a_file_that_was_there_outlives_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "CODEOWNERS"
    files.write(place, "old\n")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "bad disk")))

    with pytest.raises(OSError, match="bad disk"):
        files.write(place, "new\n")

    assert place.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [place]


def test_a_verb_that_is_stopped_says_so_in_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["info", "nobody", "--workspace", str(tmp_path / "nowhere"), "--json"]

    code = output.guarded(lambda: cli.app(words), words)

    said = capsys.readouterr()
    (finding,) = json.loads(said.out)["findings"]
    assert code == output.REFUSED
    assert finding["code"] == "not_done"
    assert finding["message"] in said.err
    assert finding["hint"]
