"""Nothing that a reader may not see moves one byte of what they get, and each guard is proved needed (C9-C13, C39).

The proofs run against the sabotaged composer on every run: with a guard removed they have to fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.context import world
from tests.context.test_composing import compose
from tests.context.test_reading import QUESTIONS, company
from tests.context.world import ANN, BEN, MIRA, TESS
from ukai import context, store
from ukai.access import Record
from ukai.context import Scope, bodies, cache, making, reading, rows, view
from ukai.context.clause import CompiledScope
from ukai.context.rows import views as listing
from ukai.context.strategies import STRATEGIES

CANARY = "kanarie"
"""In every name, text, value and label that Ann may not see."""
HIDDEN: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "a firm of another book": lambda n: [
        world.firm(f"{CANARY}{n}", BEN, name=f"Alder {CANARY}{n}", description=f"rollout gate {CANARY}{n} " * 3)
    ],
    "a memo for managers": lambda n: world.memo(
        f"{CANARY}{n}", "alder", f"rollout stopped depot {CANARY}{n} " * 4, readers=["group:managers"]
    ),
    "its next version": lambda n: [world.change("Memo#a3", body=f"Alder rollout {CANARY}{n} " * (n + 2))],
    "a field that nobody lists": lambda n: [world.change("Memo#a2", secret=f"rollout {CANARY}{n}")],
    "a talk of the other firm": lambda n: world.talk(f"{CANARY}{n}", "cedar", f"Why did the rollout stop? {CANARY}{n}"),
    "an edge to what is hidden": lambda n: [
        world.firm(f"rival{CANARY}{n}", BEN, name=f"Rival {CANARY}{n}"),
        {
            "kind": "create_edge",
            "edge_type": "rival",
            "from": {"handle": "Firm#alder"},
            "to": {"ref": f"$firm-rival{CANARY}{n}"},
        },
    ],
}


def told(made: context.Composition) -> tuple[Any, ...]:
    """All that a reader gets of a composition, to the byte."""
    return made.text, made.report.text, [i.as_json() for i in made.items]


async def state(w: world.World, who: str = ANN, questions: Sequence[str] = QUESTIONS) -> list[tuple[Any, ...]]:
    budgets = itertools.cycle((None, 150))
    return [told(await compose(w, who, q or "nothing", budget_tokens=b)) for q, b in zip(questions, budgets)]  # noqa: B905


async def test_no_change_to_what_is_hidden_moves_a_byte(database: store.Database):
    w = await company(database)
    # What the reader's own records look like does not change here, so their versions must not either.
    await w.write(world.change("Memo#a2", secret="first"))
    first = await state(w)
    drawn: list[list[str]] = []

    @settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(names=st.lists(st.sampled_from(sorted(set(HIDDEN) - {"a field that nobody lists"})), min_size=1, max_size=4))
    def collect(names: list[str]) -> None:
        drawn.append(names)

    collect()
    number = itertools.count()
    for names in drawn:
        for name in names:
            await w.write(*HIDDEN[name](next(number)))
        await w.follow()
        await compose(w, MIRA, QUESTIONS[0])
        assert await state(w, questions=QUESTIONS[:4]) == first[:4]
    assert await state(w) == first


async def with_canaries(w: world.World) -> None:
    for n, make in enumerate(HIDDEN.values()):
        await w.write(*make(n))
    await w.follow()


@pytest.mark.parametrize("name", sorted(STRATEGIES))
async def test_no_canary_comes_through_any_strategy(database: store.Database, name: str):
    w = await company(database)
    await with_canaries(w)
    only = {n: STRATEGIES[n] for n in ("keyword", name)}  # several strategies begin with what others found
    scope = Scope(globs=("**",), static_ids=(f"Memo#{CANARY}1", "Memo#a1"))

    for question in (*QUESTIONS, f"Alder {CANARY}0 rollout", f"Memo#{CANARY}1", f"Rival {CANARY}5"):
        made = await compose(w, ANN, question or "?", scope, strategies=only)
        assert CANARY not in str(told(made)).replace(f"Memo#{CANARY}1", "" if question == f"Memo#{CANARY}1" else "!")


async def test_no_canary_is_kept_in_a_cache_or_stored_for_the_reader(database: store.Database):
    w = await company(database)
    await with_canaries(w)
    for question in QUESTIONS:
        await compose(w, ANN, question or "?", conversation="c")
        await compose(w, ANN, question or "?")

    kept = cache.of(database)._kept.values()  # pyright: ignore[reportPrivateUsage]
    async with database.transaction() as tx:
        stored = [
            await tx.fetch(f"select t::text from {t} t")
            for t in ("composition", "composition_report", "given", "offloaded")
        ]

    assert kept
    assert CANARY not in str(stored)
    bytes_of = [everything(k.view) + repr(list(k.answers._by_question.values())).encode() for k in kept]
    assert any(isinstance(value, making.Drawn) for k in kept for value in k.answers._by_question.values())
    assert all(CANARY.encode() not in b for b in bytes_of)
    assert all(word not in b for b in bytes_of for word in (b"rollout stopped", b"depot", b"walrus"))


def everything(seen: view.View) -> bytes:
    """All bytes of a view."""
    said = repr((seen.entries, dict(seen.rows), dict(seen.nodes), seen.grounds, seen.places)).encode()
    packed = (seen.corpus.own, seen.corpus.title, seen.corpus.place)
    numbers = [p.lengths for p in packed] + [
        array for p in packed for layer in p.layers for array in (layer.row, *vars(layer.of).values())
    ]
    return said + b"".join(array.tobytes() for array in (*numbers, seen.marks, seen.edges, seen.links))


async def test_a_view_is_used_again_for_the_same_readers_of_an_unchanged_graph_and_for_nobody_else(
    database: store.Database,
):
    w = await company(database)
    views = cache.of(database)
    await compose(w, ANN)
    await compose(w, ANN, "Another question?")
    assert (views.hits, views.misses) == (1, 1)
    await compose(w, MIRA)
    await compose(w, ANN, scope=Scope(globs=("memos/**",)))
    assert (views.hits, views.misses) == (1, 3)
    await w.write(world.change("Firm#alder", tier="other"))
    await compose(w, ANN)
    assert (views.hits, views.misses) == (1, 4)


# The guards, each taken away.

Patch = Callable[[pytest.MonkeyPatch], None]
Proof = Callable[[world.World], Awaitable[None]]


def forget_the_principals(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cache, "key_of", lambda scope, types, cache: str([s.globs for s in scope.scopes]))


def forget_the_store_check(patch: pytest.MonkeyPatch) -> None:
    async def unchecked(tx: store.Transaction, scope: CompiledScope, nodes: Sequence[UUID]) -> list[rows.Node]:
        return await rows.nodes(tx, nodes)

    patch.setattr(bodies, "stored", unchecked)


def forget_the_exit_filter(patch: pytest.MonkeyPatch) -> None:
    async def unfiltered(
        tx: store.Transaction, scope: CompiledScope, library: reading.Library, nodes: Sequence[rows.Node]
    ) -> Mapping[UUID, reading.Shown]:
        return {
            n.id: reading.Shown(
                record=Record(type=n.type, key=n.key, path=n.path, fields=n.fields, readers=n.readers),
                node=n,
                types=library.types,
            )
            for n in nodes
        }

    patch.setattr(bodies, "let_out", unfiltered)


async def a_wrong_key_is_no_leak(w: world.World) -> None:
    """Views of whoever sees everything are handed to Ann, and still no record comes that she may not read."""
    await compose(w, MIRA)
    made = await compose(w, ANN)
    handles = {i.handle.partition("/")[0] for i in made.items}
    assert handles
    assert not [h for h in handles if CANARY in h or h in ("Memo#a3", "Firm#cedar", "Memo#c1")]


async def who_came_before_moves_nothing(w: world.World) -> None:
    """What Ann gets does not depend on whose question came before hers."""
    alone = await compose(w, ANN)
    cache.of(w.db)._kept.clear()  # pyright: ignore[reportPrivateUsage]
    await compose(w, MIRA)
    assert told(await compose(w, ANN)) == told(alone)


@pytest.mark.parametrize(
    ("proof", "given_away", "guard"),
    [
        # The views are the wrong ones and one of the two checks is gone: the other one holds alone, and is needed.
        (a_wrong_key_is_no_leak, [forget_the_principals, forget_the_store_check], forget_the_exit_filter),
        (a_wrong_key_is_no_leak, [forget_the_principals, forget_the_exit_filter], forget_the_store_check),
        (who_came_before_moves_nothing, [], forget_the_principals),
    ],
    ids=["exit filter", "store check", "principals in the key"],
)
async def test_without_this_guard_a_proof_fails(
    database: store.Database, monkeypatch: pytest.MonkeyPatch, proof: Proof, given_away: list[Patch], guard: Patch
):
    w = await company(database)
    await with_canaries(w)
    for patch in given_away:
        patch(monkeypatch)
    await proof(w)

    cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
    guard(monkeypatch)

    with pytest.raises(AssertionError):
        await proof(w)


SEGMENTS = st.sampled_from(["*", "**", "firms", "memos", "alder", "a*", "a1", "?1", "cedar"])
GLOBS = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
PINNED = st.sampled_from(["Firm#alder", "Firm#cedar", "Memo#a1", "Memo#a3", "Memo#gone", "Talk#t1", "no handle"])


def scopes() -> st.SearchStrategy[Scope]:
    few = st.lists(GLOBS, max_size=2).map(tuple)
    return st.builds(Scope, globs=few, exclude=few, static_ids=st.lists(PINNED, max_size=2).map(tuple))


async def test_the_three_forms_of_a_scope_agree(database: store.Database):
    w = await company(database)
    async with database.snapshot() as tx:
        every = await rows.nodes(tx, [r[0] for r in await tx.fetch("select id from node where alive")])
    drawn: list[tuple[str, tuple[Scope, ...]]] = []

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(who=st.sampled_from([ANN, BEN, TESS, MIRA, "x@y.example"]), both=st.lists(scopes(), max_size=2).map(tuple))
    def collect(who: str, both: tuple[Scope, ...]) -> None:
        drawn.append((who, both))

    collect()
    async with database.snapshot() as tx:
        for who, both in drawn:
            reader = world.reader(who)
            scope = CompiledScope(rights=reader.rights, edges=reader.edges, scopes=both)
            records = await rows.records(tx, every, scope.owning)
            in_sql = {r.node for r in await listing.listed(tx, scope.clause)}
            in_python = {n.id for n in every if scope.admits(records[n.id])}
            in_view = (await view.read(tx, scope, w.types, await listing.listed(tx, scope.clause))).nodes.keys()
            assert in_sql == in_python == set(in_view), (who, both)
            assert both or not in_sql
