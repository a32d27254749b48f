"""The answer to "may they?", with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KEEPERS = "whoever keeps access/"

REFUSALS = {
    "invoke": "You may not use this agent here.",
    "read": "There is nothing of that name that may be read here.",
    "write": "This change is not yours to make, or there is nothing of that name.",
    "send": "Sending to this kind of destination is not allowed here.",
}
"""What the caller is told: the same words whether a record is absent, hidden or denied, and never a policy's name."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Allowed or not, and why."""

    allowed: bool
    reason: str
    """For IT, traces and `explain`: names principals, policies and `file:line:column`. Not for the caller."""
    refusal: str = ""
    """For the caller of a denied request. Says who could grant it; discloses nothing, not even that a record exists."""
    matched: tuple[str, ...] = ()
    """Ids of the policies that allow."""
    denied_by: tuple[str, ...] = ()
    """Ids of the policies that deny, or what else does: `readers`, `field_policy:NAME`, `unknown`."""
    missing: tuple[str, ...] = ()
    """What would be needed, for whoever can grant it."""
    who: str = ""
    """The member of the audience for whom it failed."""

    def as_json(self) -> dict[str, Any]:
        """All parts, in a fixed order."""
        return {
            "allowed": self.allowed,
            "reason": self.reason,
            "refusal": self.refusal,
            "matched": list(self.matched),
            "denied_by": list(self.denied_by),
            "missing": list(self.missing),
            "who": self.who,
        }


def refusal(right: str) -> str:
    """What a caller is told when `right` is denied."""
    said = REFUSALS.get(right, f"The right {right!r} is not granted here.")
    return f"{said} {KEEPERS[0].upper()}{KEEPERS[1:]} can grant it."
