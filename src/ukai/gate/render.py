"""One set of rejections in its three forms: problem+json, the text of a tool's error, lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ukai.gate.limits import LIMITS
from ukai.gate.rejection import Rejection, cut
from ukai.graph import kinds
from ukai.graph.catalogue import Catalogue
from ukai.kit.finding import errors

TOOL_LINES = 12
"""Rejections told to a model at once; gate §4.2."""
_GRAVITY = {"stop": 0, "fix": 1, "reread": 2, "resend": 3}


def rejected(
    rejections: Sequence[Rejection], *, attempts_left: int | None = None, shown: int = LIMITS.shown
) -> dict[str, Any]:
    """The answer of formats §4: `{"status": "rejected", "attempts_left", "findings", "more"?}`."""
    found: dict[str, Any] = {"status": "rejected", "attempts_left": attempts_left}
    found["findings"] = [r.as_json() for r in rejections[:shown]]
    return found | ({"more": len(rejections) - shown} if len(rejections) > shown else {})


def problem(
    rejections: Sequence[Rejection], *, attempts_left: int | None = None, shown: int = LIMITS.shown
) -> dict[str, Any]:
    """`application/problem+json` (RFC 9457). `status` is the HTTP status; a dry run answers with the same one."""
    worst = worst_of(rejections)
    found: dict[str, Any] = {
        "type": f"urn:ukai:rejection:{worst.code}",
        "title": worst.code.replace("_", " "),
        "status": worst.status,
        "detail": worst.message if len(rejections) == 1 else f"{len(rejections)} problems; the first: {worst.message}",
        "attempts_left": attempts_left,
        "errors": [{**r.as_json(), "pointer": f"#{r.where}", "detail": r.message} for r in rejections[:shown]],
    }
    return found | ({"more": len(rejections) - shown} if len(rejections) > shown else {})


def worst_of(rejections: Sequence[Rejection]) -> Rejection:
    """The one whose code stands for all: what nobody can repair alone before what is repaired by rereading."""
    return min(errors_of(rejections) or rejections, key=lambda r: _GRAVITY[r.repair])


def errors_of(rejections: Iterable[Rejection]) -> list[Rejection]:
    """Those that stop."""
    return [r for r in rejections if r.severity == "error"]


def tool_text(
    rejections: Sequence[Rejection],
    *,
    attempts_left: int | None = None,
    catalogue: Catalogue | None = None,
    lines: int = TOOL_LINES,
) -> str:
    """The text block of a tool's error, complete by itself: the verdict first, then the problems, earliest first, then
    what the types concerned hold.
    """
    stopping = len(errors(rejections))
    left = "" if attempts_left is None else f", {_counted(attempts_left, 'attempt')} left"
    told = [f"REJECTED: {_counted(stopping, 'problem')}{left}. Nothing was written."]
    told += [_line(r) for r in rejections[:lines]]
    if len(rejections) > lines:
        told.append(f"… {len(rejections) - lines} more")
    return "\n".join([*told, *(facts(catalogue, rejections[:lines]) if catalogue else [])])


def facts(catalogue: Catalogue, rejections: Iterable[Rejection]) -> list[str]:
    """One line for each type that is concerned: its fields with their kinds, the required ones marked."""
    found: list[str] = []
    for name in dict.fromkeys(r.type for r in rejections if r.type):
        owner = catalogue.type(name) or catalogue.edge(name)
        if owner is None:
            continue
        fields = [
            f"{f.key}{'!' if f.required else ''}: {cut(kinds.expected_of(f), 80)}"
            for f in owner.type.fields
            if not f.server_set
        ]
        found.append(cut(f"{name} ({', '.join(fields)}); ! is required", 1_000))
    return found


def lines(rejections: Iterable[Rejection]) -> list[str]:
    """For a terminal: one line each, as findings are shown everywhere."""
    return [str(r) for r in rejections]


def _line(r: Rejection) -> str:
    parts = [f"- [{r.code}] {r.where or '/'}: {r.message}"]
    parts += [f"expected {cut(r.expected, 160)}"] if r.expected else []
    parts += [f"received {cut(r.received, 80)}"] if r.received else []
    parts += [f"fix: {r.hint}"] if r.hint else []
    return " | ".join(" ".join(p.split()) for p in parts)


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
