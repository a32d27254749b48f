"""A view that follows the feed of changes is the one that a whole reading gives, whatever was written (C38-C39)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.context import world
from tests.context.test_composing import EVERYWHERE
from tests.context.test_reading import company
from tests.context.world import ANN, BEN, MIRA, TESS
from ukai import store
from ukai.context import Scope, cache, following, index, layered
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.context.view import View
from ukai.kit import bm25, layers
from ukai.llm import rows as llm_rows
from ukai.llm.cache import Cache

MEMOS = Scope(globs=("memos/**", "talks/**"))
Write = Callable[[random.Random, int], list[dict[str, Any]]]
FIRMS, MEMO_IDS = ("alder", "birch", "cedar"), ("a1", "a3", "c1")
REMOVED = {7: "Memo#a2", 15: "Talk#t1", 23: "Firm#birch"}
WRITES: dict[str, Write] = {
    "another owner": lambda r, n: [world.change(f"Firm#{r.choice(FIRMS)}", owner=BEN if n % 16 < 8 else ANN)],
    "another tier": lambda r, n: [world.change(f"Firm#{r.choice(FIRMS)}", tier=f"t{n}")],
    "a new memo": lambda r, n: world.memo(
        f"{r.choice('abz')}n{n}", r.choice(FIRMS), f"A rollout of gates {n}", title=f"T{n}"
    ),
    "other readers": lambda r, _: [
        world.change(f"Memo#{r.choice(MEMO_IDS)}", readers=r.choice([world.STAFF, ["group:managers"]]))
    ],
    "another text": lambda r, n: [
        world.change(f"Memo#{r.choice(MEMO_IDS)}", body=f"Other words about a depot {n} " * 3)
    ],
    "a long text": lambda r, n: [world.change(f"Memo#{r.choice(MEMO_IDS)}", body=f"Depot {n} has gates.\n\n" * 250)],
    "a memo of nobody": lambda _, n: world.memo(f"o{n}", "alder", f"Words {n} of a loose memo")[:1],
    "a talk": lambda r, n: world.talk(f"n{n}", r.choice(FIRMS), "We wait.", ("Bo", f"For {n} gates."), title=f"On {n}"),
    "a month": lambda r, n: world.month(r.choice(FIRMS), f"2027-{n:02}", n),
    "an edge": lambda r, n: [
        world.firm(f"f{n}", r.choice([ANN, BEN]), name=f"F{n} Works"),
        world.edge("rival", f"Firm#{r.choice(FIRMS)}", "") | {"to": {"ref": f"$firm-f{n}"}},
    ],
}


async def seen(w: world.World, views: cache.Views, who: str, scope: Scope) -> View:
    reader = world.reader(who)
    compiled = CompiledScope(rights=reader.rights, edges=reader.edges, scopes=(scope,))
    bounds = cache.Bounds(in_memory=10_000, exact=10_000)
    async with w.db.snapshot() as tx:
        found = await views.get(tx, compiled, types=w.types, cache=w.cache, bounds=bounds)
    assert found is not None
    return found


async def linked(w: world.World, seen: View) -> list[list[int]]:
    """Pairs of rows with an edge from one to the other, asked for one by one."""
    async with w.db.snapshot() as tx:
        ends = await tx.fetch("select src, dst from edge where alive")
    rows = [[seen.nodes.get(node) for node in pair] for pair in ends]
    return [list(pair) for pair in sorted({(a, b) for a, b in rows if a is not None and b is not None})]


def plain(value: Any) -> Any:
    """Of a view all that can be compared."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, bm25.Packed):
        entries = bm25._joined(value.layers, value.size).entries()  # pyright: ignore[reportPrivateUsage]
        return value.size, plain(value.lengths), sorted(zip(*(e.tolist() for e in entries), strict=True))
    if isinstance(value, layered.Names):
        return plain(dict(value))
    if isinstance(value, layered.Vectors):
        return plain(layered._vectors(value.layers, value.size))  # pyright: ignore[reportPrivateUsage]
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name != "known"]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return [(k, plain(v)) for k, v in sorted(value.items(), key=str)]
    return value


async def test_whatever_is_written_a_view_that_follows_is_the_one_that_is_read(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    views, draw, ways = cache.Views(), random.Random(11), list[bool]()
    held: list[tuple[View, Any]] = []
    question = world.Hashed().embed(["Why does the depot wait for gates?"])[0]
    real = following.followed

    async def counted(*given: Any) -> View | None:
        found = await real(*given)
        ways.append(found is not None)
        return found

    monkeypatch.setattr(following, "followed", counted)
    monkeypatch.setattr(layers, "SMALLER", 1)  # in a view of so few items layers would be joined at once
    readers = [(ANN, EVERYWHERE), (BEN, EVERYWHERE), (TESS, EVERYWHERE), (MIRA, EVERYWHERE), (MIRA, MEMOS)]
    for number in range(24):
        removed = [world.remove(REMOVED[number])] if number in REMOVED else []
        await w.write(*(removed or WRITES[sorted(WRITES)[number % len(WRITES)]](draw, number)))
        if draw.random() < 0.7:
            await w.follow()
        for who, scope in readers:
            moved, whole = await seen(w, views, who, scope), await seen(w, cache.Views(), who, scope)
            held.append((moved, plain(moved)))
            assert held[-1][1] == plain(whole), number
            assert moved.links.T.tolist() == await linked(w, moved), number
            assert np.array_equal(moved.corpus.breadth, whole.corpus.breadth)
            assert plain(moved.cosine(question)) == plain(whole.cosine(question))

    assert ways.count(True) > 80
    assert sum(len(view.rows.layers) > 1 for view, _ in held) > 20
    # Whoever still works with an earlier one finds nothing else in it.
    assert all(plain(view) == said for view, said in held[::7])


HIDDEN = 300


async def test_what_a_record_leads_to_and_is_not_seen_is_not_read_to_follow_a_change_of_it(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w, views = await company(database), cache.Views()
    async with database.transaction() as tx:
        await tx.execute(
            "insert into node (id, domain, type, key, path, props) select gen_random_uuid(), 'trade', 'Firm', 'h' || n,"
            " 'firms/h' || n, jsonb_build_object('key', 'h' || n, 'owner', %s::text) from generate_series(1, %s) n",
            (BEN, HIDDEN),
        )
        await tx.execute(
            "insert into edge (id, domain, type, src, dst) select gen_random_uuid(), 'trade', 'rival', a.id, b.id "
            "from node a, node b where a.type = 'Firm' and b.type = 'Firm' "
            "and ((a.key = 'alder' and b.key ~ '^h[0-9]') or (a.key ~ '^h[0-9]' and b.key in ('birch', 'cedar')))"
        )
    await w.write(world.firm("free", name="Free Hall"), *world.memo("free", "free", "Far from all that."))
    await w.follow()
    await seen(w, views, ANN, EVERYWHERE)
    read, pieces = list[int](), listing._pieces  # pyright: ignore[reportPrivateUsage]

    async def counted(*given: Any) -> AsyncIterator[list[Any]]:
        async for piece in pieces(*given):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr(listing, "_pieces", counted)
    monkeypatch.setattr(listing, "EDGES", 100)
    steps: dict[str, list[dict[str, Any]]] = {
        "it changes": [world.change("Firm#alder", tier="other")],
        "what it leads to and is seen": [world.change("Firm#birch", tier="other")],
        "what it leads to goes": [world.change("Firm#birch", owner=BEN)],
        "what leads to it comes": world.memo("n", "alder", "A new one."),
        "another one changes": [world.change("Firm#free", tier="other")],  # so that the feed names it no more
        "what it leads to, and much that is hidden, too, comes": [world.change("Firm#cedar", owner=ANN)],
        "it goes": [world.change("Firm#alder", owner=BEN)],
        "it comes": [world.change("Firm#alder", owner=ANN)],
        "an edge of it": [world.edge("rival", "Firm#cedar", "Firm#alder")],
        "no edge of it": [{**world.edge("rival", "Firm#cedar", "Firm#alder"), "kind": "delete_edge"}],
        "an edge of it to what is hidden": [world.edge("rival", "Firm#birch", "Firm#alder")],
    }
    for name, ops in steps.items():
        await w.write(*ops)
        await w.follow()
        read.clear()
        moved = await seen(w, views, ANN, EVERYWHERE)
        assert sum(read) < HIDDEN, name
        assert plain(moved) == plain(await seen(w, cache.Views(), ANN, EVERYWHERE)), name
        assert moved.links.T.tolist() == await linked(w, moved), name


async def test_what_commits_late_behind_a_view_that_was_made_meanwhile_is_not_passed_over(database: store.Database):
    w = await company(database)
    views = cache.Views()
    async with database.transaction() as late:
        xid = await late.value("select pg_current_xact_id()::text")  # its place in the feed is taken from here on
        await w.write(world.change("Firm#birch", tier="other"))
        assert "Memo#a1" in (await seen(w, views, ANN, EVERYWHERE)).rows
        await late.execute("update node set alive = false, gone = 900001 where type = 'Memo' and key = 'a1'")
        await late.execute(
            "insert into change select 900001, %s::xid8, commit, 'delete', kind, id, domain, type, handle, version, "
            "fields, before, after, at from change where handle = 'Memo#a1' limit 1",
            (xid,),
        )

    assert "Memo#a1" not in (await seen(w, views, ANN, EVERYWHERE)).rows


@pytest.mark.parametrize("is_here", [False, True])
async def test_what_is_open_in_another_database_of_the_server_keeps_no_view_from_being_used_again(
    database: store.Database, postgres_url: str, is_here: bool
):
    w, views = await company(database), cache.Views()
    async with (
        store.connect(postgres_url, max_size=1) as another,
        (database if is_here else another).transaction() as tx,
    ):
        await tx.value("select pg_current_xact_id()")
        await w.write(world.change("Firm#birch", tier="other"))
        await w.follow()
        for _ in range(3):
            await seen(w, views, ANN, EVERYWHERE)

    assert (views.hits, views.misses) == ((0, 3) if is_here else (2, 1))


@pytest.mark.parametrize(
    "gap",
    [
        "delete from change where (xid, seq) = (select xid, seq from change order by xid desc, seq desc limit 1)",
        "update feed set floor_xid = pg_current_xact_id()",
        "update passage_cursor set cluster = 1",
    ],
    ids=["a restored feed", "a feed that was cut", "another cluster"],
)
async def test_where_the_feed_does_not_tell_all_the_whole_scope_is_read(database: store.Database, gap: str):
    w = await company(database)
    await w.write(world.change("Firm#cedar", tier="other"))
    await w.follow()
    views = cache.Views()
    before = await seen(w, views, ANN, EVERYWHERE)
    async with database.transaction() as tx:
        # What happens behind the feed's back is what has to be found all the same.
        await tx.execute("update node set alive = false, gone = 900001 where type = 'Memo' and key = 'a1'")
        await tx.execute(gap)
    await w.write(world.change("Firm#birch", tier="other"))

    after = await seen(w, views, ANN, EVERYWHERE)

    assert "Memo#a1" in before.rows
    assert "Memo#a1" not in after.rows


async def test_while_texts_have_no_vector_only_those_that_came_since_are_loaded(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    w.cache = Cache(world.Hashed(), remembered=0)  # what is not asked of the store is not known
    asked: list[int] = []
    real = llm_rows.vectors

    async def counted(tx: store.Transaction, model: str, contents: Sequence[bytes], length: int) -> Any:
        asked.append(len(contents))
        return await real(tx, model, contents, length)

    monkeypatch.setattr(llm_rows, "vectors", counted)
    views, reader = cache.Views(), (MIRA, EVERYWHERE)
    await seen(w, views, *reader)
    await w.write(
        *world.talk("t2", "alder", "One more word.", "And another one."), *world.memo("a8", "alder", "A gate.")
    )
    await w.write(world.change("Memo#a1", body="Something else.", title="Another title"))
    await index.catch_up(database, w.types)

    waiting = await seen(w, views, *reader)
    asked.clear()
    again = await seen(w, views, *reader)
    nothing_came = sum(asked)
    await index.embed(database, w.cache, limit=2)
    some = await seen(w, views, *reader)
    await w.write(world.change("Firm#birch", tier="other"))
    partly = plain(await seen(w, views, *reader)) == plain(await seen(w, cache.Views(), *reader))
    await index.embed(database, w.cache)
    asked.clear()
    whole = await seen(w, views, *reader)

    assert again is waiting
    assert (nothing_came, waiting.missing) == (0, 5)
    assert 0 < some.missing < waiting.missing
    assert partly
    # All texts of what waits for one, and then those of their records: which the limit had left is chance.
    beside = some.standing({some.entries[row].node for row in some.waiting}).tolist()
    assert asked == [sum(len(some.entries[row].contents) for row in rows) for rows in (set(some.waiting), beside)]
    assert whole.missing == 0
    assert plain(whole) == plain(await seen(w, cache.Views(), *reader))


AS_WELL = Scope(globs=("**", "memos/**"))  # another scope, in which the same is seen


class Other(world.Hashed):
    model_id = "another model"


async def test_of_what_two_callers_see_alike_one_view_is_kept(database: store.Database):
    w, views = await company(database), cache.Views()

    for _ in range(3):
        one, same, less = [
            await seen(w, views, *reader) for reader in ((MIRA, EVERYWHERE), (MIRA, AS_WELL), (ANN, EVERYWHERE))
        ]
        assert same is one
        assert less is not one
        assert plain(same) == plain(await seen(w, cache.Views(), MIRA, AS_WELL))
        await w.write(world.change("Memo#a1", body="Something else."))
        await w.follow()

    ours = await seen(w, views, MIRA, EVERYWHERE)
    w.cache = Cache(Other())
    await index.embed(database, w.cache)
    theirs = await seen(w, views, MIRA, EVERYWHERE)
    assert (theirs.token, theirs.waiting) == (ours.token, ours.waiting)
    assert theirs is not ours


@pytest.mark.parametrize("is_settled", [True, False])
async def test_a_view_of_texts_that_were_still_to_be_counted_serves_nobody_else(
    database: store.Database, is_settled: bool
):
    w, views = await company(database), cache.Views()
    async with database.transaction() as late:
        if not is_settled:
            await late.value("select pg_current_xact_id()")
        await w.write(world.change("Firm#birch", tier="other"))
        async with database.transaction() as tx:
            await tx.execute("alter table passage add column before bytea")
            await tx.execute("update passage set before = terms, terms = null")
        await seen(w, views, MIRA, EVERYWHERE)
        async with database.transaction() as tx:
            await tx.execute("update passage set terms = before")

        after = await seen(w, views, MIRA, AS_WELL)

    assert plain(after) == plain(await seen(w, cache.Views(), MIRA, AS_WELL))


async def test_what_views_have_in_common_takes_their_memory_once(database: store.Database):
    w, views = await company(database), cache.Views()
    one = await seen(w, views, MIRA, EVERYWHERE)
    views = cache.Views(memory=sum(one.parts.values()) * 5 // 4)

    for number in range(3):
        await w.write(world.change("Memo#a1", title=f"Title {number}"))
        await w.follow()
        for scope in (EVERYWHERE, AS_WELL, EVERYWHERE, AS_WELL):
            await seen(w, views, MIRA, scope)
        assert views.hits == 2 * number + 2
    await seen(w, views, BEN, EVERYWHERE)
    await seen(w, views, MIRA, EVERYWHERE)

    assert views.hits == 6
