"""What a call gave: `data`, `nothing` or `error`, decided by code and never by a model (P4.2, P8.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ukai.record.run import Label, LabelRule

Predicate = Callable[[Any], bool]
"""What a tool declares about its own results, made of `error_when` or `empty_when` by `predicate.read`."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a call ended."""

    result: Any = None
    """The tool's whole result as a JSON value or text."""
    exception: str | None = None
    """The class of what was raised instead of a result."""
    timed_out: bool = False
    is_error: bool = False
    """The protocol's own flag (`isError`)."""
    http_status: int | None = None


def label(
    outcome: Outcome, *, error_when: Predicate | None = None, empty_when: Predicate | None = None
) -> tuple[Label, LabelRule]:
    """The label and the rule that gave it, in this order: failure, `error_when`, `empty_when`, emptiness, data.

    Where a tool declares nothing, a result that says `error` or holds only empty lists is labelled as `heuristic`.
    A predicate that cannot be computed over this result counts as an error of the call: it fails closed.
    Source: measure by declared predicates first, so that no guess is needed.
    """
    failure = _failure(outcome)
    if failure is not None:
        return "error", failure
    result = outcome.result
    for predicate, name, given in ((error_when, "error_when", "error"), (empty_when, "empty_when", "nothing")):
        if predicate is not None and predicate(result):
            return cast("Label", given), cast("LabelRule", name)
    if _is_empty(result):
        return "nothing", "empty"
    if error_when is None and _says_error(result):
        return "error", "heuristic"
    if empty_when is None and _holds_only_empty_lists(result):
        return "nothing", "heuristic"
    return "data", "returned"


def _failure(outcome: Outcome) -> LabelRule | None:
    if outcome.timed_out:
        return "timeout"
    if outcome.exception is not None:
        return "exception"
    if outcome.is_error:
        return "is_error"
    # An expired access (401, 403) is an error and never "nothing found" (P4.7).
    return "http_status" if outcome.http_status is not None and outcome.http_status >= 400 else None


def _is_empty(result: Any) -> bool:
    if isinstance(result, str):
        return not result.strip()
    return result is None or (isinstance(result, list | tuple | Mapping) and not result)


def _says_error(result: Any) -> bool:
    if not isinstance(result, Mapping):
        return False
    members = cast("Mapping[str, Any]", result)
    return bool(members.get("error")) or bool(members.get("errors")) or members.get("ok") is False


def _holds_only_empty_lists(result: Any) -> bool:
    """`{"hits": [], "total": 0}`: at least one list, all of them empty, and nothing else that says something."""
    if not isinstance(result, Mapping):
        return False
    parts = list(cast("Mapping[str, Any]", result).values())
    return any(isinstance(part, list) for part in parts) and all(part in ([], {}, "", 0, None, False) for part in parts)
