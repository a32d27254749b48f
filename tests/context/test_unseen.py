"""Whatever changes about what a reader may not see, in whatever order it came, they get the same bytes (E7, C41)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.context import world
from tests.context.test_composing import QUESTION, compose
from tests.context.test_no_leak import told
from tests.context.test_reading import company
from tests.context.world import ANN, BEN, CLOCK, MIRA, TESS, VERA
from ukai import context, gate, store
from ukai.context import Scope, cache, explaining, index, levels, making, reading, rereading, search
from ukai.context.rows import compositions
from ukai.context.settings import DEFAULT
from ukai.context.strategies import STRATEGIES
from ukai.gate import feed
from ukai.kit import canonical, handle
from ukai.store import address

MANAGERS = ["group:managers"]
LONG = "rollout gate depot walrus " * 1_200
HIDDEN: dict[str, list[dict[str, Any]]] = {
    "a record, called like what is seen": [world.firm("h1", BEN, name="Alder Works", description="rollout gate")],
    "its name": [world.change("Firm#h1", name="Birch Yard")],
    "its text, in one piece and in many": [world.change("Firm#h1", description=LONG)],
    "its text, short again": [world.change("Firm#h1", description="depot")],
    "whose it is": [world.change("Firm#h1", owner=MIRA)],
    "a value that is put aside": [world.change("Firm#h1", tier=LONG)],
    "a record below what is seen": world.memo("h2", "alder", "rollout stopped", readers=MANAGERS, title="Rollout"),
    "who else may read it": [world.change("Memo#h2", readers=["group:managers", "group:analysts"])],
    "where it stands": [world.change("Memo#h2", firm="cedar")],
    "records of other types": [*world.talk("h3", "cedar", "Why? The rollout!"), *world.month("cedar", "2026-04", 7)],
    "an edge between hidden records": [world.edge("rival", "Firm#cedar", "Firm#h1")],
    "an edge from what is seen to what is hidden": [world.edge("rival", "Firm#birch", "Firm#h1")],
    "a hidden field of what is seen": [world.change("Memo#a2", secret="rollout gate")],
    "a hidden field that is put aside": [world.change("Memo#a2", secret=LONG)],
    "a hidden field that goes": [world.change("Memo#a2", secret=None)],
    "a hidden field of its owner": [world.change("Firm#alder", floor="9")],
    "that it is there": [world.remove("Memo#h2"), world.remove("Firm#h1"), world.remove("Memo#a3")],
}  # fmt: skip
FEW = replace(DEFAULT, strategy_cap=2, fetch_all=1, filter=3)
"""Whatever takes a place takes it from another."""
WIDE = replace(DEFAULT, in_memory=3)
SHUT = """
  - {id: shut, deny: read, records: {types: [Firm]}, where: {tier: low}, fields: [key, name, tier], to: [public]}
"""
LOST = """
  - {id: lost, deny: read, records: {types: [Talk]}, fields: [turns], to: [vera@x.example]}
"""
WORDS_ALONE = {name: strategy for name, strategy in STRATEGIES.items() if name != "embedding"}


async def all_of(w: world.World, who: str, made: context.Composition) -> list[Any]:
    """All that somebody can get to know: documents, reports, scores, what is explained, what is composed once more."""
    found: list[Any] = [told(await compose(w, who, QUESTION, settings=s)) for s in (DEFAULT, FEW, WIDE)]
    named = "Firm#h1, Memo#h2 and the depot?"
    found.append(told(await compose(w, who, named, budget_tokens=90, strategies=WORDS_ALONE)))
    reader = world.reader(who)
    for name in ("Memo#a2", "Firm#alder", "Memo#h2"):
        why = await context.explain(w.db, made.id, name, library=w.library, reader=reader)
        found.append(None if why is None else why.as_json())
    found.append(await context.replay(w.db, made.id, library=w.library, reader=reader))
    return found


async def moves_nothing(w: world.World, who: str, hidden: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    made = await compose(w, who)
    first = await all_of(w, who, made)
    assert first[-1].same

    for day, (name, ops) in enumerate(hidden.items(), 1):
        await w.write(*ops, days=day)
        await compose(w, MIRA)
        assert await all_of(w, who, made) == first, name
        await w.follow()
    assert await all_of(w, who, made) == first, "all of it, followed"


async def test_no_change_of_anything_hidden_moves_a_byte(database: store.Database):
    await moves_nothing(await company(database), ANN, HIDDEN)


async def test_no_change_of_hidden_fields_and_texts_of_seen_records_moves_a_byte(database: store.Database):
    hidden = {
        "a text where there was one": [world.change("Firm#alder", description="rollout gate")],
        "a text in many pieces": [world.change("Firm#alder", description=LONG)],
        "a text where there was none": [world.firm("bare", name="Bare Hall")],
        "no text": [world.change("Firm#birch", description="")],
        "a value": [world.change("Firm#cedar", floor="1", owner=ANN)],
        "that a text and a value go": [world.change("Firm#alder", description=None, owner=None)],
        "all that is not seen": [*world.memo("h", "birch", LONG), *world.talk("h", "birch", "Alder Works?")],
    }
    w = await company(database)
    await w.write(world.firm("bare", name="Bare Hall"))
    await w.follow()
    await moves_nothing(w, TESS, hidden | {"a text where there was none": [world.change("Firm#bare", description="x")]})


async def test_a_text_that_a_hidden_text_equals_waits_for_its_vector_like_any_other(database: store.Database):
    """Of one's own texts one is written that may be known, or stand hidden in the very record, and one that is not."""
    w = await company(database)
    await w.write(
        *world.memo("h", "cedar", "Walrus plan.", readers=MANAGERS),
        world.firm("known", name="A gate.", description="A mill of gates."),
        world.firm("new", name="Another gate.", description="A mill of gates."),
    )
    await w.follow()
    await w.write(
        *world.memo("same", "alder", "Walrus plan."),
        *world.memo("other", "alder", "Walrus plans."),
        world.firm("shown", name="A mill."),  # what Firm#cedar says in a field that Tess does not read
        world.change("Firm#known", name="A mill of gates."),
        world.change("Firm#new", name="A mill of bolts."),
    )
    await index.catch_up(database, w.types)

    async def without_vector(who: str) -> set[str]:
        async with database.snapshot() as tx:
            asked = await making.asked_of(tx, world.reader(who), "Walrus plan?", w.library)
        return {asked.view.entries[row].id for row in asked.view.waiting}

    async def found() -> dict[str, float]:
        async with database.snapshot() as tx:
            ask = {"reader": world.reader(ANN), "types": w.types, "cache": w.cache, "only": ["Memo"]}
            hits = (await search.search(tx, "Walrus plan?", limit=9, **ask)).hits
        return {hit.found.key: round(hit.cosine, 3) for hit in hits}

    new, firms = {"Memo#same", "Memo#other"}, {"Firm#shown", "Firm#known", "Firm#new"}
    waiting = {who: await without_vector(who) for who in (ANN, TESS)}
    cosines = await found()
    await index.index_vectors(database, w.cache, above=0)
    await index.embed(database, w.cache)

    assert waiting == {ANN: new | firms, TESS: firms}
    assert {cosines["same"], cosines["other"]} == {0.0}
    assert 0.0 not in (await found()).values()
    assert await index.index_vectors(database, w.cache, above=0) == len(new | firms)
    assert await without_vector(ANN) == await without_vector(TESS) == set()


async def test_a_hidden_change_of_a_record_takes_no_vector_from_what_is_seen_of_it(database: store.Database):
    w = await company(database)
    before = told(await compose(w, TESS))

    await w.write(world.change("Firm#alder", description="Something else.", floor="2"))
    await index.catch_up(database, w.types)

    assert told(await compose(w, TESS)) == before


async def test_when_something_was_said_is_told_by_what_is_seen_of_it(database: store.Database):
    """An imported record keeps the date of its source whatever is hidden in it, and however much history is kept."""
    w = await company(database)
    delta, said = {"domain": "trade", "ops": world.memo("imp", "alder", "The rollout, imported.")}, "2025-02-01"
    source = {"": {"at": f"{said}T00:00:00Z"}}
    done = await gate.submit(w.db, delta, author=world.INTAKE, rights=gate.ALL, clock=CLOCK, provenance=source)
    assert isinstance(done, gate.Committed)
    await w.follow()

    dates = [(await dates_of(w))["Memo#imp"]]
    for day, secret in enumerate(("walrus", "depot", None), 1):
        await w.write(world.change("Memo#imp", secret=secret), days=day)
        dates.append((await dates_of(w))["Memo#imp"])
    before = await dates_of(w)
    await feed.forget(w.db, CLOCK.now() + timedelta(days=9))
    after = await dates_of(w)
    await w.write(world.change("Memo#imp", title="Seen"), days=9)

    assert dates == [said] * 4
    assert after == before
    assert (await dates_of(w))["Memo#imp"] == "2026-11-29"


async def dates_of(w: world.World) -> dict[str, Any]:
    return {i.handle: i.as_json().get("at") for i in (await compose(w)).items}


async def test_a_hidden_name_does_not_tell_by_what_counts_as_a_title_that_it_is_there(database: store.Database):
    """Yan may read titles of talks, and not their names."""
    policy = "id: yan, allow: read, records: {types: [Talk]}, to: [yan@x.example], fields: [id, firm, title, turns]"
    w, reader = await company(database), world.reader("yan@x.example", more=f"\n  - {{{policy}}}\n")
    await w.write(*world.talk("t2", "alder", "The rollout."), *world.talk("t3", "alder", "x", title="Gate"))
    await w.follow()
    asked = context.Request(question="What of the call in March?", scope=Scope(globs=("**",)))

    found = [told(await context.compose(w.db, asked, library=w.library, reader=reader, clock=CLOCK))]
    for n, name in enumerate(("Zed", None)):
        await w.write(world.change("Talk#t1", name=name), days=n + 1)
        await w.follow()
        found.append(told(await context.compose(w.db, asked, library=w.library, reader=reader, clock=CLOCK)))

    assert found[0] == found[1] == found[2]


async def test_that_records_hang_together_by_something_hidden_is_not_told(database: store.Database):
    """Vera may read firms and talks, and no memo: what a memo ties to a firm stands by itself for her."""
    w = await company(database)
    await w.write(*(op for n in range(60) for op in world.talk(f"v{n}", "birch", f"The rollout, {n}.")))
    await w.write(*world.memo("tie", "alder", "x"))
    await w.follow()

    hidden = {
        "a tie": [world.edge("about", "Talk#v7", "Memo#tie")],
        "another tie": [world.edge("about", "Talk#v8", "Memo#tie")],
    }
    await moves_nothing(w, VERA, hidden)


async def test_records_of_which_no_field_may_be_read_take_no_place(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    """Neither among the records of a scope, of a strategy or beside another, nor in what a search goes through."""
    w, alder = await company(database), handle.Handle(type="Firm", key="alder")
    settings = (FEW, replace(DEFAULT, in_memory=5))  # five are seen: one more, and no view is made of the scope
    monkeypatch.setattr(cache, "of", lambda _: cache.Views())

    async def seen() -> list[Any]:
        found = [told(await compose(w, TESS, settings=s, policies=SHUT)) for s in settings]
        async with database.snapshot() as tx:
            reader = world.reader(TESS, more=SHUT)
            return [*found, await reading.related(tx, w.library, reader, name=alder, limit=2)]

    first = await seen()
    await w.write(*(world.firm(f"a{n}", name="rollout", tier="low") for n in range(3)))
    await w.write(*(world.edge("rival", "Firm#alder", f"Firm#a{n}") for n in range(3)))
    await w.follow()

    assert len(first[2]) == 2
    assert await seen() == first


async def test_parts_of_a_field_that_may_not_be_read_any_more_are_as_unseen_as_records(database: store.Database):
    w = await company(database)
    made = await compose(w, VERA, "Who waits for the gate?")
    reader = world.reader(VERA, more=LOST)

    async def why(name: str) -> tuple[bool, str]:
        found = await context.explain(database, made.id, name, library=w.library, reader=reader)
        assert found is not None
        return found.is_shown, " ".join(found.lines)

    async with database.snapshot() as tx:
        report = await rereading.reread(tx, made.report.as_json(), library=w.library, reader=reader)

    assert "Talk#t1/turn/1" in made.report.shown
    assert "turn/" not in canonical.dumps(report)
    assert report["shown"].keys() == {n for n in made.report.shown if "/turn/" not in n}
    assert await why("Talk#t1/turn/1") == await why("Talk#t1/turn/9") == (False, explaining.NOT_THERE)
    assert "turn/" not in (await why("Talk#t1"))[1]


async def test_a_scope_that_is_too_large_does_not_tell_of_a_hidden_text_either(database: store.Database):
    w = await company(database)
    await w.write(world.firm("bare"))
    await w.follow()
    made = await compose(w, TESS, "zebra", settings=WIDE)

    async def why() -> context.Explanation | None:
        reader = world.reader(TESS)
        return await context.explain(database, made.id, "Firm#bare", library=w.library, reader=reader, settings=WIDE)

    before = await why()
    await w.write(world.change("Firm#bare", description="of nobody's business"))
    await w.follow()

    assert before is not None
    assert await why() == before


async def test_a_change_of_what_is_seen_is_named_though_other_fields_are_hidden(database: store.Database):
    """The other way round, so that nobody proves too much: each of these is a change of an input."""
    w = await company(database)
    made = await compose(w, TESS)
    reader = world.reader(TESS)

    for day, ops in enumerate(
        (
            [world.change("Firm#alder", tier="new")],
            [world.change("Firm#alder", tier=None)],
            [world.remove("Firm#birch")],
        )
    ):
        await w.write(*ops, days=day + 1)
        again = await context.replay(w.db, made.id, library=w.library, reader=reader)
        assert again is not None
        assert "records in scope" in again.changed, ops
        made = await compose(w, TESS)


@pytest.fixture
async def another(postgres_url: str, _template: str) -> AsyncIterator[store.Database]:
    """A second fresh database."""
    name = f"test_{uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template "{_template}"'.encode())
    async with store.connect(address.with_name(postgres_url, name)) as db:
        yield db
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'drop database "{name}" with (force)'.encode())


async def test_the_order_in_which_records_came_moves_no_byte(database: store.Database, another: store.Database):
    """Seen and hidden ones: in the other database all ids are others, too."""
    firms = [world.firm(f"f{n}", ANN, name=f"Firm Number {n}", tier="x") for n in range(9)]
    hung = [
        *(op for n in range(60) for op in world.memo(f"m{n}", f"f{n % 9}", f"The rollout, part {n % 7}.")),
        *world.talk("t", "f1", ("Ada", "We wait."), ("Bo", "For the gate.")),
    ]
    hidden = [
        world.firm("h", BEN, name="Firm Number 3"),
        *world.memo("hm", "f3", "rollout", readers=["group:managers"]),
    ]
    one, other = await world.opened(database), await world.opened(another)
    await one.write(*hidden[:1])
    await one.write(*firms, *hung)
    await one.write(*hidden[1:])
    await one.follow()
    for op in reversed(firms):
        await other.write(op)
    pairs = [hung[i : i + 2] for i in range(0, len(hung), 2)]
    await other.write(*(op for pair in reversed(pairs) for op in pair))
    await other.follow()
    for op in hidden[:1]:
        await other.write(op)
    await other.write(*hidden[1:])
    await other.follow()

    for question, more in (("Why did the rollout of Firm Number 3 stop?", {}), ("part 5", {"budget_tokens": 200})):
        made, again = [await compose(w, ANN, question, **more) for w in (one, other)]
        assert (made.text, [i.as_json() for i in made.items]) == (again.text, [i.as_json() for i in again.items])
        assert _but_records(made) == _but_records(again)


def _but_records(made: context.Composition) -> dict[str, Any]:
    report = made.report.as_json()
    return report | {"versions": {k: v for k, v in report["versions"].items() if k != "records"}}


async def test_who_asks_at_the_same_time_moves_no_byte(database: store.Database):
    w = await company(database)
    asked = [(who, q) for who in (ANN, BEN, MIRA) for q in (QUESTION, "the depot gate", "Cedar Mills")]
    alone = {}
    for who, question in asked:
        alone[who, question] = told(await compose(w, who, question))

    for _ in range(2):
        cache.of(database)._kept.clear()  # pyright: ignore[reportPrivateUsage]
        made = await asyncio.gather(*(compose(w, who, q) for who, q in reversed(asked)))
        assert {a: told(m) for a, m in zip(reversed(asked), made, strict=True)} == alone


async def test_a_reference_is_not_to_be_computed_from_what_it_is_for(database: store.Database):
    """It hangs on what this deployment alone knows."""
    w = await company(database)
    await w.write(world.change("Firm#alder", tier="wide " * 9_000))

    first = await compose(w)
    async with database.transaction() as tx:
        await tx.execute("update composer set secret = sha256(secret)")
    cache._OF.pop(database)  # pyright: ignore[reportPrivateUsage]
    second = await compose(w)

    refs = [made.text.partition("fetch_offloaded ")[2][:32] for made in (first, second)]
    assert len(set(refs)) == 2
    assert all(len(ref.strip()) == 32 for ref in refs)


async def test_no_canary_stands_in_a_placeholder_or_behind_a_reference(database: store.Database):
    w = await company(database)
    hidden = "kanarie " * 4_000
    await w.write(
        world.change("Memo#a2", secret=hidden),
        world.change("Firm#cedar", tier=hidden),
        world.change("Firm#alder", floor=hidden),
    )
    await w.follow()
    theirs = await compose(w, MIRA)
    refs = re.findall(r"fetch_offloaded (\w{32})", theirs.text)

    made = await compose(w, ANN)
    fetched = [
        await context.fetch_offloaded(database, ref, library=w.library, reader=world.reader(ANN)) for ref in refs
    ]

    assert refs
    assert "kanarie" not in str(told(made))
    assert fetched == [None] * len(refs)


async def test_what_was_given_in_full_is_not_sent_again_after_it_stood_in_short(database: store.Database):
    w = await company(database)
    await compose(w, conversation="c")
    async with database.transaction() as tx:
        await compositions.save_given(
            tx, "c", world.reader(ANN).rights.principals_hash, {"Memo#a1": ("another", "names")}, CLOCK.now()
        )
        readers = world.reader(ANN).rights.principals_hash
        before = await compositions.given(tx, "c", readers)
        same = {"Memo#a2": (before["Memo#a2"][0], "identity")}
        await compositions.save_given(tx, "c", readers, same, CLOCK.now())
        after = await compositions.given(tx, "c", readers)

    assert after["Memo#a1"] == ("another", "names")
    assert after["Memo#a2"] == before["Memo#a2"]


async def test_the_room_of_what_was_given_is_spent_on_what_is_new(database: store.Database):
    w = await company(database)
    await w.write(*(op for n in range(30) for op in world.memo(f"n{n}", "alder", f"rollout gate depot {n} " * 12)))
    await w.follow()

    first = await compose(w, budget_tokens=600, conversation="c")
    again = await compose(w, budget_tokens=600, conversation="c")

    full = [{row.section for row in made.report.ranking if row.level == "full"} for made in (first, again)]
    assert full[1] - full[0]


async def test_other_bytes_of_the_same_input_are_told_to_come_from_the_composer(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    w = await company(database)
    made = await compose(w)
    monkeypatch.setattr(levels, "plain", lambda value: f"now {value}")  # as another version of the program

    again = await context.replay(database, made.id, library=w.library, reader=world.reader(ANN))

    assert again is not None
    assert (again.same, again.changed) == (False, (explaining.ITSELF,))
