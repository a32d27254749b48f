"""Samples of the public sets: the full figures are made by `python -m tests.measure.full`."""

from __future__ import annotations

from itertools import islice
from typing import Any

from tests.measure import build, corpora, full
from tests.shared import needs


def test_a_corrupted_figure_differs_in_one_digit():
    rng = full.random.Random(1)

    changed = [full.corrupted("1,204.5", rng) for _ in range(50)]

    assert all(sum(a != b for a, b in zip(c, "1,204.5", strict=True)) == 1 and c[0] != "0" for c in changed)


@needs("faithfulness", "summedits")
def test_sales_calls_are_caught_at_the_measured_rate_with_at_most_two_false_alarms():
    told = full.caught(corpora.summedits("sales_call"), full.FIGURES, full.NAMES)["all"]

    assert (told["caught"]["of"], told["false_alarms"]["of"]) == (347, 173)
    assert told["caught"]["hits"] >= 85
    assert told["false_alarms"]["hits"] <= 2


@needs("faithfulness", "summedits")
def test_earnings_calls_are_caught_at_the_measured_rate_with_at_most_two_false_alarms():
    told = full.caught(corpora.summedits("ectsum"), full.FIGURES)["all"]

    assert (told["caught"]["of"], told["false_alarms"]["of"]) == (426, 242)
    assert told["caught"]["hits"] >= 181
    assert told["false_alarms"]["hits"] <= 2


@needs("noncommercial", "ragtruth")
def test_answers_over_passages_are_caught_at_the_measured_rate_with_at_most_two_false_alarms():
    told = full.caught(corpora.ragtruth(), full.FIGURES)["all"]

    assert (told["caught"]["of"], told["false_alarms"]["of"]) == (120, 291)
    assert told["caught"]["hits"] >= 20
    assert told["false_alarms"]["hits"] <= 2


@needs("faithfulness", "tatqa")
def test_answers_that_state_their_calculation_are_derived_and_with_a_wrong_digit_they_are_not():
    rng = full.random.Random(3)
    told: list[str] = []
    wrong: list[str] = []
    for row in islice(_calculated(), 0, None, 4):
        stated = row["detail"]["stated"]
        told.append(full.verdict(row, len(stated)))
        other = full.corrupted(stated, rng)
        wrong.append(full.verdict(row | {"answer": other + row["answer"][len(stated) :]}, len(other)))

    assert len(told) > 80
    assert sum(kind in ("derived", "supported") for kind in told) >= 0.95 * len(told)
    assert sum(kind in ("invented", "miscalculated") for kind in wrong) >= 0.9 * len(wrong)


def _calculated() -> Any:
    return (row for row in corpora.tatqa() if row["answer"] != row["detail"]["stated"])


@needs("noncommercial", "ragtruth")
def test_planted_errors_are_caught_in_much_evidence_and_true_figures_are_not_called_weak():
    told = full.planted(sizes=(120,), every=2)["120 KiB"]["all"]  # all of them: python -m tests.measure.full planted

    assert told["caught"]["of"] > 300
    assert told["caught"]["value"] >= 0.95
    assert told["true called weak"]["value"] <= 0.05


def test_the_builders_make_a_run_that_can_be_weighed():
    assert build.score("invented_figures", build.PLAIN, build.PLAIN).flags == ()
