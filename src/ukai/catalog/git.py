"""What git knows about a workspace: its commit, what changed, and how it looked at another commit."""

from __future__ import annotations

import os
import subprocess  # git is the interface: no library reads a repository as it does
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ukai.catalog import kinds
from ukai.kit import document
from ukai.kit.errors import PermanentError

TIMEOUT_S = 60


class GitError(PermanentError):
    """git is not there, this is no repository, or a revision is unknown."""

    hint = "Run this inside a git repository, with a commit that it has"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One changed file, its path relative to the workspace."""

    status: str
    """`added`, `changed`, `deleted`, `renamed`."""
    path: str
    before: str = ""
    """The former path of a renamed file; empty when it lay outside the workspace."""


_STATUS = {"A": "added", "M": "changed", "D": "deleted", "R": "renamed", "C": "added", "T": "changed"}


@dataclass(frozen=True, kw_only=True)
class Repository:
    """The repository around a workspace."""

    top: Path
    prefix: str
    """The workspace inside it, with a final slash; empty at its top."""

    @staticmethod
    def around(root: Path) -> Repository:
        """The repository that `root` lies in. Raises GitError."""
        top = Path(_run(["rev-parse", "--show-toplevel"], root).decode().strip())
        inner = root.resolve().relative_to(top.resolve()).as_posix()
        return Repository(top=top, prefix="" if inner == "." else inner + "/")

    def commit(self, revision: str) -> str:
        """The full hash of a revision. Raises GitError."""
        try:
            # --verify takes one revision and no option; the suffix turns a tag into its commit.
            out = _run(["rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"], self.top)
        except GitError as error:
            raise GitError(f"no revision is named {revision!r}") from error
        return out.decode().strip()

    def tree(self, revision: str) -> str:
        """The hash of the workspace's tree at a revision; empty when it was not there."""
        place = f"{self.commit(revision)}:{self.prefix.rstrip('/')}"
        try:
            return _run(["rev-parse", "--verify", "--quiet", place], self.top).decode().strip()
        except GitError:
            return ""

    def is_dirty(self) -> bool:
        """Whether files of the workspace differ from the commit, untracked ones included."""
        return bool(_run(["status", "--porcelain", "-z", "--", self.prefix or "."], self.top))

    def changes(self, since: str, until: str | None) -> list[Change]:
        """What differs between two revisions; without `until` what stands in the folder now, untracked included."""
        revisions = [self.commit(since), *([self.commit(until)] if until else [])]
        out = _run(["diff", "--name-status", "-M", "-z", *revisions, "--", self.prefix or "."], self.top)
        found = self._parsed(out.decode("utf-8", "replace").split("\0"))
        if until is None:
            new = _run(["ls-files", "--others", "--exclude-standard", "-z", "--", self.prefix or "."], self.top)
            found += [
                Change(status="added", path=self._inner(p)) for p in new.decode("utf-8", "replace").split("\0") if p
            ]
        return sorted(found, key=lambda c: c.path)

    def _parsed(self, parts: list[str]) -> list[Change]:
        found: list[Change] = []
        rest = iter(parts)
        for status in rest:
            if not status:
                continue
            first = next(rest)
            if status[0] in "RC":
                second = next(rest)
                before = self._inner(first) if status[0] == "R" and first.startswith(self.prefix) else ""
                found.append(Change(status=_STATUS[status[0]], path=self._inner(second), before=before))
            else:
                found.append(Change(status=_STATUS.get(status[0], "changed"), path=self._inner(first)))
        return found

    def _inner(self, path: str) -> str:
        return path.removeprefix(self.prefix)

    def write_tree(self, revision: str, folder: Path) -> None:
        """The workspace's own files at a revision, written under `folder`. Links and huge files are left out."""
        listed = _run(["ls-tree", "-r", "-l", "-z", self.commit(revision), "--", self.prefix or "."], self.top)
        wanted: list[tuple[str, str]] = []
        for line in listed.decode("utf-8", "replace").split("\0"):
            head, tab, path = line.partition("\t")
            fields = head.split()
            if not tab or len(fields) != 4 or not fields[0].startswith("100") or int(fields[3]) > document.MAX_BYTES:
                continue
            inner = self._inner(path)
            if kinds.in_workspace(inner) and ".." not in PurePosixPath(inner).parts:
                wanted.append((fields[2], inner))
        contents = _batch([blob for blob, _ in wanted], self.top)
        for (_, inner), raw in zip(wanted, contents, strict=True):
            target = folder / inner
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)


def _batch(blobs: list[str], top: Path) -> list[bytes]:
    out = _run(["cat-file", "--batch"], top, given="".join(f"{b}\n" for b in blobs).encode())
    found: list[bytes] = []
    at = 0
    for _ in blobs:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[2])
        found.append(out[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return found


def _run(arguments: list[str], folder: Path, *, given: bytes = b"") -> bytes:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotepath=off", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program; revisions come from `commit` alone
            command, cwd=folder, env=environment, input=given, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed, or the folder is gone") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git took longer than {TIMEOUT_S} s") from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(told[0] if told else f"git {arguments[0]} found nothing for {arguments[-1]!r}")
    return done.stdout
