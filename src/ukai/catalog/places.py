"""Globs of scopes that can cover nothing, held against the places that the types of the domains give their records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ukai.catalog.shelf import Piece, Shelf
from ukai.graph import shipped
from ukai.kit import glob, suggest
from ukai.kit.finding import Finding
from ukai.runtime import agent


def findings(shelf: Shelf) -> Iterator[Finding]:
    """One for each such glob. Nothing where a domain cannot be read or none is here: its places are not known."""
    if not shelf.types:
        return
    domains = [*shelf.domains.values(), *shipped.domains().values()]
    places = sorted({t.path or t.default_path(d.domain, "{key}") for d in domains for t in d.types})
    pieces: list[Piece[agent.Manifest] | Piece[agent.Skill]] = [*shelf.agents.values(), *shelf.families.values()]
    for piece in [*pieces, *shelf.skills.values()]:
        scope = piece.value.scope
        for index, pattern in enumerate(scope.globs if scope is not None else ()):
            if not any(may_cover(pattern, place) for place in places):
                yield _covers_nothing(piece.where(f"/scope/globs/{index}"), pattern, places)


def may_cover(pattern: str, place: str) -> bool:
    """Whether a record that stands at `place`, in which any text may be for `{field}`, may be one of those covered."""
    asked, given = pattern.split("/"), place.split("/")
    for wanted, segment in zip(asked, given, strict=False):
        if wanted == "**" or "{" in segment:
            return True
        if not glob.compile(wanted).matches(segment):
            return False
    return len(asked) >= len(given)


def _covers_nothing(where: str, pattern: str, places: Sequence[str]) -> Finding:
    below = f"{pattern}/**"
    roots = {root for place in places if "{" not in (root := place.partition("/")[0])}
    hint = suggest.hint_for(pattern.partition("/")[0], roots)
    return Finding(
        code="scope_covers_nothing",
        severity="warning",
        where=where,
        message=f"{pattern!r} can cover no record: no type of the domains gives one such a place",
        expected=" | ".join(places[:6]),
        received=pattern,
        hint=f"write {below!r} for all that stands there" if any(may_cover(below, p) for p in places) else hint,
    )
