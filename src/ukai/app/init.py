"""`ukai init DIR`: a small workspace that lints clean and denies by default."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from ukai.app import files
from ukai.kit.errors import PermanentError

_UKAI = """\
# What this workspace says about itself. Every file: docs/reference/workspace.md
company: {company}
local_principal: ann@example.com     # who you are on this machine
database: embedded                   # or the NAME of an environment variable that holds a URL
retention: {{runs: 400d, compositions: 90d}}
# owners: {{agents: {{helper: "@your-team"}}, guardrails: "@managers", access: "@it", platform: "@platform"}}
"""
_MODELS = """\
# One place that says which model a name stands for. `extractive` needs no key and only quotes what it found.
aliases: {"<medium-frontier-model>": extractive, "<small-fast-model>": extractive}
# models: {big: {use: "anthropic:NAME", key: ANTHROPIC_API_KEY}}
"""
_AGENT = """\
---
name: helper
description: Answers questions from the company's own records, and says where each answer comes from.
model: <medium-frontier-model>
channels: [cli, web]
field_policy: everyday
---

## Whom you serve

Whoever asks, inside the company.

## Hard rules

1. Say only what a record says, and name the record.
2. When nothing was found, say so.

## Output shape

The answer first, in two sentences. Then what it rests on.
"""
_GROUPS = """\
# A principal is ann@example.com, group:x, service:x or public.
groups:
  everyone: {members: [ann@example.com]}
"""
_POLICIES = """\
# What is not allowed here is denied. Deny wins, order does not matter.
policies:
  - {id: everyone-asks-helper, allow: invoke, agents: [helper], to: ["group:everyone"], channels: [cli, web]}
"""
_EVERYDAY = """\
# The only fields that an agent naming this policy ever reads: Type: [field, field]. Nothing is listed yet.
version: 1
allow: {}
"""
_BUDGETS = """\
# The smallest that applies wins.
budgets:
  - {to: ["*"], per: run, tokens: 200000, usd: 1.50, seconds: 120}
"""
_IGNORE = ".ukai/\n"

FILES = {
    ".gitignore": _IGNORE,
    "ukai.yaml": _UKAI,
    "models.yaml": _MODELS,
    "agents/helper/SKILL.md": _AGENT,
    "access/groups.yaml": _GROUPS,
    "access/policies.yaml": _POLICIES,
    "access/budgets.yaml": _BUDGETS,
    "access/field_policies/everyday.yaml": _EVERYDAY,
}


class NotEmpty(PermanentError):
    """The folder holds something."""

    hint = "Name another folder, or add --force: it adds what is missing and changes nothing that is there"


@dataclass(frozen=True, kw_only=True)
class Made:
    """What was written, and what to do next."""

    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that were there and stay as they were."""
    next: tuple[str, ...] = ()


def init(folder: Path, *, add_missing: bool = False) -> Made:
    """A workspace in `folder`. Raises NotEmpty when there is something in it, unless `add_missing`."""
    if folder.exists() and not folder.is_dir():
        raise NotEmpty(f"{str(folder)!r} is a file")
    if folder.is_dir() and any(folder.iterdir()) and not add_missing:
        raise NotEmpty(f"{str(folder)!r} is not empty")
    company = _slug(folder.resolve().name)
    written: list[str] = []
    kept: list[str] = []
    for name, text in FILES.items():
        path = folder / name
        if path.exists() or path.is_symlink():
            kept.append(name)
            continue
        files.write(path, text.format(company=company) if name == "ukai.yaml" else text)
        written.append(name)
    steps = (
        f"cd {'-- ' if str(folder).startswith('-') else ''}{shlex.quote(str(folder))}",
        "ukai lint",
        "ukai info helper --explain",
        "edit access/groups.yaml and access/policies.yaml: who may ask, and what may be read",
    )
    return Made(folder=folder, written=tuple(written), kept=tuple(kept), next=steps)


def _slug(name: str) -> str:
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in name.casefold()).strip("-")
    return kept if kept and kept[0].isalpha() else "company"
