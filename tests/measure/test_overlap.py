"""What each version relayed of the pool (P8.6), and the spread of tool calls (P8.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from tests.measure import build
from ukai import measure, record
from ukai.measure import tracing

ONE = "Legal wants the data processing addendum before anybody signs the contract."
TWO = "The price of 1,450 euros was agreed with the Lisbon office."
THREE = "Ines Okafor left the steering group because of a reorganisation in spring."
OVERLAP = measure.CHECKS["overlap"]()


def traced(answer: str, *texts: str, lead: str = "first_paragraph") -> list[tuple[str, str, bool]]:
    found = tracing.trace(build.reading(answer, *(texts or (ONE, TWO, THREE))), lead=lead)
    return [(f.key, f.method, f.led) for f in found.findings]


def test_the_first_of_four_ways_that_finds_an_item_is_kept():
    assert traced("They agreed on €1,450.") == [("Note#1-2", "figure", True)]
    assert traced("There is news of Okafor, who left the steering group.") == [("Note#1-3", "name", True)]
    assert traced("The addendum on data processing comes before a contract.") == [("Note#1-1", "passage", True)]
    assert traced("An addendum on data processing is wanted [Note#1-1].") == [("Note#1-1", "cited", True)]
    assert traced("The weather is nice.") == []


def test_a_figure_of_several_items_goes_to_the_one_that_shares_more_words_and_else_to_the_value():
    texts = ("The pilot has 340 users.", "The budget was 340 euros.")

    assert traced("There are 340 users in the pilot.", *texts) == [("Note#1-1", "figure", True)]
    assert traced("We counted 340.", *texts) == [("value:340", "figure", True)]


def test_what_leads_is_the_first_paragraph_and_what_stands_under_the_declared_heading():
    answer = "They agreed on €1,450.\n\nOkafor left the steering group.\n\n## Next move\n\n"
    answer += "Send the data processing addendum."

    assert [led for _, _, led in traced(answer)] == [True, False, False]
    assert [led for _, _, led in traced(answer, lead="heading: Next move")] == [True, False, True]


def test_a_saved_run_says_itself_which_heading_its_agent_declared_to_lead():
    answer = "They agreed on €1,450.\n\n## Next move\n\nSend the data processing addendum."
    declared = record.Config(model="m", lead="heading: Next move")

    def led(config: record.Config, case: measure.Case | None = None) -> list[bool]:
        reading = build.reading(answer, ONE, TWO, THREE, config=config)
        return [f["led"] for f in OVERLAP.weigh(reading, case).details["findings"]]

    assert led(record.Config(model="m")) == [True, False]
    assert led(declared) == led(declared, measure.Case(id="c")) == [True, True]
    assert led(declared, measure.Case(id="c", lead="first_paragraph")) == [True, False]


def versions(*answers: str) -> list[measure.Pair]:
    runs = [
        build.run(answer, ONE, TWO, THREE, case_id="c", config=record.Config(model=f"m{i}"))
        for i, answer in enumerate(answers)
    ]
    return build.several(*runs)


def test_each_version_gets_its_share_what_it_missed_and_what_only_it_found():
    pairs = versions("They agreed on €1,450. The data processing addendum comes first.", "They agreed on €1,450.")

    case, over = OVERLAP.weigh_all(pairs)

    first, second = case.details["versions"].values()
    assert (first["share"], second["share"]) == (1.0, 0.5)
    assert first["only_it"] == second["missed"] == ["Note#1-1"]
    assert len(case.details["pool"]) == 64
    assert case.details["weights"]["Note#1-2"] == 1.0
    assert over.details["compared"]


def test_a_thinner_answer_had_less_or_wrote_less():
    pairs = versions("They agreed on €1,450. The data processing addendum comes first.", "Nothing new.")
    bare = replace(pairs[1][0].run, calls=(build.call(TWO),))
    bare = replace(bare, calls=(replace(bare.calls[0], items=(record.Item(item_key="Note#1-2", text=TWO),)),))

    _, over = OVERLAP.weigh_all([pairs[0], (measure.Reading(bare), None)])

    (row,) = over.details["compared"].values()
    assert row["thinner"] == {"had_less": 1, "wrote_less": 1}


def test_few_cases_are_not_enough_runs_and_never_a_verdict():
    _, over = OVERLAP.weigh_all(versions("They agreed on €1,450.", "Nothing new."))

    (row,) = over.details["compared"].values()
    assert row["verdict"] == "not enough runs"


def asked(*calls: int) -> list[measure.Pair]:
    runs = [build.run("x", calls=tuple(build.call("y", n=n) for n in range(count))) for count in calls]
    return build.several(*runs)


def test_flakiness_tells_a_spread_of_calls_over_five_runs():
    (calm,) = measure.CHECKS["flakiness"]().weigh_all(asked(2, 2, 3, 2, 4))
    (wild,) = measure.CHECKS["flakiness"]().weigh_all(asked(1, 2, 3, 2, 4))

    assert not calm.flags
    assert (calm.counts["ratio"], calm.counts["calls_median"]) == (2.0, 2)
    assert [flag.kind for flag in wild.flags] == ["spread"]


def test_flakiness_of_fewer_runs_is_not_judged():
    (score,) = measure.CHECKS["flakiness"]().weigh_all(asked(1, 9))

    assert score.unable
    assert not score.flags


def test_a_budget_that_was_overrun_gates_and_an_unknown_price_is_told():
    used = (record.Usage(model="m", input=900, output=200), record.Usage(model="m", usd=Decimal("0.2")))
    limits = record.Limits(tokens=1000, usd=Decimal(1), seconds=60)

    score = measure.CHECKS["budget"]().weigh(build.reading("x", usage=used, budget=limits))

    assert [(f.kind, f.gates) for f in score.flags] == [("over", True), ("unpriced", False)]


def test_slow_calls_are_reported_and_percentiles_given():
    slow = replace(build.call("x"), t1=build.AT + timedelta(seconds=40))
    latency = measure.CHECKS["latency"]()

    score = latency.weigh(build.reading("x", calls=(slow,)))
    (over,) = latency.weigh_all(build.several(*(build.run("x") for _ in range(3))))

    assert [f.kind for f in score.flags] == ["slow_call"]
    assert not score.is_flagged
    assert over.counts["p95"] == 5
