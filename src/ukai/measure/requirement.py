"""Whether a run does what its case asks, and if not, why not: read is what existed before the answer did (P8.7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ukai import record
from ukai.measure import firings
from ukai.measure.bank import Question

_ENDED_WELL = ("answered", "refused")


def unmet(question: Question, run: record.Run) -> tuple[str, ...]:
    """Why the run does not pass; nothing when it does. A case without requirements passes when the turn ended well."""
    return tuple(_unmet(question, run))


def _unmet(question: Question, run: record.Run) -> Iterator[str]:
    fired = firings.said(run)
    if run.status not in _ENDED_WELL and not (run.status == "blocked" and question.rules.should_fire):
        yield f"ended as {run.status}" + (f": {run.reason}" if run.reason else "")
    cited = [c.item_key for c in run.citations]
    returned = [i.item_key for call in run.calls for i in call.items]
    for item in question.requires.items:
        if not is_among(item, cited):
            why = "a tool returned it" if is_among(item, returned) else "no tool returned it"
            yield f"{item} is not cited; {why}"
    tools = question.requires.tools.any_of
    if tools and not any(call.tool in tools and call.label == "data" for call in run.calls):
        yield f"none of {', '.join(tools)} brought anything"
    for rule in question.rules.should_pass:
        if fired.get(rule, "pass") != "pass":
            yield f"the rule {rule} must pass and {fired[rule]}"
    for rule in question.rules.should_fire:
        if fired.get(rule) != "fired":
            yield f"the rule {rule} must fire and did not"


def arrived(question: Question, run: record.Run) -> float | None:
    """Which share of what the case requires the tools brought; None when it requires nothing."""
    items = question.requires.items
    returned = [i.item_key for call in run.calls for i in call.items]
    return sum(is_among(item, returned) for item in items) / len(items) if items else None


def is_among(item: str, sources: Iterable[str]) -> bool:
    """Whether an item is one of the sources, or a part or the whole of one."""
    known = set(sources)
    whole = item.partition("/")[0]
    return item in known or (whole in known and "/" in item) or any(k.startswith(f"{item}/") for k in known)
