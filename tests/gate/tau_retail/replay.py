"""Gold writes one after the other, through the gate and through the second reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.gate.tau_retail import driver, reading, shop
from ukai import gate, store
from ukai.gate.author import Author

Call = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What both say to a call."""

    call: str
    """`task/action`."""
    gate: gate.Committed | gate.Rejected
    reading: reading.State | reading.Refusal

    @property
    def is_refused(self) -> bool:
        return isinstance(self.gate, gate.Rejected)

    @property
    def agrees(self) -> bool:
        """Both allow it, or both refuse it."""
        return self.is_refused == isinstance(self.reading, reading.Refusal)

    @property
    def codes(self) -> list[str]:
        return [r.code for r in self.gate.rejections] if isinstance(self.gate, gate.Rejected) else []

    def __str__(self) -> str:
        told = [str(r) for r in self.gate.rejections] if isinstance(self.gate, gate.Rejected) else "committed"
        return f"{self.call}: {told} / {self.reading if isinstance(self.reading, reading.Refusal) else 'allowed'}"


def user_of(call: Call) -> str:
    """The user that a call is about."""
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


async def proposal(db: store.Database, call: Call, *, key: str = "") -> driver.Proposal:
    """A call as the driver would propose it now."""
    return await driver.propose(db, call["name"], call["arguments"], key=key)


async def sent(
    db: store.Database, task: str, call: Call, made: driver.Proposal, delta: Any
) -> gate.Committed | gate.Rejected:
    """`delta` proposed under the contract of `made`, in the call's step."""
    author = Author(kind="agent", id="clerk", run=f"task-{task}", step=call["action_id"])
    return await gate.submit(db, delta, author=author, rights=gate.ALL, clock=shop.CLOCK, contract=made.contract)


async def answered(
    db: store.Database, state: reading.State, task: str, calls: Sequence[Call]
) -> tuple[reading.State, list[Answer]]:
    """The second reading's state after the calls, and what both said to each."""
    found: list[Answer] = []
    for call in calls:
        said = reading.after(state, call["name"], call["arguments"])
        made = await proposal(db, call)
        outcome = await sent(db, task, call, made, made.delta)
        found.append(Answer(call=f"{task}/{call['action_id']}", gate=outcome, reading=said))
        state = said if isinstance(said, reading.State) else state
    return state, found


def allowed(state: reading.State, call: Call) -> reading.State:
    """The state after a call that the second reading allows."""
    said = reading.after(state, call["name"], call["arguments"])
    assert isinstance(said, reading.State), said
    return said
