"""Small items with defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ukai.context import assembly
from ukai.context.item import Item


def thing(id: str, text: str = "", *, place: str = "wiki/finance", score: float = 0.0, **more: Any) -> Item:
    return Item(id=id, path=f"{place}/{id}", kind=more.pop("kind", "page"), text=text, score=score, **more)


def table(name: str, columns: Sequence[str], *, place: str = "db/sales", score: float = 0.0) -> list[Item]:
    """A table and its columns; the schema hash is over the columns."""
    whole = Item(
        id=f"table:{name}",
        path=f"{place}/{name}",
        kind="table",
        title=name,
        text="Columns: " + "; ".join(f"{c} TEXT" for c in columns),
        schema_hash=f"{abs(hash(tuple(columns))):08x}"[:8],
        score=score,
    )
    found = [
        Item(
            id=f"column:{name}.{c}",
            path=f"{place}/{name}/{c}",
            kind="column",
            title=f"{name}.{c}",
            parent=whole.id,
            fields={"data_type": "TEXT"},
        )
        for c in columns
    ]
    return [whole, *found]


def turns(
    texts: Sequence[str], *, call: str = "Call#x", leads: Sequence[str] = ("Ann", "Bo"), best: int = 0
) -> list[Item]:
    return [
        Item(
            id=f"{call}/turn/{n}",
            path=f"calls/{call.partition('#')[2]}",
            kind="Call/turn",
            parent=call,
            text=text,
            lead=leads[n % len(leads)],
            order=n,
            score=float(n == best),
        )
        for n, text in enumerate(texts)
    ]


def assembled(items: Sequence[Item], budget: int = 1_000, **more: Any) -> assembly.Assembled:
    given: Mapping[str, tuple[str, str]] = more.pop("given", {})
    return assembly.assemble(
        items,
        budget_tokens=budget,
        ceiling_tokens=more.pop("ceiling", 50_000),
        count=more.pop("count", lambda text: len(text) / 4),
        given=given,
        ref=ref,
        **more,
    )


def ref(item: str, name: str) -> str:
    return f"ref-{item}-{name}"
