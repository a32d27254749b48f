"""What a turn may use: reserved before, settled after, shared by sub-agents, by days and by processes (P1.1, P4.1)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime import turns
from tests.runtime.turns import ITEMS, ran, returning
from ukai import store
from ukai.kit.clock import FixedClock
from ukai.llm.scripted import Call
from ukai.runtime import rows
from ukai.runtime.budget import Allowance, Cost, Purse, Spent
from ukai.runtime.ledger import HELD_FOR, Ledger, Pool

USD = Decimal


def purse(**limits: object) -> Purse:
    return Purse(allowance=Allowance(**({"iterations": 100} | limits)))  # type: ignore[arg-type]


async def spend(purse: Purse, tokens: int, usd: str = "0") -> None:
    cost = Cost(tokens=tokens, usd=USD(usd))
    await purse.settle(await purse.reserve(cost), cost)


async def test_a_request_that_does_not_fit_is_refused_before_it_is_made():
    small = purse(tokens=100, usd=USD("0.10"))

    await spend(small, 60, "0.05")
    with pytest.raises(Spent, match="100 tokens"):
        await small.reserve(Cost(tokens=41))
    with pytest.raises(Spent, match=r"0\.10 USD"):
        await small.reserve(Cost(usd=USD("0.06")))
    await spend(small, 40, "0.05")

    assert (small.tokens, small.usd, small.requests) == (100, USD("0.10"), 2)


async def test_what_is_set_aside_counts_until_it_is_settled():
    small = purse(tokens=100)

    held = await small.reserve(Cost(tokens=80))
    with pytest.raises(Spent):
        await small.reserve(Cost(tokens=30))
    await small.settle(held, Cost(tokens=10))
    await small.reserve(Cost(tokens=30))

    assert small.tokens == 10


async def test_nothing_to_spend_is_nothing_to_spend_even_where_it_costs_nothing():
    with pytest.raises(Spent):
        await purse(usd=USD(0)).reserve(Cost(usd=USD(0)))


@given(
    st.integers(1, 500),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 120), st.integers(0, 120)), max_size=25),
)
def test_sub_agents_together_never_spend_more_than_their_parent_has(limit: int, steps: list[tuple[int, int, int]]):
    async def run() -> None:
        parent = purse(tokens=limit)
        children = [parent.child(Allowance(iterations=9, tokens=200)) for _ in range(3)]
        children.append(children[0].child(Allowance(iterations=9)))
        used = 0
        for which, expected, came_to in steps:
            actual = min(expected, came_to)
            try:
                hold = await children[which].reserve(Cost(tokens=expected))
            except Spent:
                continue
            await children[which].settle(hold, Cost(tokens=actual))
            used += actual
        assert parent.tokens == used <= limit
        assert all(c.requests <= 9 for c in children)
        assert children[0].tokens <= 200

    asyncio.run(run())


def ledger(db: store.Database, *pools: Pool, principal: str = turns.ANN, agent: str = "coach") -> Ledger:
    return Ledger(db=db, clock=FixedClock(turns.NOW), principal=principal, agent=agent, pools=pools)


MINE = Pool(per="day", unit="usd", amount=USD("1.00"), principal=turns.ANN)
COACH = Pool(per="day", unit="usd", amount=USD("1.50"), agent="coach")


async def paid(of: Ledger, usd: str, tokens: int = 0) -> None:
    cost = Cost(usd=USD(usd), tokens=tokens)
    await of.settle(await of.reserve(cost), cost)


async def test_a_day_is_shared_by_all_runs_of_a_person_and_all_people_of_an_agent(database: store.Database):
    ann, ben = ledger(database, MINE, COACH), ledger(database, COACH, principal="ben@x.example")

    await paid(ann, "0.90")
    with pytest.raises(Spent, match=r"your share of 1\.00 USD today is used up"):
        await paid(ledger(database, MINE, agent="desk"), "0.20")
    await paid(ben, "0.60")
    with pytest.raises(Spent, match=r"the share of coach of 1\.50 USD today is used up"):
        await ben.open()
    with pytest.raises(Spent, match="your share"):
        await replace(ann, clock=FixedClock(turns.NOW + timedelta(hours=1))).reserve(Cost(usd=USD("0.20")))

    await replace(ann, clock=FixedClock(turns.NOW + timedelta(days=1))).open()  # the next day


async def test_a_month_counts_its_days(database: store.Database):
    month = replace(MINE, per="month")
    later = FixedClock(turns.NOW + timedelta(days=5))

    await paid(ledger(database, month), "0.70")
    with pytest.raises(Spent, match="this month"):
        await paid(replace(ledger(database, month), clock=later), "0.40")


async def test_runs_that_reserve_at_once_do_not_find_the_same_room(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    usual, together = rows.spent, asyncio.Barrier(3)

    async def spent(*args: Any, **more: Any) -> rows.Spending:
        """Each looks, and then waits for the others as long as they can come."""
        found = await usual(*args, **more)
        with suppress(TimeoutError, asyncio.BrokenBarrierError):
            await asyncio.wait_for(together.wait(), 0.1)
        return found

    async def one() -> bool:
        try:
            await ledger(database, MINE).reserve(Cost(usd=USD("0.60")))
        except Spent:
            return False
        return True

    monkeypatch.setattr(rows, "spent", spent)
    fitted = await asyncio.gather(*(one() for _ in range(3)))

    assert sum(fitted) == 1


async def test_what_a_dead_process_had_set_aside_is_free_again_after_a_while(database: store.Database):
    await ledger(database, MINE).reserve(Cost(usd=USD("1.00")))

    with pytest.raises(Spent):
        await ledger(database, MINE).open()
    late = FixedClock(turns.NOW + HELD_FOR + timedelta(seconds=1))
    await replace(ledger(database, MINE), clock=late).open()


async def test_tokens_and_seconds_of_a_day_count_too(database: store.Database):
    tokens = Pool(per="day", unit="tokens", amount=USD(100), principal=turns.ANN)
    seconds = Pool(per="day", unit="seconds", amount=USD(60), principal=turns.ANN)

    await paid(ledger(database, tokens), "0", tokens=80)
    with pytest.raises(Spent, match="100 tokens"):
        await paid(ledger(database, tokens), "0", tokens=30)
    await ledger(database, seconds).close(61.5)
    with pytest.raises(Spent, match="60 seconds"):
        await ledger(database, seconds).open()


async def test_a_turn_whose_day_is_used_up_asks_nobody_and_says_why(database: store.Database):
    await paid(ledger(database, MINE), "1.00")

    run = await ran(database, [], returning(ITEMS), shared=ledger(database, MINE))

    assert (run.status, run.reason) == ("budget", "your share of 1.00 USD today is used up")
    assert run.usage == ()


async def test_what_a_turn_cost_is_on_its_day_to_the_last_digit(database: store.Database):
    shared = ledger(database, Pool(per="day", unit="usd", amount=USD(100), principal=turns.ANN))
    model = turns.Priced([Call("search", {}), "So."])

    run = await ran(database, model, returning(ITEMS), shared=shared)

    async with database.transaction() as tx:
        kept = await tx.one("select tokens, usd from spending")
        held = await tx.value("select count(*) from spending_held")
    assert kept == (sum(u.input + u.output for u in run.usage), sum(u.usd or 0 for u in run.usage))
    assert held == 0
