"""The order of the suite: long files first."""

from __future__ import annotations

from pathlib import Path

from tests import conftest


def test_every_file_that_runs_first_is_there():
    assert [name for name in conftest.LONG if not (Path(conftest.__file__).parent / name).is_file()] == []
