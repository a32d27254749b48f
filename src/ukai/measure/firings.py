"""What each rule said in a run: `pass`, `fired`, or `failed`, which is never counted as one of the others."""

from __future__ import annotations

from ukai import record

ORDER = ("pass", "failed", "fired")


def said(run: record.Run) -> dict[str, str]:
    """Rule without its version -> what it said; of several firings the strongest."""
    found: dict[str, str] = {}
    for firing in run.firings:
        rule = firing.rule.partition("@")[0]
        outcome = "failed" if firing.failed else "pass" if firing.verdict == "pass" else "fired"
        found[rule] = max(found.get(rule, "pass"), outcome, key=ORDER.index)
    return found
