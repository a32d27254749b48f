"""The agents that somebody may ask on a surface: what lists, menus and model pickers show, and nothing beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ukai.app import identity
from ukai.app.engine import Engine
from ukai.kit import suggest
from ukai.kit.errors import PermanentError

NONE = (
    "no agent is yours to ask on this surface: its `channels` and a policy of access/ have to name it; "
    "`ukai access explain WHO` tells whoever keeps access/ what you may do, and why not more"
)
"""Said in place of an empty list, which would look like an empty workspace."""


class NoAgent(PermanentError):
    """There is no such agent, or none that the caller may ask here: nobody learns which."""

    def __init__(self, name: str, known: list[str], elsewhere: Sequence[str] = ()) -> None:
        """`elsewhere`: the surfaces on which the caller may ask the agent of this name."""
        hint = suggest.hint_for(name, known) if known else NONE
        if elsewhere:
            hint = f"you may ask it on {', '.join(elsewhere)}; its `channels` and a policy have to name this one"
        super().__init__(f"no agent is named {name!r} that you may ask here", hint=hint)
        self.known = known


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One of them."""

    name: str
    description: str


def listed(opened: Engine, caller: identity.Caller, surface: str) -> list[Listed]:
    """Those that the caller may ask on this surface, by name; one with an error is not served and not listed."""
    return [
        Listed(name=name, description=agent.description)
        for name, agent in sorted(opened.catalog.agents.items())
        if may(opened, caller, surface, name)
    ]


def may(opened: Engine, caller: identity.Caller, surface: str, name: str) -> bool:
    """Whether the agent is there, is served on this surface, and may be asked by this caller."""
    agent = opened.catalog.agents.get(name)
    if agent is None or surface not in agent.channels or opened.loaded.blocking(name):
        return False
    return opened.rights(agent, caller.principal, surface).invoke.allowed


def need(opened: Engine, caller: identity.Caller, surface: str, name: str) -> None:
    """Raise NoAgent unless the caller may ask it here."""
    if not may(opened, caller, surface, name):
        agent = opened.catalog.agents.get(name)
        elsewhere = [c for c in agent.channels if may(opened, caller, c, name)] if agent else []
        raise NoAgent(name, [a.name for a in listed(opened, caller, surface)], elsewhere)
