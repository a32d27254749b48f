"""Which calls brought nothing, and whether that was made good (P8.3)."""

from __future__ import annotations

from dataclasses import replace

from tests.measure import build
from ukai import measure, record
from ukai.kit import canonical

CHECK = measure.CHECKS["evidence"]()


def weigh(
    *calls: record.Call, case: measure.Case | None = None, answer: str | None = "Nothing is known."
) -> measure.Score:
    return CHECK.weigh(measure.Reading(build.run(answer, calls=calls)), case)


def args(**given: str) -> str:
    return canonical.dumps(given)


def test_an_answer_after_a_failed_call_that_never_worked_is_told():
    score = weigh(build.failed(n=1), build.call("x", tool="other", n=2))

    assert [(f.kind, f.words, f.part, f.gates) for f in score.flags] == [
        ("unrecovered", "TimeoutError", "call c1", True)
    ]
    assert score.counts["answered_blind"] == 1


def test_without_an_answer_it_does_not_gate():
    assert not weigh(build.failed(), answer=None).is_flagged


def test_a_later_call_of_the_same_tool_recovers_and_strictly_only_with_the_same_target():
    loose = weigh(build.failed(n=1, args_canonical=args(a="1")), build.call("x", n=2, args_canonical=args(a="2")))
    strict = weigh(build.failed(n=1, args_canonical=args(a="1")), build.call("x", n=2, args_canonical=args(a="1")))

    assert (loose.counts["recovered_loose"], loose.counts["recovered_strict"]) == (1, 0)
    assert (strict.counts["recovered_loose"], strict.counts["recovered_strict"]) == (1, 1)
    assert not loose.flags


def test_declared_targets_leave_the_other_arguments_free():
    case = measure.Case(id="c", target_args=("account",))
    first = build.failed(n=1, args_canonical=args(account="harbor", limit="5"))
    again = build.call("x", n=2, args_canonical=args(account="harbor", limit="50"))

    assert weigh(first, again, case=case).counts["recovered_strict"] == 1


def test_a_call_that_brought_nothing_recovers_a_failed_one():
    assert weigh(build.failed(n=1), build.call(n=2)).counts["unrecovered"] == 0


def test_all_runs_together_give_a_table_by_tool_with_intervals():
    runs = [build.run("x", calls=(build.failed(n=1), build.call("y", n=2))) for _ in range(4)]

    (score,) = CHECK.weigh_all(build.several(*runs))

    row = score.details["tools"][0]
    assert (row["tool"], row["calls"], row["error"]["hits"], row["recovered_loose"]["hits"]) == (
        "search_records",
        8,
        4,
        4,
    )
    assert row["error"]["low"] < 0.5 < row["error"]["high"]


def test_two_versions_are_compared_by_case_and_a_higher_error_rate_is_worse():
    before = [build.run("x", calls=(build.call("y"),), case_id=f"case-{i}") for i in range(10)]
    other = record.Config(model="other")
    after = [replace(r, calls=(build.failed(),), config=other) for r in before]

    (score,) = CHECK.weigh_all(build.several(*before, *after))

    compared = score.details["compared"]
    assert compared["before"].startswith("extractive")
    assert compared["tools"][0]["verdict"] == "worse"
    assert compared["tools"][0]["error_rate_change"] == 1.0
    assert compared["tools"][0]["p_holm"] < 0.05
