"""The database that a benchmark measures on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ukai import store


@contextmanager
def server(url: str, data: str = "") -> Generator[str]:
    """The URL given, or that of a server of its own with the settings that people get.

    Its folder is gone afterwards, unless it is `data`: there the next run finds what this one loaded.
    """
    if url:
        yield url
        return
    root = Path(data or tempfile.mkdtemp(prefix="ukai-bench-")).absolute()
    data_dir = root / "postgres"
    try:
        yield store.embedded.ensure(data_dir)
    finally:
        store.embedded.stop(data_dir)
        if not data:
            shutil.rmtree(root, ignore_errors=True)
