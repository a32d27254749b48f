"""One rule per quantity, against known values and laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.measure import stats


def test_wilson_gives_the_published_interval():
    share = stats.wilson(412, 418)

    assert (round(share.low, 3), round(share.high, 3)) == (0.969, 0.993)
    assert stats.wilson(0, 0).as_json() == {"hits": 0, "of": 0, "value": None, "low": 0.0, "high": 1.0}


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_stays_within_0_and_1(of: int, data: st.DataObject):
    hits = data.draw(st.integers(0, of))

    share = stats.wilson(hits, of)

    assert 0 <= share.low <= hits / of <= share.high <= 1


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (3, 3, 1.0), (10, 2, 0.0386)]
)
def test_mcnemar_is_the_exact_binomial(gained: int, lost: int, p: float):
    assert round(stats.mcnemar(gained, lost), 4) == round(p, 4)


def test_holm_and_benjamini_hochberg_on_a_worked_example():
    given_p = {"a": 0.01, "b": 0.02, "c": 0.03, "d": 0.04}

    assert stats.holm(given_p) == {"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.06}
    assert {k: round(v, 6) for k, v in stats.benjamini_hochberg(given_p).items()} == dict.fromkeys("abcd", 0.04)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=12))
def test_adjusting_never_lowers_a_p_and_holm_is_never_below_benjamini_hochberg(p_values: dict[str, float]):
    holm, bh = stats.holm(p_values), stats.benjamini_hochberg(p_values)

    assert all(p_values[k] <= bh[k] + 1e-12 and bh[k] <= holm[k] + 1e-12 <= 1 + 1e-9 for k in p_values)


def test_pass_k_is_the_chance_that_all_k_passed():
    assert stats.pass_k(4, 5, 5) == 0
    assert stats.pass_k(5, 5, 5) == 1
    assert stats.pass_k(4, 5, 2) == 0.6
    assert stats.pass_k(1, 1, 2) is None


def test_a_paired_difference_lists_what_has_no_partner_and_repeats_itself():
    before = {f"c{i}": [0.0, 1.0] for i in range(12)} | {"alone": [1.0]}
    after = {f"c{i}": [1.0, 1.0] for i in range(12)}

    first, second = stats.paired(before, after), stats.paired(before, after)

    assert first == second
    assert (first.mean, first.low, first.high, first.cases, first.unpaired) == (0.5, 0.5, 0.5, 12, ("alone",))
    assert first.word(larger_than=0.1) == "better"


def test_no_difference_is_earned_and_few_cases_are_not_enough():
    flat = {f"c{i}": [1.0] for i in range(30)}

    assert stats.paired(flat, flat).word(larger_than=0.05) == "no difference"
    assert stats.paired({"a": [1.0]}, {"a": [0.0]}).word(larger_than=0.05) == "not enough runs"


def test_clusters_widen_the_interval():
    before = {f"c{i}": [0.0] for i in range(40)}
    after = {f"c{i}": [1.0 if i < 20 else 0.0] for i in range(40)}
    account = {f"c{i}": f"a{i // 10}" for i in range(40)}

    alone, clustered = stats.paired(before, after), stats.paired(before, after, cluster=account)

    assert clustered.high - clustered.low > alone.high - alone.low
