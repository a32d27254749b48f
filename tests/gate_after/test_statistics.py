"""Shares, first-pass rates, attempts and what was taken back, counted from commits and attempts (W10)."""

from __future__ import annotations

from tests.gate import world
from tests.gate_after import given
from ukai import store
from ukai.gate import history, statistics
from ukai.gate.author import Author


def bot(step: str, name: str = "surveyor") -> Author:
    return Author(kind="agent", id=name, run="run-1", step=step)


async def test_everybody_is_counted(database: store.Database):
    await given.town(database)  # ann
    await world.done(database, world.change("Town#a", size=1), author=bot("1"))  # at once
    await world.refused(database, world.change("Town#a", sise=2), author=bot("2"))
    await world.refused(database, world.change("Town#a", size="x"), author=bot("2"))
    third = await world.done(database, world.change("Town#a", size=2), author=bot("2"))  # at the third attempt
    await world.done(database, world.change("Town#a", size=3), author=bot("2"))  # the next one at once
    await world.refused(database, world.change("Town#z", size=1), author=bot("3", "clerk"))  # never
    await given.undone(
        database, (await world.done(database, world.change("Town#a", motto="x"), author=bot("4"))).commit
    )

    found = await statistics.read(database, history.Window(limit=20))

    kinds = {k.kind: k for k in found.kinds}
    agents = kinds["agent"]
    assert (agents.commits, agents.refused, agents.given_up, agents.undone) == (4, 3, 1, 1)
    assert (agents.first_pass, agents.attempts_to_accept, agents.undone_share) == (0.75, 1.5, 0.25)
    assert agents.share == 4 / 6
    assert kinds["human"].undone == 0
    assert {a.id: a.given_up for a in found.authors} == {"surveyor": 0, "clerk": 1, "ann@example.com": 0}
    assert {c["code"]: c["by"] for c in found.codes} == {
        "unknown_field": {"agent": 1},
        "type_mismatch": {"agent": 1},
        "unknown_id": {"agent": 1},
    }
    assert third.commit
    assert "agent" in "\n".join(found.lines())


async def test_only_what_happened_in_the_time_counts(database: store.Database):
    await given.town(database)

    found = await statistics.read(database, history.Window(since=world.CLOCK.now()))

    assert (found.kinds, found.codes) == ((), ())
