"""The scope an author writes: which places of the graph an agent or a skill may draw on (C8).

    scope: {globs: ["wiki/finance/**"], exclude: ["wiki/finance/drafts/**"], static_ids: ["Note#x"]}

A scope only narrows what the caller may read anyway, and one that names nothing matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from ukai.kit import document, glob, handle, shape
from ukai.kit.finding import Finding

BUDGET_TOKENS = 15_000
"""What a composition takes when nothing else is said. Source: the composer's article."""
CEILING_TOKENS = 50_000
"""No composition takes more. Source: the composer's article."""

MOST_PATTERNS = 2_000
"""In `globs` and `exclude` of one scope. Each is two parameters, of which a statement takes 65,535 and in which a scope
stands more than once; the layers above an agent add theirs.
"""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Places, exceptions, pinned records and a budget."""

    __pydantic_config__ = shape.STRICT

    globs: tuple[str, ...] = ()
    """Over the paths of records; `kit.glob` says what they mean."""
    exclude: tuple[str, ...] = ()
    """Taken out again, whatever `globs` says."""
    static_ids: tuple[str, ...] = ()
    """Handles of records that are in without a glob."""
    budget_tokens: Annotated[int, Field(ge=1, le=CEILING_TOKENS)] = BUDGET_TOKENS


def parse(doc: document.Document, *, at: str = "") -> tuple[Scope | None, list[Finding]]:
    """The scope written at the pointer `at`; with error findings, None comes back."""
    return shape.checked(doc, Scope, lambda scope: findings(scope, doc, at=at), at=at)


def findings(scope: Scope, doc: document.Document, *, at: str) -> Iterator[Finding]:
    """What an author should repair in a scope of the right shape."""
    for name in ("globs", "exclude"):
        patterns: tuple[str, ...] = getattr(scope, name)
        for index, pattern in enumerate(patterns):
            if problem := glob.problem(pattern):
                yield Finding(
                    code="invalid_glob",
                    where=doc.where(f"{at}/{name}/{index}"),
                    message=problem,
                    expected="a pattern such as wiki/finance/**",
                    received=pattern,
                    hint="write segments between single slashes, * inside a segment, ** for any number of them",
                )
    for index, written in enumerate(scope.static_ids):
        if handle.parse(written) is None:
            yield Finding(
                code="invalid_handle",
                where=doc.where(f"{at}/static_ids/{index}"),
                message=f"{written!r} names no record",
                expected="Type#key",
                received=written,
                hint="write the record's type, a #, and its key",
            )
    yield from _too_large(scope, doc, at)
    if not scope.globs and not scope.static_ids:
        yield Finding(
            code="scope_names_nothing",
            severity="warning",
            where=doc.where(at),
            message="the scope names neither globs nor static_ids, so it matches nothing",
            expected="globs or static_ids",
            hint="name what may be read, or remove `scope`",
        )


def is_expression(pattern: str) -> bool:
    """Whether the index over paths alone cannot tell what the pattern covers: more than a place, or all below one."""
    begin = pattern.removesuffix("/**")
    return "*" in begin or "?" in begin


def _too_large(scope: Scope, doc: document.Document, at: str) -> Iterator[Finding]:
    count = len(scope.globs) + len(scope.exclude)
    if count > MOST_PATTERNS:
        yield Finding(
            code="scope_too_large",
            where=doc.where(at),
            message=f"the scope has {count:,} patterns",
            expected=f"at most {MOST_PATTERNS:,} in globs and exclude together",
            received=f"{count:,}",
            hint="name the folders that hold them, wiki/finance/** for all below one",
        )
