"""One question, one document for exactly these readers, with a report that tells how it came about (C1-C49)."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.context import world
from tests.context.test_reading import company, found
from tests.context.world import ANN, BEN, CLOCK, MIRA, TESS
from ukai import context, store
from ukai.context import Scope, bodies, cache, clause, explaining, index, levels, making, rereading, rows
from ukai.context.given import Given
from ukai.context.reader import Reader
from ukai.context.rows import compositions
from ukai.context.rows import views as listing
from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES, Asked, Strategy

QUESTION = "Why did Alder Works stop the rollout?"
EVERYWHERE = Scope(globs=("**",))
DENIED = """
  - {id: a1, deny: read, records: {types: [Memo]}, to: ["group:sellers"], where: {id: a1}}
"""


async def compose(
    w: world.World, who: str = ANN, question: str = QUESTION, scope: Scope = EVERYWHERE, **more: Any
) -> context.Composition:
    asked = {k: more.pop(k) for k in ("budget_tokens", "conversation", "ceiling_tokens", "skill") if k in more}
    request = context.Request(question=question, scope=scope, **asked)
    rights = {k: more.pop(k) for k in ("agent", "policy") if k in more}
    reader = world.reader(who, more=more.pop("policies", ""), **rights)
    return await context.compose(w.db, request, library=w.library, reader=reader, clock=CLOCK, **more)


def handles(made: context.Composition) -> set[str]:
    return {i.handle for i in made.items}


async def test_a_scope_with_what_no_database_holds_covers_nothing_by_it(database: store.Database):
    w = await company(database)
    nothing = Scope(globs=("a\0b/**", "\0*/x", "a\0"), static_ids=("Firm#a\0b", "Firm#alder\0"))
    some = Scope(globs=("firms/**", "\0*"), exclude=("firms/\0*", "\0"))

    assert (await compose(w, scope=nothing)).items == ()
    assert handles(await compose(w, scope=some)) == {"Firm#alder", "Firm#birch"}


async def test_the_same_skill_is_another_document_for_another_reader(database: store.Database):
    w = await company(database)

    ann, ben, tess, mira, stranger = [await compose(w, who) for who in (ANN, BEN, TESS, MIRA, "nobody@y.example")]

    assert "The rollout stopped because the gate waits." in ann.text
    assert {"Firm#alder", "Memo#a1", "Talk#t1/turn/1", "Month#alder:2026-03"} <= handles(ann)
    assert "cedar" not in ann.text.lower()
    assert handles(ben) == {"Firm#cedar", "Memo#c1", "Month#cedar:2026-03"}
    assert "A maker of gates." not in tess.text
    assert "walrus" in mira.text
    assert (stranger.text.strip(), stranger.items, stranger.report.matched) == ("", (), 0)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(globs=("memos/alder/**",)), {"Memo#a1", "Memo#a2"}),
        (Scope(globs=("memos/**",), exclude=("memos/*/a2",)), {"Memo#a1"}),
        (Scope(static_ids=("Firm#birch", "Firm#cedar", "Firm#gone")), {"Firm#birch"}),
        (Scope(globs=("memos/elm/**",), static_ids=("Memo#a9",)), set[str]()),
        (Scope(), set[str]()),
        # More than stand in one expression: of thousands in one PostgreSQL has no memory to compile it.
        (Scope(globs=(*(f"w{i}/*/x" for i in range(clause.TOGETHER)), "memos/*/a1")), {"Memo#a1"}),
    ],
)
async def test_a_scope_that_names_nothing_alive_gives_nothing(
    database: store.Database, scope: Scope, expected: set[str]
):
    w = await company(database)

    made = await compose(w, scope=scope)

    assert {h.partition("/")[0] for h in handles(made)} == expected
    assert made.report.matched == len(expected)


async def test_what_is_deleted_or_closed_to_a_reader_is_gone_at_the_next_call_without_any_new_index(
    database: store.Database,
):
    w = await company(database)
    before = await compose(w)

    await w.write(world.remove("Memo#a1"), world.change("Memo#a2", readers=["group:managers"]))
    after = await compose(w)

    assert {"Memo#a1", "Memo#a2"} <= handles(before)
    assert not {"Memo#a1", "Memo#a2"} & handles(after)
    assert "rollout stopped" not in after.text


@pytest.mark.parametrize("budget", [40, 120, 400, 2_000])
async def test_a_document_keeps_to_its_budget_and_the_report_accounts_for_every_candidate(
    database: store.Database, budget: int
):
    w = await company(database)

    made = await compose(w, MIRA, budget_tokens=budget)

    assert making.counter().count(made.text) <= budget
    told = {i for r in made.report.ranking for i in r.items} | {d.section for d in made.report.dropped}
    assert told >= set(made.report.found)
    assert {i for r in made.report.ranking if r.level == "none" for i in r.items} <= told - set(made.report.shown)


BUDGETS = (60, 700, 2_500, 2_700, 2_900, 3_100, 3_300, 3_500, 15_000, 15_100, 50_000)


async def test_what_a_small_budget_shows_every_larger_one_shows_at_least_as_well(database: store.Database):
    """E5: also where a larger one reads more, takes more together, or was ordered by a model."""
    w = await world.opened(database)
    ops = [world.firm(f"f{f}", name=f"Firm {f}") for f in range(12)]
    for n in range(250):
        body = f"Report no. {n} on the rollout. " + f"Depot {n} waits for a gate. " * (n * 7 % 23 * (n % 3))
        ops += world.memo(f"m{n}", f"f{n % 12}", body, title=f"Memo no. {n}")
    await w.write(*ops)
    await w.follow()

    made = [await compose(w, MIRA, question="Which depots wait?", budget_tokens=b) for b in BUDGETS]
    ranked = [await compose(w, MIRA, budget_tokens=b, ranker=Backwards()) for b in BUDGETS[6:]]

    assert len(made[-1].report.found) > len(made[-3].report.found)
    assert len({m.report.ranking[0].section for m in ranked}) == 1
    for smaller, larger in [*itertools.pairwise(made), *itertools.pairwise(ranked)]:
        for name, (_, level) in smaller.report.shown.items():
            assert levels.at_least(larger.report.shown[name][1], level), (name, smaller.report.budget)


async def test_a_deployment_may_choose_the_plain_rule_of_bodies_up_to_the_first_that_does_not_fit(
    database: store.Database,
):
    w = await company(database)
    plain = replace(DEFAULT, cut="prefix")

    made = [await compose(w, MIRA, budget_tokens=300, settings=s) for s in (DEFAULT, plain, plain)]

    standing = [{r.level for r in m.report.ranking} for m in made]
    assert made[0].text != made[1].text == made[2].text
    assert [[r.level for r in m.report.ranking if r.level == "full"] for m in made[1:]] == [
        [r.level for r in itertools.takewhile(lambda r: r.level == "full", m.report.ranking)] for m in made[1:]
    ]
    assert "identity" in standing[1]


async def test_a_surface_that_cuts_long_replies_says_where_and_the_document_ends_before(database: store.Database):
    w = await company(database)

    made = await compose(w, MIRA, budget_tokens=5_000, ceiling_tokens=60)

    assert making.counter().count(made.text) <= 60


async def _hangs(ask: Asked) -> Sequence[int]:
    await ask.tx.value("select pg_sleep(30)")
    return range(ask.view.size)


async def _waits(ask: Asked) -> Sequence[int]:
    await asyncio.Event().wait()
    return range(ask.view.size)


async def _breaks(ask: Asked) -> Sequence[int]:
    raise RuntimeError(f"cannot read {ask.view.entries[0].id}")


async def _loses(ask: Asked) -> Sequence[int]:
    """What the driver does when a statement is cancelled while it is being sent."""
    ask.tx.connection.pgconn.finish()
    return await _waits(ask)


@pytest.mark.parametrize(
    ("find", "mark"),
    [(_hangs, "timed_out"), (_waits, "timed_out"), (_loses, "timed_out"), (_breaks, "failed")],
)
async def test_a_strategy_that_hangs_or_breaks_brings_nothing_and_costs_the_others_nothing(
    database: store.Database, find: Any, mark: str
):
    w = await company(database)
    broken = Strategy(fires=lambda ask: True, find=find, timeout_ms=lambda s: 30, reads=lambda _: True)

    made = await compose(w, strategies={"broken": broken, **STRATEGIES})
    usual = await compose(w)

    step = made.report.graph[0]
    assert (step.strategy, step.candidates, bool(getattr(step, mark))) == ("broken", 0, True)
    assert made.text == usual.text
    assert "cannot read" not in made.report.text


def hide(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The store's check lets a record out no more, at the same place of the feed."""
    stored = bodies.stored

    async def without(tx: store.Transaction, scope: Any, nodes: Sequence[Any]) -> list[rows.Node]:
        return [n for n in await stored(tx, scope, nodes) if n.handle != name]

    monkeypatch.setattr(bodies, "stored", without)


@pytest.mark.parametrize("budget", [60, 300, 15_000])
@pytest.mark.parametrize("who", [ANN, MIRA])
async def test_a_document_that_was_made_before_is_written_out_again_of_words_that_are_read_anew(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, who: str, budget: int
):
    w = await company(database)
    first = await compose(w, who, budget_tokens=budget)
    again = await compose(w, who, budget_tokens=budget)
    hide(monkeypatch, "Memo#a1")
    denied = await compose(w, who, budget_tokens=budget)

    assert "strategies" in first.ms
    assert "strategies" not in again.ms
    assert (again.text, again.report, again.items) == (first.text, first.report, first.items)
    assert "Memo#a1" in first.text
    assert "Memo#a1" not in denied.text
    assert len({c.document for c in await saved_of(w, first, again)}) == 1


@pytest.mark.parametrize("tier", ["gold and more", "g"])
async def test_a_document_that_was_made_of_other_values_is_not_written_out_again(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, tier: str
):
    """Even where the store says that nothing has changed: from where to where is true of the same values alone."""
    w = await company(database)
    await compose(w)
    stored = bodies.stored

    async def with_another(tx: store.Transaction, scope: Any, nodes: Sequence[Any]) -> list[rows.Node]:
        found = await stored(tx, scope, nodes)
        return [replace(n, fields={**n.fields, "tier": tier}) if n.handle == "Firm#alder" else n for n in found]

    monkeypatch.setattr(bodies, "stored", with_another)
    again = await compose(w)
    cache._OF.pop(database)  # pyright: ignore[reportPrivateUsage]
    anew = await compose(w)

    assert f"tier: {tier}\n" in again.text
    assert again.text == anew.text


async def test_what_stands_there_by_its_id_alone_is_asked_for_again_too(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    await w.write(*world.table("orders"), *world.table("returns"))
    await w.follow()
    shop: dict[str, Any] = {"question": "Which orders?", "scope": Scope(globs=("shop/**",))}
    first = await compose(w, MIRA, **shop)
    hide(monkeypatch, "Table#main:orders")
    denied = await compose(w, MIRA, **shop)

    assert ("orders" in first.text, "returns" in first.text) == (True, True)
    assert ("orders" in denied.text, "returns" in denied.text) == (False, True)


async def test_what_is_only_pointed_at_is_asked_for_again_too(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    given = (await compose(w)).report.shown
    first, again = [await compose(w, given=given) for _ in range(2)]
    hide(monkeypatch, "Memo#a1")
    denied = await compose(w, given=given)

    assert "already given above: Memo#{a1,a2}" in again.text
    assert "strategies" not in again.ms
    assert (again.text, again.items) == (first.text, first.items)
    assert "already given above: Memo#a2" in denied.text


async def saved_of(w: world.World, *made: context.Composition) -> list[compositions.Saved]:
    async with w.db.transaction() as tx:
        found = [await compositions.saved(tx, m.id) for m in made]
    return [f for f in found if f is not None]


async def test_the_same_question_is_searched_for_once_while_nothing_changes(database: store.Database):
    w = await company(database)
    asked: list[str] = []

    async def counts(ask: Asked) -> Sequence[int]:
        asked.append(ask.question)
        return []

    counting = {"counting": Strategy(fires=lambda _: True, find=counts, timeout_ms=lambda s: 100), **STRATEGIES}
    first = await compose(w, strategies=counting)
    again = await compose(w, strategies=counting)
    somebody = await compose(w, BEN, strategies=counting)
    await w.write(world.change("Firm#alder", tier="another"))
    changed = await compose(w, strategies=counting)

    assert len(asked) == 3
    assert (again.text, again.report.text) == (first.text, first.report.text)
    assert somebody.text != first.text
    assert "another" in changed.text


async def turn(w: world.World, who: str = ANN, *, given: Given | None = None, **more: Any) -> context.Composition:
    """As a turn composes: it knows what it was given, and has no name for it."""
    return await compose(w, who, given=given or {}, **more)


def is_warm(made: context.Composition) -> bool:
    return "strategies" not in made.ms


async def test_turns_that_ask_alike_are_warm_and_each_is_given_what_it_was_not_given(database: store.Database):
    w = await company(database)
    first, again = [await turn(w) for _ in range(2)]
    named = [await compose(w, conversation=c) for c in ("c1", "c2")]
    more, more_again = [await turn(w, given=made.report.shown) for made in (first, again)]
    more_named = [await compose(w, conversation=c) for c in ("c1", "c2")]
    replays = [
        await context.replay(w.db, made.id, library=w.library, reader=world.reader(ANN))
        for made in (again, named[1], more_again, more_named[1])
    ]

    assert [is_warm(m) for m in (first, again, *named)] == [False, True, True, True]
    assert {m.text for m in (again, *named)} == {first.text}
    assert [is_warm(m) for m in (more_again, *more_named)] == [True] * 3
    assert {m.text for m in (more_again, *more_named)} == {more.text}
    assert "already given above: Memo#{a1,a2}\n" in more.text
    assert "because the gate waits" not in more.text
    assert len({m.report.digest for m in (first, again, *named)}) == 1
    assert [r and (r.same, r.changed) for r in replays] == [(True, ())] * 4


async def test_a_turn_is_not_warm_where_it_would_not_be_given_the_same(database: store.Database):
    w = await company(database)
    usual = await turn(w)
    others = {
        "caller": await turn(w, MIRA),
        "agent": await turn(w, agent="clerk"),
        "fields": await turn(w, policy="memos"),
        "rights": await turn(w, policies=DENIED),
        "scope": await turn(w, scope=Scope(globs=("memos/**",))),
        "budget": await turn(w, budget_tokens=60),
        "question": await turn(w, question=f"{QUESTION} "),
        "given": await turn(w, given={"Memo#a1": usual.report.shown["Memo#a1"]}),
    }
    await w.write(world.change("Memo#a1", body="The rollout goes on in May."))
    changed = await turn(w)
    await w.write(world.change("Memo#a1", readers=["group:managers"]))
    hidden = await turn(w)
    elsewhere = await turn(w, conversation="c1")

    said = "The rollout stopped because the gate waits."
    assert [name for name, made in others.items() if is_warm(made)] == []
    assert {name for name, made in others.items() if said not in made.text} == {"rights", "given"}
    assert [is_warm(m) for m in (changed, hidden, elsewhere)] == [False, False, True]
    assert "The rollout goes on in May." in changed.text
    assert ("Memo#a1" in hidden.text, "Memo#a1" in elsewhere.text) == (False, False)


async def test_a_change_that_comes_while_the_words_are_read_again_is_in_the_document(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    first = await compose(w)
    let_out, coming = bodies.let_out, [world.change("Firm#alder", tier="another")]

    async def and_then(*args: Any) -> Any:
        shown = await let_out(*args)
        while coming:
            await w.write(coming.pop())
        return shown

    monkeypatch.setattr(bodies, "let_out", and_then)
    made = await compose(w)

    assert "another" not in first.text
    assert "another" in made.text
    assert made.report.versions["records"] != first.report.versions["records"]


async def test_vectors_that_come_later_are_looked_at_without_a_change_of_the_graph(database: store.Database):
    w = await company(database)
    await w.write(world.change("Memo#a1", body="The rollout stopped because the gate waits for a crane."))
    await index.catch_up(w.db, w.types)
    waiting = [await compose(w) for _ in range(2)]

    await index.embed(w.db, w.cache)
    made = await compose(w)

    assert [m.report.versions["vectors"] for m in (*waiting, made)] == ["2", "2", "0"]  # of a title and a body
    size = made.report.matched
    assert [m.report.events for m in (*waiting, made)] == [*[(f"without_vector 1 of {size}",)] * 2, ()]


async def test_nobody_is_told_of_texts_without_a_vector_that_they_may_not_read(database: store.Database):
    w = await company(database)
    await w.write(*world.memo("new", "alder", "What nobody has embedded yet.", readers=[world.MIRA]))
    await index.catch_up(w.db, w.types)

    told = {who: (await compose(w, who)).report.events for who in (ANN, MIRA)}

    assert told[ANN] == ()
    assert [e.partition(" of ")[0] for e in told[MIRA]] == ["without_vector 1"]


async def test_equal_input_gives_equal_bytes_in_whatever_order_rows_come(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    first = await compose(w, MIRA, budget_tokens=300)
    rng = random.Random(5)

    for module, name in [(listing, "listed"), (rows, "readable_nodes"), (rows, "nodes")]:
        original = getattr(module, name)

        async def shuffled(*args: Any, original: Any = original, **named: Any) -> Any:
            found = await original(*args, **named)
            rng.shuffle(found)
            return [
                replace(n, fields=dict(reversed(n.fields.items()))) if isinstance(n, rows.Node) else n for n in found
            ]

        monkeypatch.setattr(module, name, shuffled)
    for _ in range(3):
        monkeypatch.setattr(cache, "of", lambda _: cache.Views())
        again = await compose(w, MIRA, budget_tokens=300)
        assert (again.text, again.report.text) == (first.text, first.report.text)


async def test_the_seed_of_the_process_moves_no_byte(database: store.Database, database_url: str):
    w = await company(database)
    made = await compose(w)
    code = (
        "import asyncio, hashlib, sys\n"
        "from tests.context import test_composing as t, world\n"
        "from ukai import store\n"
        "async def main():\n"
        "    async with store.connect(sys.argv[1]) as db:\n"
        "        made = await t.compose(world.World(db=db))\n"
        "        print(hashlib.sha256((made.text + made.report.text).encode()).hexdigest())\n"
        "asyncio.run(main())\n"
    )

    digests = [await asyncio.to_thread(_in_a_process_of_its_own, code, database_url, seed) for seed in ("1",)]

    ours = hashlib.sha256((made.text + made.report.text).encode()).hexdigest()
    assert digests == [ours]


def _in_a_process_of_its_own(code: str, url: str, seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, url],
        env=os.environ | {"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


async def test_a_conversation_is_not_sent_the_same_again_unless_it_changed(database: store.Database):
    w = await company(database)
    first = await compose(w, conversation="c1")
    again = await compose(w, conversation="c1")
    other = await compose(w, conversation="c2")
    somebody = await compose(w, MIRA, conversation="c1")
    await w.write(world.change("Memo#a1", body="The rollout goes on in May."))
    await w.follow()
    changed = await compose(w, conversation="c1")

    said = "The rollout stopped because the gate waits."
    assert said in first.text
    assert said not in again.text
    assert "already given above: Memo#{a1,a2}\n" in again.text
    assert said in other.text
    assert said in somebody.text
    assert "The rollout goes on in May." in changed.text


async def test_a_score_below_its_rank_is_explained_by_the_best_of_its_section_while_that_may_be_read(
    database: store.Database,
):
    """Context req. 27, 46."""
    w = await company(database)
    made = await compose(w, question="Who is near the depot?")
    row = next(r for r in made.report.ranking if r.section.startswith("Firm#") and r.best)
    best = next(r for r in made.report.ranking if r.section == row.best)

    async def why() -> str:
        asked = {"library": w.library, "reader": world.reader(ANN)}
        return str(await explaining.explain(database, made.id, row.section, **asked))  # type: ignore[arg-type]

    before = await why()
    await w.write(world.change(best.section, owner=BEN))
    async with database.snapshot() as tx:
        after = await rereading.reread(tx, made.report.as_json(), library=w.library, reader=world.reader(ANN))

    assert best.score > row.score
    assert f"; ranked with {best.section}, score {best.score:.2f})" in before
    assert best.section not in str(after) + await why()
    assert row.section in str(after)


async def test_a_huge_value_is_put_aside_for_this_audience_alone(database: store.Database):
    w = await company(database)
    await w.write(world.change("Firm#alder", tier="wide " * 9_000))
    await w.follow()

    made = await compose(w)
    ref = made.text.partition("fetch_offloaded ")[2].partition("]")[0].split()[0].strip("`")
    again = await compose(w)

    async def fetched(who: str) -> str | None:
        return await context.fetch_offloaded(database, ref, library=w.library, reader=world.reader(who))

    why = await explaining.explain(database, made.id, "Firm#alder", library=w.library, reader=world.reader(ANN))

    assert len(ref) == 32
    assert why is not None
    assert " in full, but for 1 value put aside" in why.lines[0]
    assert ref in again.text
    assert making.counter().count(made.text) < 5_000
    assert await fetched(ANN) == "wide " * 9_000
    assert await fetched(MIRA) is None
    assert await fetched(BEN) is None
    assert await context.fetch_offloaded(database, "0" * 32, library=w.library, reader=world.reader(ANN)) is None
    await w.write(world.change("Firm#alder", owner=BEN))
    assert await fetched(ANN) is None


async def test_why_something_is_not_in_a_document_is_told_to_its_readers_alone(database: store.Database):
    w = await company(database)
    made = await compose(w, scope=Scope(globs=("memos/**",), exclude=("memos/*/a2",)))

    async def why(name: str, who: str = ANN) -> str:
        found = await context.explain(database, made.id, name, library=w.library, reader=world.reader(who))
        return "nothing" if found is None else f"{found.is_shown} {' '.join(found.lines)}"

    assert (await why("Memo#a1")).startswith("True rank 1")
    assert "excludes memos/*/a2" in await why("Memo#a2")
    assert "no glob of the scope covers its place, firms/alder" in await why("Firm#alder")
    hidden, absent = await why("Memo#a3"), await why("Memo#zz")
    assert hidden == absent == "False there is no record of this name that you may read"
    assert await why("Firm#cedar") == absent
    assert await why("Memo#a1/zz") == await why("Firm#alder/zz") == absent
    assert await why("Memo#a1", MIRA) == "nothing"
    assert await why("Memo#a1", BEN) == "nothing"


async def test_a_field_as_cases_name_it_is_explained_by_where_its_text_stands(database: store.Database):
    w = await company(database)
    long = "\n\n".join(["The depot is closed on Fridays. " * 100, "Why did the rollout stop? The gate waits. " * 80])
    await w.write(*world.memo("long", "alder", long))
    await w.follow()
    made = await compose(w)
    bare = await compose(w, strategies={})

    async def why(name: str, of: context.Composition = made, who: str = ANN) -> str:
        found = await context.explain(database, of.id, name, library=w.library, reader=world.reader(who))
        assert found is not None
        return f"{found.is_shown} {' '.join(found.lines)}"

    talk = [explaining.reported(saved, "Talk#t1/turns", w.types) for saved in await saved_of(w, made)]

    assert (await why("Memo#a1/body")).startswith("True it stands in Memo#a1 rank 1 in full")
    assert (await why("Talk#t1/turns")).startswith("True Talk#t1/turn/")
    assert [t.is_shown for t in talk] == [True]
    assert (await why("Memo#long/body")).startswith("True Memo#long/body/2: ")
    assert "items, Memo#long/body/2 now ranks" in await why("Memo#long/body", bare)
    assert "items, Memo#a1 now ranks" in await why("Memo#a1/title", bare)
    assert await why("Memo#a2/secret") == await why("Memo#a1/none") == f"False {explaining.NOT_THERE}"


async def test_why_something_is_not_in_a_document_says_what_to_do(database: store.Database):
    w = await company(database)
    made = await compose(w, budget_tokens=1)

    async def why(name: str) -> list[str]:
        found = await context.explain(database, made.id, name, library=w.library, reader=world.reader(ANN))
        assert found is not None
        return list(found.lines)

    small, slip = await why("Firm#alder"), [await why(name) for name in ("Firm#aldre", "Firm#ceder", "Memo#a3", "Firm")]
    await w.write(world.change("Firm#alder", owner=BEN))

    assert "left out: needed" in small[0]
    assert small[-1] == explaining.FURTHER
    assert slip[0] == [explaining.NOT_THERE, "did you mean Firm#alder?"]
    assert slip[1:] == [[explaining.NOT_THERE], [explaining.NOT_THERE], [explaining.NO_HANDLE]]
    assert await why("Firm#aldre") == await why("Firm#alder") == [explaining.NOT_THERE]


async def test_a_record_is_explained_by_its_name_as_people_write_it(database: store.Database):
    """Only where one record is meant, and they may read it."""
    w = await company(database)
    only = ["group:managers"]
    await w.write(*world.memo("wiki/a b", "alder", "Hm."), *world.memo("wiki/closed", "alder", "Hm.", readers=only))
    await w.write(*world.memo("wiki", "alder", "Hm."), *world.table("orders"), *world.table("closed", readers=only))
    made = await compose(w)

    async def why(name: str) -> tuple[str, tuple[str, ...]]:
        found = await context.explain(database, made.id, name, library=w.library, reader=world.reader(ANN))
        assert found is not None
        return found.handle, found.lines

    assert (await why("Memo#wiki/a b"))[0] == "Memo#wiki%2Fa%20b"
    assert await why("Memo#wiki/a b/body") == await why("Memo#wiki%2Fa%20b/body")
    assert await why("Memo#wiki/body") == await why("Memo#%77iki/body")
    assert explaining.NOT_THERE not in (await why("Memo#wiki/a b/body"))[1] + (await why("Memo#wiki/body"))[1]
    assert (await why("table#main:orders"))[1] == (explaining.NOT_THERE, "did you mean Table#main:orders?")
    assert (await why("Mmeo#wiki/a b"))[1][1:] == ("did you mean Memo#wiki%2Fa%20b?",)
    for hidden in ("Memo#wiki/closed", "table#main:closed", "table#main:none", "Memo#wiki/none", "Mmeo#wiki/closed"):
        assert (await why(hidden))[1] == (explaining.NOT_THERE,)


async def test_a_record_outside_of_the_agents_own_scope_is_told_once(database: store.Database):
    w = await company(database)
    scope = Scope(globs=("memos/**",))
    made = await compose(w, scope=scope)
    reader = world.reader(ANN, scope)
    found = await context.explain(database, made.id, "Firm#alder", library=w.library, reader=reader)

    assert found is not None
    assert found.lines == ("the agent's scope does not cover its place, firms/alder",)


async def test_a_replay_gives_the_same_bytes_or_names_what_changed(database: store.Database):
    w = await company(database)
    made = await compose(w, budget_tokens=200)

    async def again(**more: Any) -> context.Replayed | None:
        return await context.replay(database, made.id, library=w.library, reader=world.reader(ANN), **more)

    same = await again()
    assert same is not None
    assert (same.same, same.text, same.changed) == (True, made.text, ())
    await w.write(world.change("Memo#a3", body="What managers alone read."), *world.memo("c9", "cedar", "Hidden."))
    await w.follow()
    assert (await again()) == same
    await w.write(world.change("Memo#a1", body="It goes on."))
    other = await again(settings=replace(DEFAULT, fetch_all=1))
    assert other is not None
    assert not other.same
    assert other.changed[:2] == ("records in scope", "the thresholds or the strategies")
    assert "Memo#a1 says something else" in other.changed
    assert await context.replay(database, made.id, library=w.library, reader=world.reader(MIRA)) is None


async def test_a_replay_names_the_input_that_changed_and_no_other(database: store.Database):
    w = await company(database)
    made = await compose(w, scope=Scope(globs=("memos/**",)))
    elsewhere = """
  - {id: no-months, deny: read, records: {types: [Month]}, to: ["group:sellers"]}
"""

    async def changed(reader: Reader) -> tuple[str, ...]:
        found = await context.replay(database, made.id, library=w.library, reader=reader)
        assert found is not None
        return found.changed

    assert await changed(world.reader(ANN, more=elsewhere)) == ("the rights of whoever reads",)
    assert await changed(world.reader(ANN, scope=Scope(globs=("memos/*/*",)))) == ("the scope",)


async def test_compositions_are_kept_with_their_reports_and_forgotten_in_time(database: store.Database):
    w = await company(database)
    made = await compose(w, conversation="c1")
    await compose(w, MIRA)

    async with database.transaction() as tx:
        kept = await compositions.saved(tx, made.id)
        assert kept is not None
        assert json.loads(kept.report) == json.loads(made.report.text)
        assert (kept.principals, kept.agent, kept.at) == ((ANN,), "coach", CLOCK.now())
        assert await compositions.delete_compositions(tx, CLOCK.now()) == 0
        assert await compositions.delete_compositions(tx, CLOCK.now().replace(year=2027)) == 2
        assert await tx.value("select count(*) from composition_report") == 0
        assert await tx.value("select count(*) from given") == 0


async def test_a_document_that_was_made_before_is_kept_with_its_report_though_that_was_forgotten(
    database: store.Database,
):
    w = await company(database)
    first = await compose(w)
    async with database.transaction() as tx:
        await compositions.delete_compositions(tx, CLOCK.now().replace(year=2027))

    again = [await compose(w), await compose(w)]

    async with database.transaction() as tx:
        kept = [await compositions.saved(tx, made.id) for made in again]
        assert [k and k.report for k in kept] == [first.report.text] * 2
        assert await tx.value("select count(*) from composition_report") == 1


class Backwards:
    """Ranks what comes last first."""

    model_id = "backwards"
    asked = 0

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        Backwards.asked += 1
        return list(range(len(texts)))


class Chat:
    """Says the same order whatever it is asked."""

    model_id = "chat"

    def __init__(self, answer: str | None) -> None:
        self.answer, self.asked = answer, 0

    async def ask(self, prompt: str, *, seed: int) -> str:
        self.asked += 1
        if self.answer is None:
            raise RuntimeError(prompt)
        return self.answer


async def test_a_model_may_rank_and_what_it_said_is_replayed_without_it(database: store.Database):
    w = await company(database)
    usual = await compose(w, budget_tokens=120)
    reranked = await compose(w, ranker=Backwards(), budget_tokens=120)
    chat = Chat("[3, 2, 1]")
    said = await compose(w, ranker=chat, budget_tokens=120)
    broken = await compose(w, ranker=Chat(None), budget_tokens=120)
    asked = chat.asked

    replayed = await context.replay(database, said.id, library=w.library, reader=world.reader(ANN), ranker=chat)

    assert [r.section for r in reranked.report.ranking] != [r.section for r in usual.report.ranking]
    assert broken.text == usual.text
    assert broken.report.events == ("ranker_failed RuntimeError",)
    assert asked > 0
    assert chat.asked == asked
    assert replayed is not None
    assert (replayed.same, replayed.text) == (True, said.text)


@pytest.mark.parametrize("broken", ["stored", "asked", "raises"])
async def test_vectors_that_are_none_cost_meaning_and_no_answer(database: store.Database, broken: str):
    w = await company(database)
    known = [i.handle for i in await found(w, QUESTION)]

    class Broken(world.Hashed):
        def embed(self, texts: Sequence[str]) -> Any:
            if broken == "raises":
                raise OSError("the model's file is gone")
            return super().embed(texts) * (np.nan if broken == "asked" else 1)

    if broken == "stored":
        async with database.transaction() as tx:
            await tx.execute("update embedding set vector = decode(repeat('0000c07f', 32), 'hex')")
    w.cache = world.Cache(Broken())
    items, made = await found(w, QUESTION), await compose(w)

    assert {i.handle for i in items} == set(known)
    assert "Memo#a1" in made.text
    failed = [s.failed for s in made.report.graph if s.strategy == "embedding"]
    assert failed == [{"stored": "", "asked": "WrongVector", "raises": "OSError"}[broken]]
    if broken == "stored":  # whoever embeds next embeds them again
        await index.embed_few(database, w.cache, limit=99, among=99)
        assert [i.handle for i in await found(w, QUESTION)] == known


async def test_a_figure_that_its_place_holds_too_and_the_end_of_a_long_title_are_told(database: store.Database):
    w = await company(database)
    await w.write(
        *world.month("alder", "2026-07", 7),
        *world.memo("long", "alder", "The rollout.", title=f"{'A gate of the depot, ' * 6}and its code is 4711"),
    )
    await w.follow()

    made = await compose(w)

    assert "calls: 7" in made.text
    assert "and its code is 4711" in made.text
