"""Where test servers keep their data: in memory where there is plenty, because a disk shared by many tests is slow."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

_MEMORY = Path("/dev/shm")
_PLENTY = 2 << 30
_OLD_S = 2 * 3600


def folder(prefix: str) -> Path:
    """A new private folder whose name begins with `prefix`; what a killed run left there hours ago goes."""
    root = _MEMORY if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _PLENTY else Path(tempfile.gettempdir())
    for old in root.glob(f"{prefix}*"):
        if time.time() - old.stat().st_mtime > _OLD_S:
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=root)).resolve()
