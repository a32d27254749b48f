"""The database that a benchmark measures on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ukai import store


@contextmanager
def server(url: str) -> Generator[str]:
    """The URL given, or that of a server of its own with the settings that people get, gone afterwards."""
    if url:
        yield url
        return
    root = Path(tempfile.mkdtemp(prefix="ukai-bench-"))
    data_dir = root / "postgres"
    try:
        yield store.embedded.ensure(data_dir)
    finally:
        store.embedded.stop(data_dir)
        shutil.rmtree(root, ignore_errors=True)
