"""Broken writes: none is stored, none fails raw, and what can be mended is mended by the patches alone (W3-W6, W9)."""

from __future__ import annotations

import copy
from pathlib import Path

from tests import shared
from tests.gate.tau_retail import broken, calls, replay, report, shop, trial
from tests.gate.tau_retail.conftest import Open
from ukai import gate, store

pytestmark = shared.needs("gate", "tau_retail")

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "gate-proof.md"
LEAST = 1_900
MENDED = 0.9


async def test_every_broken_write_is_refused_with_its_repair(fresh: Open):
    async with fresh() as db:
        writes = trial.of_each_shape(await trial.proposals(db), report.SHAPES)
        before = await trial.fingerprint(db)

        found = await trial.tried(db, writes)

        assert await trial.fingerprint(db) == before
    for fault, tally in found.items():
        assert [(one.tool, one.field, one.delta) for one in tally.stored] == [], fault
        assert [(one.tool, one.field, repr(error)) for one, error in tally.raw] == [], fault
        assert [(one.field, str(r)) for one, r in tally.unclear] == [], fault
        assert [(one.tool, one.field, codes) for one, codes in tally.astray] == [], fault
        assert "rule_error" not in tally.codes, fault  # the rules answer whatever is proposed
        assert [(one.tool, one.field, [str(r) for r in told]) for one, told in tally.untold[:2]] == [], fault
    mendable = [t for t in found.values() if t.mended or t.unmended]
    assert sum(t.calls for t in found.values()) >= LEAST
    assert sum(t.mended for t in mendable) / sum(t.calls for t in mendable) >= MENDED
    assert report.table(found) in PAGE.read_text(encoding="utf-8"), f"{PAGE.name} should say\n{report.table(found)}"


async def test_a_write_sent_again_has_one_effect_and_its_first_answer(fresh: Open):
    repeated = 0
    without_effect: list[str] = []
    for tasks in replay.batches():
        async with fresh() as db:
            state = shop.beginning()
            for task, call in ((t, c) for t in tasks for c in shop.tasks()[t]):
                made = await replay.proposal(db, call, key=f"{task}:{call['action_id']}")
                start = await trial.changes(db)
                first = await replay.sent(db, task, call, made, made.delta)
                if isinstance(first, gate.Rejected):
                    continue
                before = await trial.changes(db)
                without_effect += [call["name"]] if before == start else []

                again = await replay.sent(db, task, call, made, made.delta)
                under_another_key = await replay.sent(
                    db, task, call, made, made.delta | {"key": f"{made.delta['key']}!"}
                )
                other = copy.deepcopy(made.delta)
                other["ops"][0]["if_version"] += 1
                with_another_body = await replay.sent(db, task, call, made, other)

                assert isinstance(again, gate.Committed)
                assert again.replayed
                assert (again.commit, again.nodes) == (first.commit, first.nodes)
                # What changed nothing the first time may change nothing again.
                assert _codes(under_another_key) >= ({"conflict"} if before > start else set())
                assert _codes(with_another_body) == {"key_reused"}
                assert await trial.changes(db) == before
                state = replay.allowed(state, call)
                repeated += 1
            assert await shop.facts(db) == shop.facts_of(state)
    assert repeated == 174
    assert set(without_effect) == {"modify_user_address"}  # to the address that is there


async def test_without_one_of_these_rules_some_broken_write_gets_through(fresh: Open):
    faults = ("wrong amount", "haggled price", "unknown id")
    async with fresh() as db:
        writes = trial.of_each_shape(await trial.proposals(db), 1)
        made = [one for one in broken.broken(writes) if one.fault in faults]
        through = {rule: await _first_through(db, rule, made) for rule in calls.ALONE}

    assert [rule for rule, one in through.items() if one is None] == []


async def _first_through(db: store.Database, rule: str, made: list[broken.Broken]) -> broken.Broken | None:
    await shop.upload(db, without=rule)
    for one in made:
        if isinstance(await trial.proposed(db, one.delta, one.proposal, dry_run=True), gate.Committed):
            return one
    return None


def _codes(outcome: gate.Committed | gate.Rejected) -> set[str]:
    return {r.code for r in outcome.rejections} if isinstance(outcome, gate.Rejected) else set()
