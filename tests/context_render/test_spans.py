"""A document is kept as where its words stand, and comes out of that the same (context req. 39)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context_render import build
from tests.context_render.test_document import ITEMS
from tests.context_render.test_structure import records
from ukai.access import Record
from ukai.context import assembly, spans, structure
from ukai.context.item import Item
from ukai.kit import handle


def record_of(item: Item) -> Record:
    said = {"title": item.title, "body": item.text, "who": item.lead, **item.fields}
    return Record(type="Any", key=item.id, fields=said)


def kept(made: assembly.Assembled, items: Sequence[Item]) -> tuple[spans.Spans | None, Sequence[Record]]:
    """The spans of a document whose items are records of their own, and these records."""
    places = {item.id: n for n, item in enumerate(items)}
    by_id = {item.id: item for item in items}

    def said(id: str) -> spans.Said:
        item = by_id[id]
        names = (id, handle.shown(id), item.path, structure.line(item.path), item.kind, *item.fields)
        return spans.Said(texts=spans.values(places[id], record_of(item), item.fields, ()), names=names)

    found = spans.of(made.blocks, said, [o.ref for o in made.offloaded])
    return found, [record_of(item) for item in items]


@settings(max_examples=60, deadline=None)
@given(items=st.one_of(ITEMS, records()), budget=st.integers(1, 4_000))
def test_a_document_comes_out_of_its_spans_as_it_was(items: list[Item], budget: int):
    shown = build.assembled(items, 4_000 - budget).shown
    before = {id: shown[id] if n % 3 else ("another", "full") for n, id in enumerate(shown)}
    made = build.assembled(items, budget, given=before)

    found, stored = kept(made, items)

    is_plain = all(i.id.isascii() and "%" not in i.id for i in items)
    assert found is not None or not is_plain, "only of ids that are not shown as they are"
    assert found is None or found.text(stored) == made.text == "".join(text for text, _ in made.blocks)


def test_of_a_document_no_word_of_a_record_is_kept():
    items = [*build.table("orders", ["id", "customer"], score=2.0), *build.turns(["The walrus", "sleeps"], best=1)]
    items.append(build.thing("note", "A narwhal. " * 3_000, score=3.0, title="Of  whales", fields={"seen": "Nuuk"}))
    items += build.turns(["Speaks."] * 20, call="Call#y", leads=("Ada Lovelace",), best=1)
    items += [build.thing(f"f{n}", "A seal.", title=f"Seal {n}", place="wiki/seals", score=1.0) for n in range(9)]

    made = build.assembled(items, 4_000)
    found, _ = kept(made, items)

    assert found is not None
    words = ("walrus", "narwhal", "TEXT", "AL", "Ada", "Lovelace", "whales", "Nuuk", "seal", "Seal", "Speaks")
    assert [word for word in words if not re.search(rf"\b{word}\b", made.text)] == []
    own = " ".join(found.own)
    assert [word for word in words if re.search(rf"\b{word}\b", own)] == []
    assert len(made.offloaded) == 1


def test_a_value_that_is_not_there_any_more_makes_no_document():
    items = [build.thing("note", "A narwhal.", score=1.0, title="Whales")]
    made = build.assembled(items)
    found, stored = kept(made, items)
    assert found is not None
    other = {"title": "Whales"}

    assert found.text(stored) == made.text
    assert found.text([]) is None
    assert found.text([Record(type="Any", key="note", fields=other)]) is None


def test_a_value_is_found_where_it_stands_in_its_record_and_in_those_that_own_it():
    said: Mapping[str, Any] = {
        "turns": [{"who": "Ann", "said": "Why?"}, {"said": "Ice."}],
        "cost": {"eur": 12.5},
        "n": 7,
    }
    owner = Record(type="Any", key="o", fields={"name": "Owner"})
    record = Record(type="Any", key="r", fields=said, owners=(owner,))

    found = spans.values(0, record, ("cost",), ("name",))
    made = spans.of([(text, ("r",)) for _, text in found], lambda _: spans.Said(texts=found))
    capital = spans.of([("WHY?", ("r",))], lambda _: spans.Said(texts=found))

    assert made is not None
    assert capital is None, "what a template makes of a word is no word of the record"
    assert [text for _, text in found] == ["Ann", "Why?", "Ice.", '{"eur":12.5}', "7", "Owner"]
    assert made.text([record]) == 'AnnWhy?Ice.{"eur":12.5}7Owner'
    assert not any(re.search(r"\w", text) for text in made.own)
