"""Where the workspace is: the folder with `ukai.yaml`, and its folder for this machine's data."""

from __future__ import annotations

from pathlib import Path

from ukai.kit.errors import PermanentError

MARKER = "ukai.yaml"
LOCAL = ".ukai"


class NoWorkspace(PermanentError):
    """There is no `ukai.yaml` here or above."""

    hint = "`ukai init` makes a workspace; --workspace names one"


def locate(path: Path) -> Path:
    """The nearest folder with `ukai.yaml`, from `path` upwards, as an absolute path. Raises NoWorkspace."""
    start = path.expanduser().resolve()
    for folder in (start, *start.parents):
        if (folder / MARKER).is_file():
            return folder
    raise NoWorkspace(f"no {MARKER} in {str(start)!r} or above it")


def local(workspace: Path) -> Path:
    """The folder for data of this machine: never in git, for its owner only. Made when missing."""
    folder = workspace / LOCAL
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
