"""`ukai lint`: every problem of a workspace, or of any tree of agent files, at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai.app import loading, workspace
from ukai.catalog import portable
from ukai.catalog.value import ordered, path_of
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors


class NoSuchPath(PermanentError):
    """There is nothing at the path."""

    hint = "Name a workspace, a folder or a file"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was found, and in how many files."""

    findings: tuple[Finding, ...]
    files: int

    @property
    def failed(self) -> bool:
        """Whether anything is an error."""
        return bool(errors(self.findings))

    def as_json(self) -> dict[str, Any]:
        """`{"findings": [..], "files": n}`."""
        return {"findings": [f.as_json() for f in self.findings], "files": self.files}


def lint(path: Path, *, keep_portable: bool = False) -> Report:
    """Lint the workspace around `path`, told for what lies under it; without a workspace, the tree at `path`.

    `keep_portable` holds every SKILL.md against the six-key rules of the open Agent Skills format as well.
    Raises NoSuchPath.
    """
    if not path.exists():
        raise NoSuchPath(f"there is nothing at {str(path)!r}")
    target = path.resolve()
    try:
        root = workspace.locate(target if target.is_dir() else target.parent)
    except workspace.NoWorkspace:
        root = target if target.is_dir() else target.parent
    loaded = loading.load(root)
    findings = list(loaded.findings)
    if keep_portable:
        findings += portable.findings(root)
    within = target.relative_to(root).as_posix()
    if within != ".":
        findings = [f for f in findings if path_of(f) == within or path_of(f).startswith(within + "/")]
    if not loaded.files:
        findings.append(
            Finding(
                code="nothing_to_lint",
                where=f"{target.name or target}:1:1",
                message="there is no file of a workspace, an agent or a skill here",
                expected="a folder with ukai.yaml, SKILL.md or GUARDRAIL.md somewhere below it",
                hint="name another path; `ukai init` makes a workspace",
            )
        )
    return Report(findings=ordered(findings), files=loaded.files)
