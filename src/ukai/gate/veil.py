"""What a refusal may name: the types and fields of which its writer may see something, as `describe` shows them.

A delta that is refused is judged once more against the domains as its writer sees them. What is only wrong there (a
name that is hidden) is told like a name that does not exist; of what is only wrong otherwise, no more than that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ukai.gate import contract as contracts
from ukai.gate import delta as deltas
from ukai.gate import describe, shape
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection, reject
from ukai.gate.rights import ALL, Rights
from ukai.graph.catalogue import Catalogue
from ukai.kit.finding import errors

_OF_RULES = frozenset({"rule_violation", "rule_error", "precision_loss"})
"""Told by what is readable when they are made: whoever sees a part of a type cannot judge its rules."""


def seen(catalogue: Catalogue, rights: Rights) -> Catalogue | None:
    """What there is for the writer; None for all of it."""
    return None if rights is ALL else describe.only(catalogue, rights)


def told(
    found: Sequence[Rejection],
    delta: deltas.Delta,
    seen: Catalogue | None,
    *,
    author: Author,
    now: datetime,
    context: Mapping[str, str] | None,
    known: Mapping[str, str],
    contract: contracts.Contract | None = None,
) -> tuple[Rejection, ...]:
    """`found` as far as it may be told to whom `seen` is all there is. `known` are handles by id, of what the delta
    names by its id.
    """
    if seen is None:
        return tuple(found)
    again = shape.check(delta, seen, author=author, now=now, context=context, known=known)
    promised = contracts.compare(contract, again.scene) if contract is not None else []
    of_form = [r for r in found if r.layer == 1]
    if delta.undoing is not None:  # its names are the history's, not the writer's
        named = {(r.code, r.where) for r in of_form}
        mended = [r for r in again.rejections if (r.code, r.where) in named]
    else:
        mended = list(again.rejections)
        if errors(mended) and not errors(of_form):
            return (*mended, *promised)  # a name that is hidden: nothing else was asked
    mended += [r for r in of_form if r.code in _OF_RULES and _is_seen(r, seen) and r not in mended]
    rest = [r for r in found if r.layer not in (1, 2)]
    return (*mended, *_untold(of_form, mended, delta), *promised, *rest)


def _is_seen(rejection: Rejection, seen: Catalogue) -> bool:
    owner = seen.type(rejection.type)
    return owner is not None and (not rejection.field or rejection.field in owner.type.by_key)


def _untold(found: Iterable[Rejection], kept: Iterable[Rejection], delta: deltas.Delta) -> Iterable[Rejection]:
    """One rejection for each operation of whose errors none is kept."""
    ops = [op for op in delta.singles() if not _at(op, kept) and _at(op, found)]
    elsewhere = not ops and bool(errors(found)) and not errors(kept)
    for op in ops:
        yield _forbidden(op.at, op.kind)
    if elsewhere:
        yield _forbidden("", "")


def _at(op: deltas.Single, found: Iterable[Rejection]) -> bool:
    return any(r.where == op.at or r.where.startswith(f"{op.at}/") for r in errors(found))


def _forbidden(where: str, kind: str) -> Rejection:
    return reject(
        "forbidden_type",
        where=where,
        message="this operation needs what you may not see",
        expected="the right to read or write every field that the operation depends on",
        hint="ask whoever keeps access/ for the right, or leave the operation out",
        op=kind,
    )
