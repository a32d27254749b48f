"""What the verdicts promise, on simulated agents with fixed seeds: `ukai bench eval_stats` runs them in full."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import NormalDist

import pytest
from benchmarks import eval_stats

from ukai.measure import power, stats


@pytest.mark.parametrize("subjects", [0, 10])
def test_a_change_without_effect_is_called_better_in_at_most_one_of_twenty(subjects: int):
    world = eval_stats.World(cases=40, repeats=3, subjects=subjects, draws=400)

    assert eval_stats.rate(300, 7, world, 0.0, eval_stats.is_better) <= 0.05


def test_a_useless_change_is_kept_in_at_most_one_of_a_hundred():
    world = eval_stats.World(cases=60, repeats=2, subjects=0, draws=400)

    assert eval_stats.kept(300, 7, world, 0.0) <= 0.01


@pytest.mark.parametrize(("cases", "repeats", "effect"), [(60, 3, 0.10), (50, 1, 0.15)])
def test_the_stated_power_holds_within_five_points(cases: int, repeats: int, effect: float):
    world = eval_stats.World(cases=cases, repeats=repeats, subjects=0, draws=400)
    stated = power.power(effect, cases=cases, repeats=repeats, spread=power.Spread())

    seen = eval_stats.rate(700, 11, world, effect, eval_stats.is_better)

    assert abs(seen - stated) <= 0.05


def test_students_distribution_has_its_published_quantiles():
    assert [round(stats.t_quantile(0.975, df), 3) for df in (1, 5, 9, 30)] == [12.706, 2.571, 2.262, 2.042]
    assert stats.t_cdf(-2.571, 5) == pytest.approx(0.025, abs=1e-4)


def test_a_gap_within_the_own_reruns_is_no_difference_whatever_the_interval_says():
    gap = stats.Difference(mean=0.02, low=0.01, high=0.03, cases=40, clusters=40, p=0.001, noise=0.03)

    assert gap.word(larger_than=0.02) == "not enough runs"


def test_a_difference_that_is_surely_small_is_none_however_sure_it_is():
    gap = stats.Difference(mean=0.02, low=0.01, high=0.03, cases=400, clusters=400, p=0.001)

    assert (gap.word(larger_than=0.05), gap.word(larger_than=0.02)) == ("no difference", "better")


def test_what_did_not_move_does_not_count_among_the_questions_asked():
    still = stats.paired({f"c{i}": [1.0] for i in range(9)}, {f"c{i}": [1.0] for i in range(9)})
    moved = replace(still, mean=0.5, low=0.2, high=0.8, p=0.01)

    told = stats.reported({"moved": moved, **{f"still-{i}": still for i in range(40)}})

    assert (told["moved"], told["still-0"]) == (0.01, 1.0)


def test_subjects_too_few_for_an_interval_are_never_a_verdict():
    before = {f"c{i}": [0.0] for i in range(50)}
    after = {f"c{i}": [1.0] for i in range(50)}
    five = {f"c{i}": f"s{i % 5}" for i in range(50)}

    assert stats.paired(before, after, cluster=five).word(larger_than=0.05) == "not enough runs"


def test_one_run_a_case_is_judged_by_exact_mcnemar():
    before = {f"c{i}": [0.0] for i in range(20)}
    after = {f"c{i}": [float(i < 6)] for i in range(20)}

    assert stats.paired(before, after).p == stats.mcnemar(6, 0)


def test_an_interval_of_few_clusters_is_wider_than_its_plain_percentiles():
    rng = random.Random(3)
    values = {f"c{i}": [rng.gauss(0.1, 0.2)] for i in range(8)}
    gap = stats.paired({case: [0.0] for case in values}, values, draws=20_000)

    # Half the width over the standard error is the t of 7 degrees of freedom and not the 1.96 of a normal.
    assert (gap.high - gap.low) / 2 / gap.se > NormalDist().inv_cdf(0.975) * 1.1


def test_more_cases_or_repeats_show_smaller_differences():
    spread = power.Spread()
    small = power.detectable(cases=50, repeats=1, spread=spread)
    large = power.detectable(cases=200, repeats=5, spread=spread)

    assert small is not None
    assert large is not None
    assert large < small
    assert power.detectable(cases=5, repeats=50, spread=spread) is None
