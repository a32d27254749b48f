"""`ukai connect`: give a tool the credential it works with, for oneself alone (P3.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ukai.app import engine, tooling
from ukai.kit import suggest
from ukai.kit.errors import PermanentError


class NotATool(PermanentError):
    """No tool of this workspace has the name, or Ukai brings it and it needs no credential."""


async def keep(path: Path, tool: str, secret: str, *, principal: str | None) -> dict[str, Any]:
    """Keep `secret` for this tool and whoever acts. Raises NotATool, and what `ukai ask` raises for `--as`."""
    async with engine.opened(path) as opened:
        who, tool = _found(opened, opened.principal(principal), tool)
        await opened.vault.keep(who, tool, secret)
    return {"tool": tool, "principal": who, "connected": True}


async def drop(path: Path, tool: str, *, principal: str | None) -> dict[str, Any]:
    """Forget it."""
    async with engine.opened(path) as opened:
        who, tool = _found(opened, opened.principal(principal), tool)
        await opened.vault.drop(who, tool)
    return {"tool": tool, "principal": who, "connected": False}


async def listed(path: Path, *, principal: str | None) -> dict[str, Any]:
    """The tools that are connected for whoever acts; never what connects them."""
    async with engine.opened(path) as opened:
        who = opened.principal(principal)
        found = await opened.vault.listed(who)
    return {"principal": who, "tools": [{"tool": tool, "since": at} for tool, at in found]}


def _found(opened: engine.Engine, who: str, tool: str) -> tuple[str, str]:
    """Whose credential it is, and under which name it is kept: the caller's, or the service's where the tool says so,
    which needs a right. A tool of one agent alone may be named with it, `AGENT/TOOL`. Raises NotATool.
    """
    specs = {name: t.spec for name, t in opened.catalog.tools.items() if t.where != "product"}
    for agent in opened.catalog.agents.values():
        specs |= {tooling.kept_as(agent.name, name): spec for name, spec in agent.own_tools.items()}
    found = [tool] if tool in specs else [name for name in specs if name.rpartition("/")[2] == tool]
    if len(found) > 1:
        said = f"{len(found)} agents have a tool named {tool!r}"
        raise NotATool(said, hint=f"name one of {', '.join(sorted(found))}")
    if not found:
        hint = suggest.hint_for(tool, sorted(specs)).capitalize()
        raise NotATool(f"no tool of this workspace is named {tool!r}", hint=hint)
    spec = specs[found[0]]
    return who if spec.credential == "user" else opened.principal(f"service:{spec.name}"), found[0]
