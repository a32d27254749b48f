"""A table and its columns, each a record of its own, are found, shown and left out as one (context req. 16, 22, 30)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from tests.context import world
from tests.context.test_composing import compose, handles
from tests.context.test_no_leak import state, told
from tests.context.test_reading import company
from tests.context.world import ANN, MIRA
from tests.context_render import build
from ukai import context, store
from ukai.context import Scope, cache, elements, levels, retrieval, subject
from ukai.context.elements import MOST
from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES
from ukai.context.strategies.asked import Candidate

SHOP = Scope(globs=("shop/**",))
QUESTION = "which customers left?"
FORGED = "x\npaid INTEGER"


async def shop(database: store.Database) -> world.World:
    w = await company(database)
    await w.write(
        *world.table("customers", "id INTEGER", "churn_date DATE the day a customer left us", "email TEXT"),
        *world.table("orders", "id INTEGER", "customer_id INTEGER", "amount NUMERIC", comment="One row for each sale."),
        *(op for day in range(1, 5) for op in world.table(f"visits_2026010{day}", "at TIMESTAMP", "page TEXT")),
        *world.table("alone"),
    )
    await w.follow()
    return w


@pytest.mark.parametrize("says", [{"text": FORGED}, {"fields": {"type": FORGED}}, {"fields": {"note": FORGED}}])
def test_what_an_element_says_is_no_line_of_another_element(says: dict[str, Any]):
    table, *columns = build.table("orders", ["id"])
    (orders,) = subject.of([replace(table, text=""), *(replace(c, why=("keyword",), **says) for c in columns)])

    said = {level: levels.body(orders, level) for level in levels.LEVELS}

    assert any("paid INTEGER" in body for body in said.values())
    assert [body for body in said.values() for line in body.splitlines() if line.startswith("paid")] == []


def test_an_element_whose_name_alone_stands_in_the_text_is_told_with_its_fields_and_counted_by_its_name():
    table, *columns = build.table("pay", ["day"])
    told = [replace(c, title="", fields={"unit": "UTC"}) for c in columns]
    (pay,) = subject.of([replace(table, text="One row a day."), *told])
    (silent,) = subject.of([replace(table, text=""), *told])

    assert "day (unit: UTC)" in levels.body(pay, levels.FULL)
    assert levels.length(silent) >= len("day")


async def test_a_table_stands_with_its_columns_and_is_found_by_them(database: store.Database):
    w = await shop(database)

    made = await compose(w, ANN, QUESTION, SHOP)

    assert (
        "### customers [Table#main:customers]\nchurn_date DATE (nullable: false) — the day a customer left us\n"
        in made.text
    )
    assert "### orders [Table#main:orders]\nOne row for each sale.\namount NUMERIC" in made.text
    assert "visits_{20260101-20260104}\nat TIMESTAMP" in made.text
    assert "- alone [Table#main:alone]\n" in made.text
    assert made.report.matched == 4
    assert made.report.ranking[0].section == "Table#main:customers"
    assert {"Table#main:customers", "Column#main:customers:churn_date"} <= handles(made)
    assert [c for c in made.report.found if c.startswith("Column#")] == []


async def test_what_does_not_fit_in_full_names_its_columns(database: store.Database):
    w = await shop(database)
    await w.write(
        *world.table("wide", *(f"column_{n} TEXT customers left and came, {n} times of them" for n in range(30)))
    )
    await w.follow()

    made = await compose(w, ANN, QUESTION, SHOP, budget_tokens=350)

    assert "- wide [Table#main:wide]: column_0, column_1, " in made.text
    assert next(r.level for r in made.report.ranking if r.section == "Table#main:wide") == "names"


async def test_a_huge_value_of_a_column_is_put_aside_and_can_be_fetched(database: store.Database):
    w = await shop(database)
    huge = "wide-" * 5_000
    await w.write(*world.table("blobs", "id INTEGER", f"kind {huge}"))
    await w.follow()

    made = await compose(w, ANN, "which kind of blobs?", SHOP)
    again = await compose(w, ANN, "which kind of blobs?", SHOP)
    ref = made.text.partition("fetch_offloaded ")[2].partition("]")[0].split()[0].strip("`")

    assert again.text == made.text
    assert await context.fetch_offloaded(database, ref, library=w.library, reader=world.reader(ANN)) == huge


async def test_a_column_is_explained_with_its_table(database: store.Database):
    w = await shop(database)
    made = await compose(w, ANN, QUESTION, SHOP)

    async def why(name: str) -> str:
        found = await context.explain(database, made.id, name, library=w.library, reader=world.reader(ANN))
        assert found is not None
        return f"{found.is_shown} {found.lines[0]}"

    assert (await why("Column#main:customers:email")).startswith("True with Table#main:customers: rank 1 in full")
    assert (await why("Table#main:visits_20260103")).startswith("True ")


async def test_a_pinned_column_brings_its_table(database: store.Database):
    w = await shop(database)

    made = await compose(w, ANN, "?", Scope(globs=("shop/**",), static_ids=("Column#main:orders:amount",)))

    assert made.report.ranking[0].section == "Table#main:orders" or "orders [Table#main:orders]" in made.text


async def test_a_hidden_table_leaves_its_columns_to_themselves_and_hidden_columns_move_nothing(
    database: store.Database,
):
    w = await shop(database)
    asked = (QUESTION, "customer amount", "secret")
    before = await state(w, questions=asked)

    await w.write(
        *world.column("customers", "kanarie TEXT customers left kanarie", readers=["group:managers"]),
        *world.table("kanarie", "left TEXT which customers left", readers=["group:managers"]),
        *world.table("visits_20260105", "at TIMESTAMP", "page TEXT", readers=["group:managers"]),
    )
    await w.follow()

    assert await state(w, questions=asked) == before
    assert "kanarie" in (await compose(w, MIRA, QUESTION, SHOP)).text
    await w.write(*world.table("customers", readers=["group:managers"]))
    alone = await compose(w, ANN, QUESTION, SHOP)
    assert "### churn_date [Column#main:customers:churn_date]" in alone.text
    assert "[Table#main:customers]" not in alone.text


async def test_a_view_that_follows_gives_the_document_of_one_that_is_read(database: store.Database):
    w = await shop(database)
    await compose(w, ANN, QUESTION, SHOP)
    await w.write(
        *world.column("orders", "left BOOLEAN whether customers left"), world.remove("Column#main:customers:email")
    )
    await w.follow()

    followed = await compose(w, ANN, QUESTION, SHOP)
    again = await compose(w, ANN, QUESTION, SHOP)
    cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]

    assert "left BOOLEAN" in followed.text
    assert "email" not in followed.text
    assert told(followed) == told(again) == told(await compose(w, ANN, QUESTION, SHOP))


async def test_a_conversation_is_sent_a_table_again_when_one_of_its_columns_changed(database: store.Database):
    w = await shop(database)
    await compose(w, ANN, QUESTION, SHOP, conversation="c")
    again = await compose(w, ANN, QUESTION, SHOP, conversation="c")
    assert "already given above: Table#main:{alone,customers,orders," in again.text

    await w.write(world.change("Column#main:customers:email", data_type="CITEXT"))
    await w.follow()

    made = await compose(w, ANN, QUESTION, SHOP, conversation="c")
    assert "email CITEXT" in made.text
    assert "already given above: Table#main:{alone,orders," in made.text


async def test_texts_and_very_many_children_are_read_by_themselves(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await shop(database)
    long = "customers left, as is told at length here, for reasons of their own. " * 4
    await w.write(*world.table("notes", *(f"n{n} TEXT {long} {n}" for n in range(3))))
    await w.follow()
    assert "[Column#main:notes:n1]" in (await compose(w, ANN, QUESTION, SHOP)).text

    monkeypatch.setattr(elements, "MOST", 2)
    cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
    assert MOST > 2
    assert "[Column#main:customers:email]" in (await compose(w, ANN, QUESTION, SHOP)).text
    assert set(STRATEGIES) == {s.strategy for s in (await compose(w, ANN, QUESTION, SHOP)).report.graph}


async def test_a_word_names_no_table_and_no_column_and_a_handle_does(database: store.Database):
    w = await shop(database)
    await w.write(*world.table("LEFT", "CUSTOMERS TEXT"))
    await w.follow()

    async def named(question: str) -> int:
        made = await compose(w, ANN, question, SHOP)
        return next(s for s in made.report.graph if s.strategy == "entity").candidates

    assert await named("Which customers left?") == 0
    assert await named("What is in Table#main:orders?") == 1


def test_tables_are_read_by_their_number_until_their_columns_are_too_many():
    def reach(columns: int, size: int) -> int:
        table = Candidate("Table#t", UUID(int=1), "", 1.0, (), size=size, bodies=1 + columns)
        return retrieval.within_reach([table] * 400, 15_000, DEFAULT)

    by_number = DEFAULT.least + 15_000 // DEFAULT.least_tokens

    assert reach(0, 2_000) == reach(20, 400) == by_number
    assert reach(20, 2_000) == retrieval.WIDE * 4 * 15_000 // 2_000 + 1
    assert reach(20, 20_000) == DEFAULT.least
    assert reach(999, 400) == retrieval.MOST * DEFAULT.composition_cap // 1_000 + 1


def test_one_record_with_many_long_parts_does_not_stand_for_all_that_was_found():
    def candidate(record: int, part: int) -> Candidate:
        return Candidate(f"Page#{record}/body/{part}", UUID(int=record), f"body/{part}", 1.0, (), size=4_000)

    long = [candidate(0, n) for n in range(900)]
    others = [candidate(n, 0) for n in range(1, 99)]

    assert retrieval.within_reach([*long, *others], 15_000, DEFAULT) == len([*long, *others])
    assert retrieval.within_reach(long, 15_000, DEFAULT) < 300
    assert retrieval.within_reach([*others, *others, *long], 15_000, DEFAULT) < 300


async def test_numbered_siblings_that_say_other_things_are_found_and_told_by_what_each_says(database: store.Database):
    w = await shop(database)
    towns = ("Berlin", "Paris")
    plans = [world.table(f"plan_{n}", "id INTEGER", comment=f"Budget of {t}.") for n, t in enumerate(towns, 1)]
    owned = [world.firm(f"n{n}", name="Nord", description="It makes gates.", tier=t) for n, t in enumerate(towns, 1)]
    await w.write(*(op for table in plans for op in table), *owned)
    await w.follow()

    made = await compose(w, ANN, "which budget of Paris?", Scope(globs=("shop/**", "firms/n*")))

    assert made.report.ranking[0].section == "Table#main:plan_2"
    assert all(f"Budget of {town}." in made.text and f"tier: {town}" in made.text for town in towns)
    assert "visits_{20260101-20260104}\nat TIMESTAMP" in made.text
