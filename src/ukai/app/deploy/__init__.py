"""`ukai up --target`: what runs the agents elsewhere, made from their own files and checked against them (P2.1).

One image holds the whole tree; a manifest names it and the variable that picks one agent. A merge deploys: what a
change affects (`ukai affected`) is rolled out, the others keep running.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from ukai.app import files, loading, workspace
from ukai.app.deploy import astropods, compose, dockerfile, kubernetes, slack
from ukai.app.deploy.value import MARK, Image, Service, jobs, service
from ukai.app.engine import NotServed, UnknownAgent
from ukai.catalog import Catalog, git
from ukai.kit.finding import Finding

Make = Callable[[Sequence[Service], Image], Mapping[str, str]]
TARGETS: Mapping[str, Make] = MappingProxyType(
    {
        "compose": compose.manifests,
        "kubernetes": kubernetes.manifests,
        "astropods": astropods.manifests,
        "slack": slack.manifests,
    }
)
FOLDER = "deploy"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything a target needs."""

    target: str
    root: Path
    """The repository: what an image holds."""
    files: Mapping[str, str]
    """Path, relative to the repository, and text."""
    agents: tuple[str, ...]
    findings: tuple[Finding, ...]
    """What would keep it from running, or from being written."""

    @property
    def stale(self) -> list[str]:
        """Files that are not there, or hold something else."""
        return [name for name, text in self.files.items() if _held(self.root / name) != text]

    def as_json(self) -> dict[str, object]:
        """For machines."""
        return {
            "target": self.target,
            "agents": list(self.agents),
            "files": dict(self.files),
            "stale": self.stale,
            "findings": [f.as_json() for f in self.findings],
        }


def plan(path: Path, target: str, *, agents: Sequence[str] = (), image: str = "") -> Plan:
    """What would be written for `target`, for the agents named or all that are served.

    Raises UnknownAgent, NotServed, BrokenConfiguration.
    """
    root = workspace.locate(path)
    loaded = loading.whole(root)
    catalog = loaded.catalog
    chosen = tuple(agents) or tuple(sorted(a for a in catalog.agents if not loaded.blocking(a)))
    for name in chosen:
        if loaded.blocking(name):
            raise NotServed(f"the agent {name!r} is not served: {loaded.blocking(name)[0]}")
        if name not in catalog.agents:
            raise UnknownAgent(name, sorted(catalog.agents))
    top, prefix = _repository(root)
    services = [service(catalog, catalog.agents[name]) for name in chosen]
    held_in = Image(
        name=image or f"ukai-{catalog.settings.company or root.name}",
        context=os.path.relpath(top, root / FOLDER),
        dockerfile=dockerfile.FILE,
    )
    made = dict(TARGETS[target](services, held_in))
    if target == "kubernetes" and not agents:
        made |= kubernetes.jobs(jobs(catalog), held_in)
    texts = {str(Path(prefix, FOLDER, name)): text for name, text in made.items()}
    if made and not (top / dockerfile.FILE).exists():
        texts[dockerfile.FILE] = dockerfile.of_package(version("ukai"), workspace=prefix or ".")
    if made and not (top / dockerfile.IGNORE).exists():
        texts[dockerfile.IGNORE] = dockerfile.IGNORED
    found = (*_reachable(catalog), *_foreign(top, texts), *([] if made else [_nothing(target)]))
    return Plan(target=target, root=top, files=texts, agents=chosen, findings=tuple(found))


def write(made: Plan) -> list[str]:
    """Write what is stale; the names. Nothing is written over that `ukai up` did not make."""
    written = made.stale
    for name in written:
        files.write(made.root / name, made.files[name])
    return written


def _repository(root: Path) -> tuple[Path, str]:
    try:
        repository = git.Repository.around(root)
    except git.GitError:
        return root, ""
    return repository.top, repository.prefix.rstrip("/")


def _held(file: Path) -> str | None:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def _reachable(catalog: Catalog) -> list[Finding]:
    if catalog.settings.login is not None:
        return []
    return [
        Finding(
            code="no_login",
            severity="warning",
            where="ukai.yaml:1:1",
            message="a container is reached from outside, and nothing here says who asks",
            expected="login: {issuer: .., audience: .., keys: ..}",
            hint="configure `login:` in ukai.yaml; without it the server refuses to listen there",
        )
    ]


def _nothing(target: str) -> Finding:
    return Finding(
        code="nothing_to_make",
        severity="note",
        where="agents:1:1",
        message=f"none of the agents has anything to make for {target}",
        hint="write `channels: [.., slack]` in the SKILL.md of an agent" if target == "slack" else "add an agent",
    )


def _foreign(top: Path, texts: Mapping[str, str]) -> list[Finding]:
    found: list[Finding] = []
    for name in texts:
        held = _held(top / name)
        if held is not None and not held.startswith(MARK):
            found.append(
                Finding(
                    code="not_ours",
                    where=f"{name}:1:1",
                    message="this file was not made by `ukai up`, or was changed since",
                    expected=MARK.strip(),
                    received=held.split("\n", 1)[0][:80],
                    hint="move it away, or keep it and leave out --write",
                )
            )
    return found
