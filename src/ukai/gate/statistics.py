"""How well proposals fare: by kind of author, by author and by code (W10). Counted from commits and attempts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ukai import store
from ukai.gate import rows


@dataclass(frozen=True, kw_only=True)
class Line:
    """One kind of author, or one author."""

    kind: str
    id: str
    """Empty: all of the kind."""
    commits: int
    changes: int
    share: float | None
    """Of all commits in the time."""
    refused: int
    """Attempts."""
    given_up: int
    """Steps of runs that were refused and never committed anything."""
    first_pass: float | None
    """Of the commits, those without a refused attempt before."""
    attempts_to_accept: float | None
    """On average, the accepted one included."""
    undone: int
    """Commits that are taken back."""
    undone_share: float | None

    def __str__(self) -> str:
        name = f"{self.kind}:{self.id}" if self.id else self.kind
        return (
            f"{name:<32} {self.commits:>7} {_percent(self.share):>6} {self.refused:>8} {_percent(self.first_pass):>10}"
            f" {'-' if self.attempts_to_accept is None else f'{self.attempts_to_accept:.2f}':>8} {self.given_up:>8}"
            f" {_percent(self.undone_share):>7}"
        )


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """All of it."""

    kinds: tuple[Line, ...]
    authors: tuple[Line, ...]
    codes: tuple[dict[str, Any], ...]
    """`{"code", "attempts", "by": {kind: attempts}}`, most attempts first."""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kinds": [vars(k) for k in self.kinds],
            "authors": [vars(a) for a in self.authors],
            "codes": list(self.codes),
        }

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield " ".join((" " * 32, "commits", " share", " refused", "first pass", "attempts", "given up", " undone"))
        yield from map(str, self.kinds)
        if self.authors:
            yield ""
            yield from map(str, self.authors)
        if self.codes:
            yield ""
            yield "most often refused for"
            for row in self.codes:
                by = ", ".join(f"{kind} {n}" for kind, n in sorted(row["by"].items()))
                yield f"{row['attempts']:>8}  {row['code']}  ({by})"


async def read(db: store.Database, window: rows.Window) -> Statistics:
    """What was committed and refused in the window; `window.limit` bounds the codes."""
    async with db.snapshot() as tx:
        return Statistics(
            kinds=tuple(Line(**r) for r in await rows.author_figures(tx, window, by_author=False)),
            authors=tuple(Line(**r) for r in await rows.author_figures(tx, window, by_author=True)),
            codes=tuple(await rows.code_figures(tx, window)),
        )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
