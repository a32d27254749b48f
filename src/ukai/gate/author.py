"""Who proposes a change. Every change has an author, and so has every refused attempt (W10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["human", "agent", "workflow", "connector"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, kw_only=True)
class Author:
    """A writer, and the run it writes in. It comes from the session of the caller, never from a delta."""

    kind: Kind
    id: str
    """A principal (`ann@example.com`, `service:onboarding`) or the name of an agent, workflow or connector."""
    run: str = ""
    step: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @property
    def scope(self) -> str:
        """Within which idempotency keys are the author's own: two authors may use the same key."""
        return str(self)

    def as_json(self) -> dict[str, Any]:
        """`{"kind", "id", "run"?, "step"?}`."""
        return {k: v for k, v in (("kind", self.kind), ("id", self.id), ("run", self.run), ("step", self.step)) if v}
