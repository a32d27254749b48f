"""CODEOWNERS from the four owners of a monorepo: domain teams, managers, IT, platform (P1.9)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from ukai.catalog.settings import Owners

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where code hosts look, in their order."""
HEAD = "# Written by `ukai codeowners --write` from `owners` in ukai.yaml. Lines below others win.\n"


def codeowners(owners: Owners, agents: Collection[str], *, prefix: str = "") -> str:
    """The text of the file. `prefix` is the workspace inside its repository, with a final slash."""
    lines = [(f"/{prefix}{pattern}", owner) for pattern, owner in _lines(owners, agents) if owner]
    width = max((len(pattern) for pattern, _ in lines), default=0)
    return HEAD + "".join(f"{pattern:<{width}} {owner}\n" for pattern, owner in lines)


def _lines(owners: Owners, agents: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """Later lines win, so that the general comes first."""
    yield "", owners.platform
    for name in sorted(agents):
        yield f"agents/{_escaped(name)}/", owners.agents.get(name)
    yield "guardrails/", owners.guardrails
    yield "access/", owners.access
    # Who owns what is decided here and nowhere else, so whoever decides about access decides about this file.
    yield "ukai.yaml", owners.access


def _escaped(name: str) -> str:
    return re.sub(r"([ \\#])", r"\\\1", name)


def place(top: Path) -> Path:
    """The file that a code host reads in the repository at `top`; the plain one when there is none yet."""
    return next((top / p for p in PLACES if (top / p).is_file()), top / "CODEOWNERS")
