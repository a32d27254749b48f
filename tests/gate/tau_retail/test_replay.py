"""Every gold write of the benchmark replays, and what comes out is what a second reading of the policy says (W2-W9).

Each task of the benchmark begins with the same database. Tasks that concern different users touch nothing in common, so
a copy of the loaded database holds a whole batch of them: each finds everything that it touches as it was loaded. A
batch holds no user twice. At its end the whole database is compared: what a task should not have touched shows too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.gate.tau_retail import driver, reading, shop
from tests.gate.tau_retail.conftest import Open
from ukai import gate, store
from ukai.gate.author import Author

Call = Mapping[str, Any]

REFUSED = {"64/64_6": "invalid_transition", "105/106_0": "rule_violation"}
"""Gold writes that the policy forbids: an exchange on a pending order, one of 21.10 on a gift card with 17.00."""


def user_of(call: Call) -> str:
    arguments = call["arguments"]
    return str(arguments.get("user_id") or shop.beginning().orders[arguments["order_id"]].user_id)


def batches() -> list[list[str]]:
    """The tasks that write, so that no batch has two tasks about one user."""
    found: list[tuple[set[str], list[str]]] = []
    for task, calls in shop.tasks().items():
        users = {user_of(c) for c in calls}
        free = next((b for b in found if not b[0] & users), None)
        if free is None:
            found.append(free := (set(), []))
        if calls:
            free[0].update(users)
            free[1].append(task)
    return [tasks for _, tasks in found]


async def written(db: store.Database, task: str, call: Call) -> gate.Committed | gate.Rejected:
    author = Author(kind="agent", id="clerk", run=f"task-{task}", step=call["action_id"])
    made = await driver.propose(db, call["name"], call["arguments"], key=f"{task}:{call['action_id']}")
    return await gate.submit(db, made.delta, author=author, rights=gate.ALL, clock=shop.CLOCK, contract=made.contract)


async def replayed(
    db: store.Database, state: reading.State, task: str, calls: Sequence[Call]
) -> tuple[reading.State, list[tuple[str, list[str]]]]:
    """The second reading's state after the calls, and which calls the gate refused with which codes."""
    refused: list[tuple[str, list[str]]] = []
    for call in calls:
        said = reading.after(state, call["name"], call["arguments"])
        outcome = await written(db, task, call)
        if isinstance(outcome, gate.Rejected):
            refused.append((f"{task}/{call['action_id']}", [r.code for r in outcome.rejections]))
            assert isinstance(said, reading.Refusal), (task, call, [r.as_json() for r in outcome.rejections])
        else:
            assert isinstance(said, reading.State), (task, call, said)
            state = said
    return state, refused


async def test_task_by_task_the_graph_ends_as_the_second_reading_says(fresh: Open):
    refused: list[tuple[str, list[str]]] = []
    written = 0
    for tasks in batches():
        async with fresh() as db:
            state = shop.beginning()
            for task in tasks:
                calls = shop.tasks()[task]
                users = sorted({user_of(c) for c in calls})
                state, more = await replayed(db, state, task, calls)
                refused += more
                written += len(calls)
                assert await shop.facts(db, users) == shop.facts_of(state, users), task
            assert await shop.facts(db) == shop.facts_of(state)

    assert written == 176
    assert {call: codes[0] for call, codes in refused} == REFUSED


async def test_one_after_the_other_on_one_database_the_two_refuse_the_same(fresh: Open):
    state = shop.beginning()
    refused: list[tuple[str, list[str]]] = []
    async with fresh() as db:
        for task, calls in shop.tasks().items():
            state, more = await replayed(db, state, task, calls)
            refused += more

        assert await shop.facts(db) == shop.facts_of(state)
    assert len(refused) == 67  # most of these orders were changed by an earlier task
