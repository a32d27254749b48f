"""`ukai new agent|skill|report|guardrail NAME`: one file that lints clean, and what to do with it."""

from __future__ import annotations

from pathlib import Path

from ukai.app import files, info, workspace
from ukai.app.init import Made
from ukai.kit import document
from ukai.kit.errors import PermanentError
from ukai.llm import config
from ukai.llm.known import EXTRACTIVE
from ukai.runtime.agent import name_problem

KINDS = ("agent", "skill", "report", "guardrail")

_AGENT = """\
---
name: {name}
description: {title} helps with one kind of question; say here with which.
model: {model}
channels: [cli]
---

## Whom you serve

Say who asks, and what they need it for.

## Hard rules

1. Say only what a record says, and name the record.
2. When nothing was found, say so.

## Output shape

What is true now, and what follows from it.
"""
_SKILL = """\
---
name: {name}
description: {title}. Say here what it does and when to use it.
---

# {title}

Write down the prompt that people repeat, step by step.
"""
_REPORT = """\
---
name: {name}
cron: "0 8 * * 1-5"
timezone: UTC
run_as: owner
skip_if_empty: true
outputs:
  - {{type: file, path: "reports/{name}.md"}}
---

What changed since the last report? Lead with what matters most, not with a summary of everything.
"""
_GUARDRAIL = """\
---
id: {name}
version: 1
title: {title}. Say here what alone makes it fire.
stage: output
verdict_type: block
model: {small}
applies_to: [{target}]
failure_policy: closed
---

Your only job is to detect one thing in the answer; say here which.

DEFAULT TO PASS. Say here what is legitimate although it looks alike.
"""


class Exists(PermanentError):
    """There is something at the place already; nothing is ever overwritten."""

    hint = "Choose another name, or edit what is there"


class BadName(PermanentError):
    """The name cannot be used."""

    hint = "Use lower case letters, digits and single hyphens, at most 64"


class AgentNeeded(PermanentError):
    """A skill or a report lies under an agent."""

    hint = "Add --agent NAME"


def new(path: Path, kind: str, name: str, *, agent: str | None = None) -> Made:
    """One new file in the workspace around `path`. Raises BadName, Exists, AgentNeeded, UnknownAgent, NoWorkspace."""
    if problem := name_problem(name):
        raise BadName(problem)
    root = workspace.locate(path)
    known = sorted(p.name for p in (root / "agents").iterdir() if p.is_dir()) if (root / "agents").is_dir() else []
    if agent is None and kind in ("skill", "report"):
        if len(known) != 1:
            raise AgentNeeded(f"a {kind} lies under an agent; there are {', '.join(known) or 'none'}")
        agent = known[0]
    if agent is not None and agent not in known:
        raise info.UnknownAgent(agent, known=known)
    place, text, steps = _made(kind, name, agent, root)
    target = root / place
    taken = target.parent if kind in ("agent", "skill") else target
    if taken.exists() or taken.is_symlink():
        raise Exists(f"{str(taken.relative_to(root))!r} is there already")
    files.write(target, text)
    return Made(folder=root, written=(place,), kept=(), next=(f"edit {place}", *steps, "ukai lint"))


def _made(kind: str, name: str, agent: str | None, root: Path) -> tuple[str, str, tuple[str, ...]]:
    title = name.replace("-", " ").capitalize()
    large, small = _models(root)
    if kind == "agent":
        step = f"ask IT for a line in access/policies.yaml: allow: invoke, agents: [{name}]; until then nobody may"
        return f"agents/{name}/SKILL.md", _AGENT.format(name=name, title=title, model=large), (step,)
    if kind == "skill":
        return f"agents/{agent}/skills/{name}/SKILL.md", _SKILL.format(name=name, title=title), ()
    if kind == "report":
        step = "set cron, timezone, outputs and run_as"
        return f"agents/{agent}/reports/{name}.md", _REPORT.format(name=name), (step,)
    target = agent or '"*"'
    text = _GUARDRAIL.format(name=name, title=title, small=small, target=target)
    return (
        f"guardrails/{name}.md",
        text,
        (f"it applies to {'every agent' if agent is None else agent}; set applies_to",),
    )


def _models(root: Path) -> tuple[str, str]:
    """The article's two role names where models.yaml has them, else the model that needs no key."""
    file = root / "models.yaml"
    doc = document.read(file.read_bytes(), name="models.yaml")[0] if file.is_file() else None
    known = (config.read(doc)[0] if doc else None) or config.Models()
    large, small = (n if n in known.names else EXTRACTIVE for n in ("<medium-frontier-model>", "<small-fast-model>"))
    return large, small
