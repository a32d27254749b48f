"""Every gold write of the benchmark replays, and what comes out is what a second reading of the policy says (W2-W9).

Each task of the benchmark begins with the same database. Tasks that concern different users touch nothing in common, so
a copy of the loaded database holds a whole batch of them: each finds everything that it touches as it was loaded. A
batch holds no user twice. At its end the whole database is compared: what a task should not have touched shows too.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import shared
from tests.gate.tau_retail import calls, reading, replay, shop
from tests.gate.tau_retail.conftest import Open

pytestmark = shared.needs("gate", "tau_retail")

REFUSED = {"64/64_6": "invalid_transition", "105/106_0": "rule_violation"}
"""Gold writes that the policy forbids: an exchange on a pending order, one of 21.10 on a gift card with 17.00."""


async def test_task_by_task_the_graph_ends_as_the_second_reading_says(fresh: Open):
    found: list[replay.Answer] = []
    for tasks in replay.batches():
        async with fresh() as db:
            state = shop.beginning()
            for task in tasks:
                gold = shop.tasks()[task]
                users = sorted({replay.user_of(c) for c in gold})
                state, more = await replay.answered(db, state, task, gold)
                found += more
                assert await shop.facts(db, users) == shop.facts_of(state, users), task
            assert await shop.facts(db) == shop.facts_of(state)

    assert len(found) == 176
    assert [str(a) for a in found if not a.agrees] == []
    assert {a.call: a.codes[0] for a in found if a.is_refused} == REFUSED


async def test_one_after_the_other_on_one_database_both_refuse_the_same(fresh: Open):
    state = shop.beginning()
    found: list[replay.Answer] = []
    async with fresh() as db:
        for task, gold in shop.tasks().items():
            state, more = await replay.answered(db, state, task, gold)
            found += more

        assert await shop.facts(db) == shop.facts_of(state)
    assert [str(a) for a in found if not a.agrees] == []
    assert sum(a.is_refused for a in found) == 67  # most of these orders were changed by an earlier task


async def test_calls_that_the_policy_allows_and_forbids_are_judged_alike(fresh: Open):
    async with fresh() as db:
        state, found = await replay.answered(db, shop.beginning(), "any", calls.anyhow(400))

        assert await shop.facts(db) == shop.facts_of(state)
    assert [str(a) for a in found if not a.agrees] == []
    allowed = {a.call.split(":")[1] for a in found if not a.is_refused}
    refused = {a.call.split(":")[1] for a in found if a.is_refused}
    assert allowed == reading.WRITES
    assert refused == reading.WRITES - {"modify_user_address"}  # the policy forbids none


@pytest.mark.parametrize("rule", calls.FORBIDDEN)
async def test_without_its_rule_a_forbidden_call_gets_through(fresh: Open, rule: str):
    made = calls.FORBIDDEN[rule]()
    async with fresh() as db:
        state, found = await replay.answered(db, shop.beginning(), rule, made)
        assert [a.is_refused for a in found] == [False] * (len(made) - 1) + [True]
        assert all(a.agrees for a in found)

        await shop.upload(db, without=rule)
        _, found = await replay.answered(db, state, rule, made[-1:])

    assert not found[-1].is_refused, str(found[-1])


def test_the_second_reading_shares_nothing_with_what_it_checks():
    source = (Path(__file__).parent / "reading.py").read_text(encoding="utf-8")

    imported = {
        line.split()[1].partition(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))
    }

    assert imported <= {"__future__", "collections", "copy", "dataclasses", "decimal", "typing"}
