"""A text that is cut because it is long: each piece is found for what it says, where its record stands (E6, C15)."""

from __future__ import annotations

from tests.context import world
from tests.context.test_composing import compose
from tests.context.test_following import MEMOS, seen
from tests.context.test_reading import company
from tests.context.world import MIRA
from ukai import store
from ukai.context import cache

LONG = f"{'The depot waits. ' * 230}\n\n{'A gate is open. ' * 230}"


async def pieces(db: store.Database) -> world.World:
    w = await company(db)
    await w.write(
        *world.memo("long", "alder", LONG, title="Minutes"),
        *world.memo("short", "alder", "The depot has a gate.", title="Minutes"),
        *world.talk("t9", "alder", "The depot waits.", ("Bo", "A gate is open.")),
    )
    await w.follow()
    return w


async def test_a_piece_of_a_long_text_says_nothing_that_stands_in_the_next_one(database: store.Database):
    w = await pieces(database)

    made = await compose(w, MIRA, "depot gate", MEMOS)

    order = [r.section for r in made.report.ranking]
    assert order.index("Memo#short") < min(order.index(f"Memo#long/body/{n}") for n in (1, 2))


async def test_pieces_of_a_long_text_stand_where_their_record_does_and_turns_in_their_talk(database: store.Database):
    w = await pieces(database)

    view = await seen(w, cache.Views(), MIRA, MEMOS)

    assert view.corpus.group is not None
    numbers: list[int] = view.corpus.group.tolist()
    ground = {e.id: view.grounds[number] for e, number in zip(view.entries, numbers, strict=True)}
    assert {ground[f"Memo#{id}"] for id in ("long", "long/body/1", "long/body/2", "short")} == {"memos/alder"}
    assert {ground[f"Talk#t9{part}"] for part in ("", "/turn/1", "/turn/2")} == {"talks/alder/t9"}
    parts = {e.id for e, is_part in zip(view.entries, view.corpus.is_part, strict=True) if is_part}
    assert {"Talk#t9/turn/1", "Talk#t9/turn/2"} <= parts
    assert not any(id.startswith("Memo") for id in parts)
