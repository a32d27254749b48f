"""Which file of a monorepo is what: by its place in a workspace, by its name and its keys anywhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "settings",
    "models",
    "templates",
    "agent",
    "family",
    "guardrail",
    "report",
    "skill",
    "own_tools",
    "shared_tools",
    "access",
    "domain",
    "workflow",
    "connector",
    "case",
    "template",
]

MARKER = "ukai.yaml"
TOP = (
    "agents",
    "families",
    "guardrails",
    "tools",
    "evals",
    "access",
    "domains",
    "workflows",
    "connectors",
    "templates",
)
"""The folders of a workspace that are read."""

_N = r"[^/]+"
PLACES: tuple[tuple[Kind, str], ...] = (
    ("settings", r"ukai\.yaml"),
    ("models", r"models\.yaml"),
    ("templates", r"templates\.yaml"),
    ("agent", rf"agents/(?P<owner>{_N})/SKILL\.md"),
    ("own_tools", rf"agents/(?P<owner>{_N})/tools\.py"),
    ("skill", rf"agents/(?P<owner>{_N})/skills/(?P<name>{_N})/SKILL\.md"),
    ("report", rf"agents/(?P<owner>{_N})/reports/(?P<name>{_N})\.md"),
    ("case", rf"agents/(?P<owner>{_N})/cases/(?P<name>{_N})\.yaml"),
    ("case", rf"evals/(?P<name>{_N})\.yaml"),
    ("family", rf"families/(?P<name>{_N})/FAMILY\.md"),
    ("guardrail", rf"guardrails/(?P<name>{_N})\.md"),
    ("shared_tools", rf"tools/(?P<name>{_N})\.py"),
    ("access", rf"access/(?P<name>(?:field_policies/)?{_N}\.yaml)"),
    ("domain", rf"domains/(?P<name>{_N})\.yaml"),
    ("workflow", rf"workflows/(?P<name>{_N})\.yaml"),
    ("connector", rf"connectors/(?P<name>{_N})\.yaml"),
    ("template", rf"templates/(?P<owner>{_N})/(?P<name>{_N})\.md\.j2"),
)
_Table = tuple[tuple[Kind, re.Pattern[str]], ...]
_IN_WORKSPACE: _Table = tuple((kind, re.compile(pattern)) for kind, pattern in PLACES)
_LOOSE_KINDS = frozenset({"agent", "own_tools", "skill", "report", "family", "guardrail"})
_ANYWHERE: _Table = tuple((kind, re.compile(rf"(?:.*/)?{pattern}")) for kind, pattern in PLACES if kind in _LOOSE_KINDS)

NATIVE_KEYS = frozenset(
    {"max_iterations", "channels", "acl_enforcement", "family", "scope_bound_retrieval", "field_policy", "output"}
)
"""Keys that only an agent's manifest has; `model` and `tools` are other clients' words too."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a path says about its file."""

    kind: Kind
    name: str = ""
    """From the path: the agent's, guardrail's, family's, report's name."""
    owner: str = ""
    """The agent it lies under."""


def in_workspace(path: str) -> Place | None:
    """The kind of a file of a workspace, by its place alone."""
    return _first(path, _IN_WORKSPACE)


def anywhere(path: str, root_name: str) -> Place | None:
    """The kind of a file of any tree, by its place and name; what `by_keys` may know better."""
    parts = path.split("/")
    if parts[-1].casefold() == "readme.md":
        return None
    found = _first(path, _ANYWHERE)
    if found is None and parts[-1] == "SKILL.md":
        found = Place(kind="skill", name=parts[-2] if len(parts) > 1 else root_name)
    if found is None and parts[-1] in ("GUARDRAIL.md", "FAMILY.md"):
        found = Place(kind="guardrail" if parts[-1] == "GUARDRAIL.md" else "family")
    return found


def by_keys(data: Mapping[str, Any], path: str, before: Place | None) -> Place | None:
    """What the front matter of a markdown file adds to what its place said."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    if before is None:
        if "verdict_type" in data:
            return Place(kind="guardrail", name="" if stem == "GUARDRAIL" else stem)
        return Place(kind="report", name=stem) if "cron" in data else None
    metadata: Any = data.get("metadata")
    portable = isinstance(metadata, dict) and any(f"ukai.{k}" in metadata for k in NATIVE_KEYS)
    if before.kind == "skill" and not before.owner and (portable or NATIVE_KEYS & data.keys()):
        return Place(kind="agent", name=before.name, owner=before.name)
    return before


def _first(path: str, table: _Table) -> Place | None:
    for kind, pattern in table:
        if match := pattern.fullmatch(path):
            groups = match.groupdict()
            owner = groups.get("owner") or ""
            return Place(kind=kind, name=groups.get("name") or owner, owner=owner)
    return None
