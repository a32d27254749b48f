"""Whatever is written between: a call that meets what was kept says what one says that keeps nothing (C38, C39)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.context import world
from tests.context.test_reading import company
from tests.context.world import ANN, BEN, CLOCK, MIRA, STAFF, TESS
from ukai import context, gate, store
from ukai.context import Scope, cache, index
from ukai.context.given import Given
from ukai.context.render import templates
from ukai.kit.clock import FixedClock

QUESTIONS = ("Why did Alder Works stop the rollout?", "Firm#birch and the walrus", "shop customers orders country")
SCOPES = (
    Scope(globs=("**",)),
    Scope(globs=("memos/**", "firms/*")),
    Scope(globs=("shop/**",), static_ids=("Firm#alder",)),
)
DENIED = ("", "\n  - {id: shut, deny: read, records: {types: [Memo]}, to: [ann@x.example]}\n")
WORDS = ("rollout", "gate", "depot", "walrus", "alder", "works", "birch", "stopped", "waits", "orders", "country")
AUDIENCES = (STAFF, ["group:managers"], [ANN], [])
STEPS = 14
Asked = tuple[str, str, Scope, str, int | None]


def said(drawn: random.Random, most: int = 8) -> str:
    return f"{' '.join(drawn.choices(WORDS, k=drawn.randint(1, most)))}.".capitalize()


def written(drawn: random.Random) -> list[dict[str, Any]]:
    firm, memo = drawn.choice(("alder", "birch", "f1")), f"m{drawn.randrange(4)}"
    readers = drawn.choice(AUDIENCES)
    turns = [(drawn.choice("AB"), said(drawn, 15)) for _ in range(4)]
    ways: list[Callable[[], list[dict[str, Any]]]] = [
        lambda: [world.firm(firm, drawn.choice((ANN, BEN)), name=said(drawn, 3), description=said(drawn))],
        lambda: [world.change(f"Firm#{firm}", owner=drawn.choice((ANN, BEN, MIRA)))],
        lambda: [world.change(f"Firm#{firm}", description="wide " * drawn.choice((1, 9_000)))],
        lambda: world.memo(memo, firm, said(drawn, 40), readers=readers, title=said(drawn, 3)),
        lambda: [world.change(f"Memo#{memo}", body=said(drawn, 30))],
        lambda: [world.change(f"Memo#{memo}", readers=readers)],
        lambda: [world.remove(f"Memo#{memo}")],
        lambda: world.talk(f"t{drawn.randrange(3)}", firm, *turns, title=said(drawn, 3)),
        lambda: world.table(
            "orders", f"id INT {said(drawn, 3)}", "country TEXT", readers=readers, comment=said(drawn, 4)
        ),
        lambda: [world.edge("rival", f"Firm#{firm}", "Firm#alder")],
    ]
    return drawn.choice(ways)()


def shelf(w: world.World) -> templates.Shelf:
    """One that tells words in capitals, and one that turns them about."""
    keys = [f"{name}/{w.types[name].content_hash}" for name in ("Firm", "Memo")]
    sources = dict(zip(keys, ("{{ title|upper }} {{ fields|tojson }}", "{{ text|reverse }}"), strict=True))
    return templates.Shelf(sources=sources, modes=dict.fromkeys(keys, "active"))


@pytest.mark.parametrize("seed", [3, 4, 8])
async def test_what_is_kept_says_the_same_as_what_is_made_anew(database: store.Database, database_url: str, seed: int):
    drawn, w = random.Random(seed), await company(database)
    asks: list[Asked] = []
    given: dict[str, Given] = {}
    kept = 0
    async with store.connect(database_url, max_size=2) as other:

        async def made(db: store.Database, asked: Asked, *, is_templated: bool) -> context.Composition:
            who, question, scope, denied, budget = asked
            library = replace(w.library, shelf=shelf(w)) if is_templated else w.library
            request = context.Request(question=question, scope=scope, budget_tokens=budget)
            reader = world.reader(who, more=denied)
            return await context.compose(db, request, library=library, reader=reader, clock=CLOCK, given=given.get(who))

        for step in range(STEPS):
            clock = FixedClock(CLOCK.now() + timedelta(minutes=step))
            delta = {"domain": "trade", "ops": written(drawn)}
            await gate.submit(w.db, delta, author=world.INTAKE, rights=gate.ALL, clock=clock)
            await (w.follow() if step % 3 else index.catch_up(database, w.types))
            asks.append(
                (
                    drawn.choice((ANN, BEN, TESS, MIRA)),
                    drawn.choice(QUESTIONS),
                    drawn.choice(SCOPES),
                    drawn.choice(DENIED),
                    drawn.choice((None, 60, 400)),
                )
            )
            asked = drawn.choice(asks)
            for is_templated in (False, True):
                cache._OF[other] = cache.Views()  # pyright: ignore[reportPrivateUsage]
                found = [await made(db, asked, is_templated=is_templated) for db in (database, database, other)]

                told = [(m.text, m.report.text, [i.as_json() for i in m.items]) for m in found]
                assert told[0] == told[1] == told[2], (step, asked)
                kept += "strategies" not in found[1].ms
            if drawn.random() < 0.5:
                given[asked[0]] = found[0].report.shown

    assert kept > STEPS / 2, "second calls meet what was kept"
