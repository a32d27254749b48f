"""Which rules start and stop firing when one of four things changes (P8.4)."""

from __future__ import annotations

from typing import Any, Literal

from tests.measure import build
from ukai import measure, record

CHECK = measure.CHECKS["collision"]()


def fired(case: int, verdict: Literal["pass", "block"], *, failed: bool = False, **changes: Any) -> record.Run:
    firing = record.Firing(stage="output", rule="tone@1", verdict=verdict, failed=failed)
    wording = changes.pop("wording", "1 a")
    config = record.Config(model=changes.pop("model", "m"), guardrails={"tone": wording})
    return build.run(f"Answer {case}.", case_id=f"case-{case}", config=config, firings=(firing,), **changes)


def test_one_changed_wording_counts_what_each_rule_gained_and_lost():
    before = [fired(i, "pass") for i in range(8)]
    after = [fired(i, "block" if i < 7 else "pass", wording="2 b") for i in range(8)]

    (score,) = CHECK.weigh_all(build.several(*before, *after))

    row = score.details["rules"]["tone"]
    assert score.details["factor"] == "wording"
    assert (row["gained"], row["lost"], row["quiet"]) == (7, 0, 1)
    assert row["p_holm"] < 0.05
    assert [flag.words for flag in score.flags] == ["tone"]


def test_runs_that_differ_in_more_than_one_thing_are_not_compared():
    before = [fired(i, "pass") for i in range(8)]
    after = [fired(i, "block", wording="2 b", model="other") for i in range(8)]

    assert CHECK.weigh_all(build.several(*before, *after)) == []


def test_a_rule_that_failed_is_a_third_outcome():
    runs = [fired(1, "pass"), fired(1, "block", failed=True, wording="2 b")]

    (score,) = CHECK.weigh_all(build.several(*runs))

    assert score.details["rules"]["tone"] | {"p_holm": 1, "noise": 1} == {
        "gained": 0, "lost": 0, "kept": 0, "quiet": 0, "failed": 1, "absent": 0, "p_holm": 1, "noise": 1
    }  # fmt: skip


def test_what_repeats_alone_would_change_is_no_news():
    before = [fired(i, "pass") for i in range(8)]
    repeats = [fired(i, "block") for i in range(8)]
    after = [fired(i, "block", wording="2 b") for i in range(8)]

    (score,) = CHECK.weigh_all(build.several(*before, *repeats, *after))

    assert score.details["rules"]["tone"]["noise"]["value"] == 1.0
    assert not score.flags


def test_answers_that_should_pass_show_a_rule_that_grew_too_wide():
    case = measure.Case(id="c", should_pass=("tone",))
    pairs = [(measure.Reading(fired(i, "block" if i < 3 else "pass")), case) for i in range(10)]

    (score,) = CHECK.weigh_all(pairs)

    assert score.details["labels"]["tone"]["false_block_rate"]["hits"] == 3
    assert {flag.kind for flag in score.flags} == {"false_block"}
