"""A saved composition, as far as the checks read it (formats §11): what was put before the model, in which order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ukai.kit import document, shape
from ukai.kit.finding import Finding, excerpt

_LENIENT = {**shape.STRICT, "extra": "ignore"}


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One section in the order of the ranking."""

    __pydantic_config__ = _LENIENT

    section: str
    """The item's key."""
    score: float = 0.0
    tokens_full: int = 0
    """What it would take in full."""
    level: str = "full"
    """`full`, the name of a shorter rendering, or `none` for what is not in the document."""
    reason: str = ""
    items: tuple[str, ...] = ()
    """Keys of all that stand and fall with it."""


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """One section for which there was no room."""

    __pydantic_config__ = _LENIENT

    section: str
    reason: str = ""
    needed: int = 0
    left: int = 0


class Composition(Protocol):
    """What `recall` needs; the composer's own value has these members too."""

    @property
    def id(self) -> str: ...
    @property
    def ranking(self) -> Sequence[Ranked]: ...
    @property
    def dropped(self) -> Sequence[Dropped]: ...
    @property
    def budget(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A report read from JSON. Members that are not needed are passed over."""

    __pydantic_config__ = _LENIENT

    id: str
    ranking: tuple[Ranked, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    budget: int = 0
    used: int = 0
    ceiling_hit: bool = False
    versions: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read(raw: str, *, name: str) -> tuple[Saved | None, list[Finding]]:
    """The report that `raw` holds, or None and why."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        data, why = None, str(error)
    else:
        why = "it is no object"
    if not isinstance(data, dict):
        finding = Finding(
            code="record_unreadable",
            where=f"{name}:1:1",
            message=f"the composition cannot be read: {why}",
            received=excerpt(raw),
            hint="write the JSON object that `ukai context compose --json` prints",
        )
        return None, [finding]
    return shape.parse(document.Document(name=name, data=data), Saved)
