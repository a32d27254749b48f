"""What is asked of the composer, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ukai.context.scope import CEILING_TOKENS, Scope


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for. Who asks is no part of it: that is the reader."""

    question: str
    scope: Scope
    """The skill's; the agent's own is in the reader, and both hold."""
    skill: str = ""
    budget_tokens: int | None = None
    """None: what the scope says."""
    conversation: str | None = None
    """Bodies that this audience was given in it before are pointed at and not sent again, unless they changed."""
    ranker: str = "score"
    """What the given `Ranker` is called in reports; `score` ranks without one."""
    ceiling_tokens: int = CEILING_TOKENS
    """A surface that cuts long replies off says here where."""

    @property
    def alone(self) -> Request:
        """The same outside of any conversation: all of it that decides what is found and how it is ranked."""
        return replace(self, conversation=None) if self.conversation else self

    def as_json(self) -> dict[str, Any]:
        """Plain JSON: what a replay needs."""
        scope = self.scope
        return {
            "question": self.question,
            "scope": {
                "globs": list(scope.globs),
                "exclude": list(scope.exclude),
                "static_ids": list(scope.static_ids),
                "budget_tokens": scope.budget_tokens,
            },
            "skill": self.skill,
            "budget_tokens": self.budget_tokens,
            "conversation": self.conversation,
            "ranker": self.ranker,
            "ceiling_tokens": self.ceiling_tokens,
        }
