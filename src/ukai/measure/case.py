"""What is known of a case before its answer exists: labels, items it needs, rules that should pass or fire (P8.7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Case:
    """One question of a bank, as far as the checks read it."""

    id: str
    label: bool | None = None
    """True: a person says that the answer holds something unsupported; False: that it does not."""
    cluster: str = ""
    """What it shares with other cases (`subject`: an account); they are not independent then."""
    required: tuple[str, ...] = ()
    """Keys of the items that an answer needs."""
    should_pass: tuple[str, ...] = ()
    """Rules that a person says must not fire on it."""
    should_fire: tuple[str, ...] = ()
    lead: str | None = None
    """Which part of the answer counts as leading: `first_paragraph`, or `heading: Next move`; None is what the agent of
    the run declared (formats §1 `output`)."""
    target_args: tuple[str, ...] = ()
    """Arguments that name what a call is about: a retry shares them."""
