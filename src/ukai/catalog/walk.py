"""The files of a tree, found without being led astray: no link out, no loop, no pipe, no file beyond its size."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ukai.kit import document
from ukai.kit.finding import Finding

MAX_FILES = 20_000
"""Of one tree. Whoever lints a home folder by mistake is told instead of kept waiting."""
MAX_DEPTH = 24
SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "dist", "build"})
HIDDEN_BUT_READ = frozenset({".claude", ".agents"})
"""Where other tools keep skills."""


@dataclass(frozen=True, kw_only=True)
class File:
    """One regular file."""

    path: str
    """Relative to the root, with slashes: how people see it."""
    real: Path


@dataclass(frozen=True, kw_only=True)
class Tree:
    """What was found, in the order of names."""

    files: tuple[File, ...]
    folders: tuple[str, ...]
    findings: tuple[Finding, ...]


def walk(root: Path, *, enter: Callable[[str], bool] = lambda path: True) -> Tree:
    """Files and folders under `root`. `enter(relative path)` says whether a folder is looked into."""
    walker = _Walker(root, enter)
    walker.folder(root, "", frozenset(), 0)
    return Tree(files=tuple(walker.files), folders=tuple(walker.folders), findings=tuple(walker.findings))


def read(file: File) -> tuple[bytes | None, list[Finding]]:
    """The bytes of a file; what keeps them from being read is a finding."""
    try:
        with file.real.open("rb") as stream:
            # One byte more than is allowed: `document` then says so, and no more is held in memory.
            return stream.read(document.MAX_BYTES + 1), []
    except OSError as error:
        return None, [_unreadable(file.path, error)]


def _unreadable(path: str, error: OSError) -> Finding:
    return Finding(
        code="unreadable",
        where=f"{path}:1:1",
        message=f"it cannot be read: {error.strerror or type(error).__name__}",
        expected="a readable file or folder",
        hint="check its permissions, or remove it",
    )


class _Walker:
    def __init__(self, root: Path, enter: Callable[[str], bool]) -> None:
        self.enter = enter
        self.inside = root.resolve()
        self.files: list[File] = []
        self.folders: list[str] = []
        self.findings: list[Finding] = []
        self.full = False

    def refuse(self, code: str, path: str, message: str, *, expected: str, hint: str, received: str = "") -> None:
        self.findings.append(
            Finding(code=code, where=f"{path}:1:1", message=message, expected=expected, received=received, hint=hint)
        )

    def folder(self, folder: Path, prefix: str, above: frozenset[tuple[int, int]], depth: int) -> None:
        try:
            status = folder.stat()
            with os.scandir(folder) as entries:
                names = sorted(entries, key=lambda e: e.name)
        except OSError as error:
            self.findings.append(_unreadable(prefix or ".", error))
            return
        here = (status.st_dev, status.st_ino)
        if here in above or depth > MAX_DEPTH:
            self.refuse(
                "symlink_loop" if here in above else "too_deep",
                prefix,
                "the folder leads back into itself" if here in above else "folders are nested too deeply",
                expected=f"at most {MAX_DEPTH} folders inside one another",
                hint="remove the link" if here in above else "flatten the tree",
            )
            return
        self.same_but_for_case([e.name for e in names], prefix)
        for entry in names:
            if self.full:
                return
            self.entry(entry, prefix, above | {here}, depth)

    def entry(self, entry: os.DirEntry[str], prefix: str, above: frozenset[tuple[int, int]], depth: int) -> None:
        shown = entry.name.encode("utf-8", "replace").decode()
        path = f"{prefix}/{shown}" if prefix else shown
        try:
            mode = entry.stat().st_mode
        except OSError as error:
            if entry.is_symlink() and self.wanted(path, shown, folder=False):
                self.refuse(
                    "symlink_broken",
                    path,
                    f"the link leads nowhere: {error.strerror}",
                    expected="a link to a file inside the workspace",
                    hint="remove the link",
                )
            return
        folder = stat.S_ISDIR(mode)
        if not self.wanted(path, shown, folder=folder):
            return
        if shown != entry.name:
            self.refuse("name_encoding", path, "the name is not UTF-8", expected="UTF-8", hint="rename it")
            return
        if entry.is_symlink() and not self.stays_inside(Path(entry.path)):
            self.refuse(
                "symlink_outside",
                path,
                "the link leads out of the tree and is not followed",
                expected="a link to a place inside the tree",
                received=str(Path(entry.path).resolve()),
                hint="copy what it points at into the tree, or remove the link",
            )
            return
        if folder:
            self.folders.append(path)
            self.folder(Path(entry.path), path, above, depth + 1)
        elif stat.S_ISREG(mode):
            self.files.append(File(path=path, real=Path(entry.path)))
            if len(self.files) >= MAX_FILES:
                self.full = True
                self.refuse(
                    "too_many_files",
                    path,
                    f"more than {MAX_FILES} files; the rest is not read",
                    expected=f"at most {MAX_FILES} files",
                    hint="name a smaller folder",
                )
        else:
            self.refuse(
                "not_a_file",
                path,
                "it is neither a file nor a folder",
                expected="a regular file",
                hint="remove it",
            )

    def wanted(self, path: str, name: str, *, folder: bool) -> bool:
        if not folder:
            return not name.startswith(".")
        if name in SKIPPED or (name.startswith(".") and name not in HIDDEN_BUT_READ):
            return False
        return self.enter(path)

    def stays_inside(self, link: Path) -> bool:
        try:
            return link.resolve(strict=True).is_relative_to(self.inside)
        except (OSError, RuntimeError):  # Python 3.11 raises RuntimeError for a loop of links
            return False

    def same_but_for_case(self, names: list[str], prefix: str) -> None:
        for first, second in _collisions(names):
            path = f"{prefix}/{second}" if prefix else second
            self.refuse(
                "same_but_for_case",
                path.encode("utf-8", "replace").decode(),
                f"{second!r} and {first!r} are one file on some machines",
                expected="names that differ in more than case",
                received=second,
                hint="rename one of them",
            )


def _collisions(names: list[str]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for name in names:
        key = unicodedata.normalize("NFC", name).casefold()
        if key in seen:
            yield seen[key], name
        seen.setdefault(key, name)
