"""`ukai codeowners`: the file that tells a code host who must agree to which change (P1.9)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ukai.app import files, loading, workspace
from ukai.catalog import git, owners


@dataclass(frozen=True, kw_only=True)
class Codeowners:
    """The text, where it belongs, and whether it stands there."""

    text: str
    file: Path
    is_current: bool
    without_owner: tuple[str, ...]
    """Agents that `owners` gives to no team: they fall to the platform."""


def codeowners(path: Path) -> Codeowners:
    """What the file of the repository around the workspace should hold."""
    root = workspace.locate(path)
    loaded = loading.load(root).catalog
    folder = root / "agents"
    agents = sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    try:
        repository = git.Repository.around(root)
        top, prefix = repository.top, repository.prefix
    except git.GitError:
        top, prefix = root, ""
    text = owners.codeowners(loaded.settings.owners, agents, prefix=prefix)
    file = owners.place(top)
    current = file.is_file() and file.read_text(encoding="utf-8", errors="replace") == text
    unowned = tuple(a for a in agents if a not in loaded.settings.owners.agents)
    return Codeowners(text=text, file=file, is_current=current, without_owner=unowned)


def write(found: Codeowners) -> None:
    """Put the text in its place."""
    found.file.parent.mkdir(parents=True, exist_ok=True)
    files.write(found.file, found.text)
