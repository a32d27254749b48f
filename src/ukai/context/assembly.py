"""From items with scores to a document: sections, their order, the cut, the text (a stand-in until the real one)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ukai.context.item import Item
from ukai.kit import canonical


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One section in the order of the ranking, and what became of it."""

    section: str
    title: str
    score: float
    tokens_full: int
    level: str
    """The level it is shown at; `none` when it is not."""
    reason: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Dropped:
    """A section that is not in the document."""

    section: str
    reason: str
    needed: int
    left: int


@dataclass(frozen=True, kw_only=True)
class Offloaded:
    """A value that was put aside."""

    ref: str
    item: str
    field: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Assembled:
    """The document and how it came about."""

    text: str
    ranking: tuple[Ranked, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    shown: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Item -> (hash of its body, level)."""
    offloaded: tuple[Offloaded, ...] = ()
    budget: int
    used: int
    ceiling_hit: bool = False
    events: tuple[str, ...] = ()


def assemble(
    items: Sequence[Item],
    *,
    budget_tokens: int,
    ceiling_tokens: int,
    count: Callable[[str], int],
    given: Mapping[str, tuple[str, str]],
    ref: Callable[[str, str], str],
    ranker: str = "score",
) -> Assembled:
    """Whole records in the order of their best item, names of the rest, while they fit."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.parent or item.id, []).append(item)
    order = sorted(groups, key=lambda g: (-max(i.score for i in groups[g]), g))
    text, used, ranking, dropped, shown = "", 0, list[Ranked](), list[Dropped](), dict[str, tuple[str, str]]()
    for name in order:
        parts = sorted(groups[name], key=lambda i: (i.order, i.id))
        body = "".join(map(_body, parts))
        size = count(body)
        fits = used + size <= min(budget_tokens, ceiling_tokens)
        score = max(i.score for i in parts)
        level = "full" if fits else "none"
        ids = tuple(i.id for i in parts)
        reason = "fits" if fits else "over budget"
        ranking.append(
            Ranked(
                section=name, title=parts[0].title, score=score, tokens_full=size, level=level, reason=reason, items=ids
            )
        )
        if not fits:
            dropped.append(Dropped(section=name, reason=reason, needed=size, left=budget_tokens - used))
            continue
        text, used = text + body, used + size
        shown |= {i.id: (hashlib.sha256(_body(i).encode()).hexdigest(), "full") for i in parts}
    return Assembled(
        text=text, ranking=tuple(ranking), dropped=tuple(dropped), shown=shown, budget=budget_tokens, used=used
    )


def _body(item: Item) -> str:
    fields = "".join(
        f"- {k}: {v if isinstance(v, str) else canonical.dumps(v)}\n" for k, v in sorted(item.fields.items())
    )
    lead = f"{item.lead}: " if item.lead else ""
    return f"## {item.title} `{item.id}`\n{fields}{lead}{item.text}\n\n"
