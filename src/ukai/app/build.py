"""Which code is running: the stamp that every trace carries (P2.2)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ukai.catalog import git

COMMIT, TREE = "UKAI_BUILD_COMMIT", "UKAI_BUILD_TREE"
"""Set in images, which hold no .git."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """Commit of the repository and hash of the workspace's tree."""

    commit: str
    tree: str
    dirty: bool
    """Files differ from the commit."""


def stamp(root: Path, environ: Mapping[str, str] = os.environ) -> Build | None:
    """The stamp of the workspace at `root`; None outside a repository and without the variables."""
    if environ.get(COMMIT):
        return Build(commit=environ[COMMIT], tree=environ.get(TREE, ""), dirty=False)
    try:
        repository = git.Repository.around(root)
        return Build(commit=repository.commit("HEAD"), tree=repository.tree("HEAD"), dirty=repository.is_dirty())
    except git.GitError:
        return None
