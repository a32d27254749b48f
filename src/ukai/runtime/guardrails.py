"""The rules of one turn: each judged by itself, all at once, and resolved in a fixed order (P4.3, P4.5).

    engine = Engine(rules=rules, judges=KINDS, cache=cache)
    read = await engine.question("...")          # before the agent says anything
    read = await engine.answer("...", about=...) # on what it wants to say

Any block wins over any rewrite, and that over pass; ties go to the lowest id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ukai import record
from ukai.runtime.guardrail import Guardrail


@dataclass(frozen=True, kw_only=True)
class Read:
    """What the rules of one stage made of a text."""

    text: str | None
    """What may leave: the text, or what became of it; None when it is held back."""
    firings: tuple[record.Firing, ...]
    """Every verdict of every round, by rule id within a round."""
    usage: tuple[record.Usage, ...] = ()
    blocked_by: Guardrail | None = None
    """The rule that held it back."""
    reason: str = ""
    """For the one who asked: that a rule holds the answer back, or that a check could not be made."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The rules that apply to one agent."""

    rules: Sequence[Guardrail] = ()
    exhaustive: bool = False
    """Let every rule end even when one blocks: for evaluations, whose counts need every verdict."""
