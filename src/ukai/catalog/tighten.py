"""Down the line access > family > agent > skill rights only tighten; prose and knobs may override (P1.9).

What would widen is an error here, and has no effect at run time either: resolved values are intersections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ukai.access import Access, field_policy
from ukai.access.record import ALL
from ukai.catalog.shelf import Piece
from ukai.context.scope import Scope
from ukai.kit import glob
from ukai.kit.finding import Finding
from ukai.runtime.agent import Budget, Manifest, Skill
from ukai.study.report import Report

MAX = 1_000_000
UNITS = ("tokens", "usd", "seconds")


def findings(layers: Sequence[Piece[Manifest]], access: Access, agent: str) -> Iterator[Finding]:
    """What the last layer, an agent, would widen against the families before it and against IT."""
    own = layers[-1]
    for upper in layers[:-1]:
        yield from _knobs(own, upper)
        yield from budget(own, own.value.budget, upper.value.budget, f"family {upper.value.name!r}")
        yield from scope(own, own.value.scope, upper.value.scope, f"family {upper.value.name!r}")
        yield from _field_policy(own, upper, access)
    yield from by_it(own, own.value.budget, access, agent)
    if own.value.acl_enforcement is False:
        yield _widened(
            own,
            "/acl_enforcement",
            "acl_enforcement cannot be switched off by a domain team",
            "true",
            "false",
            "remove the field; IT decides in access/ what this agent may read",
        )


def nested(
    piece: Piece[Skill] | Piece[Report], *, budget_above: Budget, scope_above: Scope | None, agent: str
) -> Iterator[Finding]:
    """What a skill or a report would widen against what its agent resolved to."""
    yield from budget(piece, piece.value.budget, budget_above, f"agent {agent!r}")
    if isinstance(piece.value, Skill):
        yield from scope(piece, piece.value.scope, scope_above, f"agent {agent!r}")


def _widened(
    piece: Piece[Manifest] | Piece[Skill] | Piece[Report],
    pointer: str,
    message: str,
    expected: str,
    received: str,
    hint: str,
) -> Finding:
    return Finding(
        code="widened", where=piece.where(pointer), message=message, expected=expected, received=received, hint=hint
    )


def _knobs(own: Piece[Manifest], upper: Piece[Manifest]) -> Iterator[Finding]:
    mine, theirs, family = own.value, upper.value, f"family {upper.value.name!r}"
    if (mine.max_iterations or 0) > (theirs.max_iterations or MAX):
        yield _widened(
            own,
            "/max_iterations",
            f"max_iterations is beyond the {family}'s",
            f"at most {theirs.max_iterations}",
            str(mine.max_iterations),
            f"lower it to {theirs.max_iterations}, or raise it in the family",
        )
    if mine.scope_bound_retrieval == "off" and theirs.scope_bound_retrieval == "strict":
        yield _widened(
            own,
            "/scope_bound_retrieval",
            f"the {family} keeps results inside the caller's accounts",
            "strict",
            "off",
            "remove the field",
        )
    if theirs.channels is not None:
        for index, channel in enumerate(mine.channels or ()):
            if channel not in theirs.channels:
                yield _widened(
                    own,
                    f"/channels/{index}",
                    f"the {family} is not served on {channel!r}",
                    ", ".join(theirs.channels),
                    channel,
                    "remove the channel, or add it in the family",
                )


def budget(
    piece: Piece[Manifest] | Piece[Skill] | Piece[Report], mine: Budget | None, theirs: Budget | None, who: str
) -> Iterator[Finding]:
    """Parts of a budget beyond what stands above."""
    for unit in UNITS:
        asked = getattr(mine, unit) if mine else None
        given = getattr(theirs, unit) if theirs else None
        if asked is not None and given is not None and asked > given:
            yield _widened(
                piece,
                f"/budget/{unit}",
                f"the budget of {unit} is beyond that of the {who}",
                f"at most {given:g}",
                f"{asked:g}",
                f"lower it to {given:g}",
            )


def by_it(
    piece: Piece[Manifest] | Piece[Skill] | Piece[Report], mine: Budget | None, access: Access, agent: str
) -> Iterator[Finding]:
    """Parts of a budget beyond what IT gives one run of this agent, whoever calls."""
    for entry in access.budgets:
        applies = entry.per == "run" and entry.to is None and (entry.agent is None or entry.agent.matches(agent))
        for unit, amount in entry.amounts if applies else ():
            asked = getattr(mine, unit) if mine else None
            if asked is not None and asked > amount:
                yield _widened(
                    piece,
                    f"/budget/{unit}",
                    f"the budget of {unit} is beyond what IT gives at {entry.place}",
                    f"at most {float(amount):g}",
                    f"{asked:g}",
                    f"lower it to {float(amount):g}",
                )


def _field_policy(own: Piece[Manifest], upper: Piece[Manifest], access: Access) -> Iterator[Finding]:
    mine, theirs = own.value.field_policy, upper.value.field_policy
    if mine is None or theirs is None or mine == theirs:
        return
    known = access.field_policies
    if mine not in known or theirs not in known:
        return  # the unknown name has its own finding
    beyond = _beyond(known[mine], known[theirs])
    if beyond:
        yield _widened(
            own,
            "/field_policy",
            f"{mine!r} lists fields that the family's {theirs!r} does not",
            theirs,
            ", ".join(beyond[:5]),
            f"use {theirs!r}, or a policy inside it; only common fields are read",
        )


def _beyond(mine: field_policy.FieldPolicy, theirs: field_policy.FieldPolicy) -> list[str]:
    found: list[str] = []
    for type_name in sorted(mine.allow):
        asked, given = mine.fields(type_name), theirs.fields(type_name)
        if given is ALL:
            continue
        if asked is ALL:
            found.append(f"{type_name}.*")
        else:
            found += [f"{type_name}.{f}" for f in sorted(asked - given)]
    return found


def scope(
    piece: Piece[Manifest] | Piece[Skill] | Piece[Report], mine: Scope | None, theirs: Scope | None, who: str
) -> Iterator[Finding]:
    """Places of a scope that the scope above does not surely cover."""
    if mine is None or theirs is None:
        return
    for index, pattern in enumerate(mine.globs):
        if not any(covers(outer, pattern) for outer in theirs.globs):
            yield _widened(
                piece,
                f"/scope/globs/{index}",
                f"the scope of the {who} does not cover {pattern!r}",
                ", ".join(theirs.globs) or "nothing",
                pattern,
                "narrow the pattern to what stands above it",
            )
    for index, pinned in enumerate(mine.static_ids):
        if pinned not in theirs.static_ids:
            yield _widened(
                piece,
                f"/scope/static_ids/{index}",
                f"the scope of the {who} does not pin {pinned!r}",
                ", ".join(theirs.static_ids) or "nothing",
                pinned,
                "pin the record there, or leave it out",
            )
    if mine.budget_tokens > theirs.budget_tokens:
        yield _widened(
            piece,
            "/scope/budget_tokens",
            f"budget_tokens is beyond that of the {who}",
            f"at most {theirs.budget_tokens}",
            str(mine.budget_tokens),
            f"lower it to {theirs.budget_tokens}",
        )


def covers(outer: str, inner: str) -> bool:
    """Whether every path that `inner` matches is matched by `outer`; False when that is not plain to see."""
    return _covers(tuple(outer.split("/")), tuple(inner.split("/")))


@lru_cache(maxsize=4096)
def _covers(outer: tuple[str, ...], inner: tuple[str, ...]) -> bool:
    """Remembered, since several ** would otherwise be tried in every combination."""
    if not outer:
        return not inner
    if outer[0] == "**":
        return _covers(outer[1:], inner) or (bool(inner) and _covers(outer, inner[1:]))
    if not inner or inner[0] == "**":
        return False
    return _segment_covers(outer[0], inner[0]) and _covers(outer[1:], inner[1:])


def _segment_covers(outer: str, inner: str) -> bool:
    if outer in ("*", inner):
        return True
    if "*" not in inner and "?" not in inner:
        return glob.compile(outer).matches(inner)
    head, star, tail = outer.partition("*")
    plain_tail = bool(star) and not any(c in tail for c in "*?") and "?" not in head
    return plain_tail and inner.startswith(head) and inner.endswith(tail) and len(inner) >= len(head) + len(tail)
