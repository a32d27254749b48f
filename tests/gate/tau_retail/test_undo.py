"""Every write of the benchmark taken back: in reverse order to the byte, in any order without a loss (W11)."""

from __future__ import annotations

import random

from tests import shared
from tests.gate.tau_retail import calls, replay, shop
from tests.gate.tau_retail.conftest import Open
from tests.gate_after import given
from ukai import gate, store
from ukai.gate import undo

pytestmark = shared.needs("gate", "tau_retail")


async def written(db: store.Database) -> list[gate.Committed]:
    """All gold writes one after the other, and others that the policy allows; without the two that change nothing."""
    found: list[replay.Answer] = []
    state = shop.beginning()
    for task, gold in shop.tasks().items():
        state, more = await replay.answered(db, state, task, gold)
        found += more
    _, more = await replay.answered(db, state, "any", calls.anyhow(30))
    async with db.transaction() as tx:
        changing = {c for (c,) in await tx.fetch("select distinct commit from change")}
    made = [a.gate for a in [*found, *more] if isinstance(a.gate, gate.Committed)]
    assert len([c for c in made if c.commit not in changing]) == 2
    return [c for c in made if c.commit in changing]


async def history_of(db: store.Database) -> tuple[int, int]:
    async with db.transaction() as tx:
        return await tx.value("select count(*) from commit"), await tx.value("select count(*) from change")


async def test_in_reverse_order_the_shop_is_as_it_was_byte_for_byte(fresh: Open):
    async with fresh() as db:
        before = await given.graph(db)
        commits = await written(db)
        made = await history_of(db)
        after = await given.graph(db)

        undone = [await given.undone(db, c.commit, author=shop.INTAKE) for c in reversed(commits)]
        assert await given.graph(db) == before
        assert await history_of(db) > made  # nothing of it is gone, and the undoing is in it
        for c in reversed(undone):
            await given.undone(db, c.commit, author=shop.INTAKE)

        assert len(commits) > 105
        assert await given.graph(db) == after


async def test_in_any_order_each_is_taken_back_or_the_fields_in_the_way_are_named(fresh: Open):
    async with fresh() as db:
        before = await given.graph(db)
        commits = [c.commit for c in await written(db)]
        random.Random(5).shuffle(commits)
        refused: list[gate.Rejected] = []
        rounds = 0
        while commits:
            left = commits
            commits = []
            for commit in left:
                outcome = await given.undo(db, commit, author=shop.INTAKE)
                if isinstance(outcome, gate.Rejected):
                    refused.append(outcome)
                    commits.append(commit)
            assert len(commits) < len(left)
            rounds += 1

        assert await given.graph(db) == before
    assert rounds > 1
    for outcome in refused:
        assert {r.code for r in outcome.rejections} == {"conflict"}
        assert all(r.expected_value["commit"] and r.expected_value["author"] for r in outcome.rejections)
        assert all(r.expected_value["fields"] for r in outcome.rejections)


async def test_a_task_is_taken_back_by_its_run(fresh: Open):
    async with fresh() as db:
        before = await given.graph(db)
        task, gold = max(shop.tasks().items(), key=lambda item: len(item[1]))
        await replay.answered(db, shop.beginning(), task, gold)

        await given.undone(db, undo.Run(id=f"task-{task}"), author=shop.INTAKE)

        assert await given.graph(db) == before
