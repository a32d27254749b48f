"""What may differ between two evaluations that are compared: exactly one declared dimension (P8.7)."""

from __future__ import annotations

from collections.abc import Mapping

from ukai.kit import suggest
from ukai.kit.finding import Finding
from ukai.measure.evaluation import Parts

DIMENSIONS: Mapping[str, str] = {
    "model": "which model a name stands for",
    "prose": "prompts, skills, families, descriptions of tools",
    "rules": "guardrails: their wording, and whom they reach",
    "code": "the product, tools.py, settings and rights",
    "corpus": "the records",
}
"""Dimension -> what it holds."""
PARTS = 5
"""Of one dimension, named in a refusal."""
NOTHING = "nothing"
"""Declared for two evaluations of one version, which show how far its own reruns lie apart."""


def changed(before: Parts, after: Parts) -> dict[str, tuple[str, ...]]:
    """Dimension -> the parts that differ, in the order of `DIMENSIONS`; one without a difference is absent."""
    found: dict[str, tuple[str, ...]] = {}
    for name in DIMENSIONS:
        old, new = before.get(name, {}), after.get(name, {})
        parts = tuple(
            sorted(p for p in old.keys() | new.keys() if old.get(p) != new.get(p) and not _is_offer(p, old, new))
        )
        if parts:
            found[name] = parts
    return found


def _is_offer(part: str, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """A tool that only one side has was given or taken away: settings say so, and its description was not reworded."""
    return part.startswith("tool:") and not (part in old and part in new)


def problems(found: Mapping[str, tuple[str, ...]], declared: str | None) -> list[Finding]:
    """Why two evaluations cannot be compared; `declared` None takes the one dimension that differs."""
    if declared is not None and declared not in (*DIMENSIONS, NOTHING):
        return [
            Finding(
                code="not_allowed",
                where="/changed",
                message=f"{declared!r} is no dimension",
                expected=" | ".join((*DIMENSIONS, NOTHING)),
                received=declared,
                hint=suggest.hint_for(declared, [*DIMENSIONS, NOTHING]),
            )
        ]
    if len(found) == 1 and declared in (None, *found):
        return []
    if not found and declared == NOTHING:
        return []
    told = "; ".join(f"{name}: {_named(parts)}" for name, parts in found.items())
    if not found:
        message = "nothing differs between the two evaluations, so nothing can be weighed"
        hint = "declare `nothing` to see how far the reruns of one version lie apart"
    elif len(found) > 1:
        message = "more than one dimension differs: a difference would have no single cause"
        hint = "evaluate each change alone, one after the other"
    else:
        message = "another dimension differs than the declared one"
        hint = f"declare {next(iter(found))!r}, or take that change back"
    return [
        Finding(
            code="dimensions_differ",
            where="/changed",
            message=message,
            expected=f"one dimension: {declared}" if declared else "one dimension",
            received=told or NOTHING,
            hint=hint,
        )
    ]


def _named(parts: tuple[str, ...]) -> str:
    more = f" and {len(parts) - PARTS} more" if len(parts) > PARTS else ""
    return ", ".join(parts[:PARTS]) + more
