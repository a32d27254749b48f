"""`ukai export AGENT`: the agent's folder in the open Agent Skills format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ukai.app import info, workspace
from ukai.catalog import export as exporting
from ukai.catalog import portable
from ukai.kit import document
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding

FORMATS = ("agent-skills",)


class NotEmpty(PermanentError):
    """There is something at the place to write to."""

    hint = "Name a folder that does not exist yet"


@dataclass(frozen=True, kw_only=True)
class Exported:
    """The files, and what the format still objects to."""

    agent: str
    files: Mapping[str, bytes]
    findings: tuple[Finding, ...]

    @property
    def manifest(self) -> str:
        """The SKILL.md."""
        return self.files["SKILL.md"].decode()

    def as_json(self) -> dict[str, Any]:
        """Files as text, and the findings."""
        return {
            "agent": self.agent,
            "files": {path: raw.decode("utf-8", "replace") for path, raw in self.files.items()},
            "findings": [f.as_json() for f in self.findings],
        }


def export(path: Path, agent: str) -> Exported:
    """The folder of `agent` in the workspace around `path`. Raises UnknownAgent, NoWorkspace, AgentRefused."""
    root = workspace.locate(path)
    loaded = info.loaded(root, agent)
    files = exporting.files(root, loaded.catalog, agent)
    doc, _ = document.read_front_matter(files["SKILL.md"], name="SKILL.md")
    found = portable.check(doc, folder=agent) if doc else []
    return Exported(agent=agent, files=files, findings=tuple(found))


def write(exported: Exported, folder: Path) -> list[Path]:
    """The files under `folder`/<agent>. Raises NotEmpty; nothing is ever overwritten."""
    target = folder / exported.agent
    if target.exists():
        raise NotEmpty(f"{str(target)!r} is there already")
    written: list[Path] = []
    for inner, raw in exported.files.items():
        path = target / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        written.append(path)
    return written
