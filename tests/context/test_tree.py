"""A tree that nobody would plant: a hundred thousand children, megabytes, circles and a strategy that hangs (E9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.context import world
from tests.context.test_composing import compose
from tests.context.test_reading import company
from tests.context.world import ANN
from ukai import store
from ukai.context import explaining, making
from ukai.context.counted import counted
from ukai.context.passages import Passage
from ukai.context.settings import Settings
from ukai.context.strategies import STRATEGIES, Asked, Strategy

CHILDREN = 100_000
LARGE = 10_000_000
"""Characters."""
QUESTION = "Why did Alder Works stop the rollout at the depot gate of Birch Yard?"
BODIES = [f"The rollout of depot {n} waits for gate {n % 7}." for n in range(50)]


async def planted(w: world.World) -> None:
    """Ann may read the children because Alder Works is hers, which has a field of 10 MB, as one of them has."""
    passages = [Passage(part="body", field="body", ordinal=0, lead="", text=body) for body in BODIES]
    numbers = [counted(p, path="memos/alder", key="k", fields={}) for p in passages]
    async with w.db.transaction() as tx:
        await tx.execute("set local session_replication_role = replica")  # as a copy is loaded: no look at each end
        await tx.execute(
            "create temporary table said on commit drop as select * from unnest(%s::int[], %s::text[], %s::bytea[], "
            "%s::bytea[]) s (kind, body, terms, place)",
            (list(range(len(BODIES))), BODIES, [c.terms for c in numbers], [c.place for c in numbers]),
        )
        await tx.execute(
            "insert into node (id, domain, type, key, path, readers, props) select gen_random_uuid(), 'trade', 'Memo', "
            "'k' || n, 'memos/alder/k' || n, '{group:sellers}', jsonb_build_object('id', 'k' || n, 'firm', 'alder', "
            "'body', case n when 7 then repeat('rollout gate ', %s) else body end) "
            "from generate_series(1, %s) n join said on kind = n %% %s",
            (LARGE // 13, CHILDREN, len(BODIES)),
        )
        await tx.execute(
            "insert into edge (id, domain, type, src, dst) select gen_random_uuid(), 'trade', 'memo_of', n.id, f.id "
            "from node n join node f on f.type = 'Firm' and f.key = 'alder' where n.key like 'k%'"
        )
        await tx.execute(
            "insert into passage (node, part, field, ordinal, lead, text, content, terms, place, size) "
            "select n.id, 'body', 'body', 0, '', s.body, sha256(s.body::bytea), s.terms, s.place, length(s.body) "
            "from node n join said s on kind = substr(n.key, 2)::int %% %s where n.key like 'k%%'",
            (len(BODIES),),
        )
        await tx.execute(
            "update node set props = jsonb_set(props, '{tier}', to_jsonb(repeat('wide ', %s))) where key = 'alder'",
            (LARGE // 5,),
        )
    await w.write(world.edge("rival", "Firm#birch", "Firm#alder"))  # the way back is there


async def _never_ends(ask: Asked) -> Sequence[int]:
    await ask.tx.value("select pg_sleep(600)")
    return range(ask.view.size)


HANGS = Strategy(fires=lambda _: True, find=_never_ends, timeout_ms=lambda s: 50, reads=lambda _: True)
LIMITS = Settings(in_memory=20_000)


async def test_a_tree_that_nobody_would_plant_gives_a_bounded_document_at_the_first_call(database: store.Database):
    w = await company(database)
    await planted(w)

    made = await compose(
        w, ANN, QUESTION, settings=LIMITS, budget_tokens=900, strategies={"hangs": HANGS, **STRATEGIES}
    )

    report = made.report
    assert made.text.count("[Memo#k") > 5
    assert making.counter().count(made.text) <= 900
    assert "[... 10,000,000 characters; the whole: fetch_offloaded " in made.text
    assert report.graph[0].timed_out
    assert not [step for step in report.graph if step.failed or step.candidates > LIMITS.composition_cap]
    assert 0 < len(report.dropped) <= LIMITS.composition_cap
    assert max(len(report.ranking), len(report.found)) <= LIMITS.composition_cap
    assert len(report.text) < 250 * LIMITS.composition_cap
    left_out = next(d for d in report.dropped if d.section.startswith("Memo#k"))
    told = await explaining.explain(
        database, made.id, left_out.section, library=w.library, reader=world.reader(ANN), settings=LIMITS
    )
    assert told is not None
    assert left_out.reason in told.lines[0]


async def test_what_a_scope_too_large_for_a_view_did_not_lead_to_is_told_so(database: store.Database):
    w = await company(database)
    one = replace(LIMITS, in_memory=1)
    made = await compose(w, ANN, "Why did the rollout stop?", settings=one)

    told = await explaining.explain(
        database, made.id, "Memo#a2", library=w.library, reader=world.reader(ANN), settings=one
    )

    assert told is not None
    assert "too large to be looked at as a whole" in told.lines[0]
