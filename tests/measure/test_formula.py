"""Calculations that an answer states."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.kit import figures
from ukai.measure import formula


def stated(text: str) -> tuple[formula.Formula, ...]:
    return formula.stated(text, figures.extract(text))


@pytest.mark.parametrize(
    "text",
    [
        "28747 = 14,689 + 14,058",
        "4.35% = (4.1% + 4.6%)/2",
        "-17.45% = 1.23 / 1.49 - 1",
        "91 million = 674 - 583",
        "16 = 3 + (13) + 26",
        "5.56 = 2.29-(-3.27)",
        "0.05 million = 53.0/1,027",
        "The sum is $622,908 = $57,299 + $565,609, as shown.",
        "(12.4 + 89.0) / 4,073.9 = 2.49%",
        "3 × 4 = 12",
    ],
)
def test_right_calculations_hold(text: str):
    assert [f.holds for f in stated(text)] == [True]


@pytest.mark.parametrize("text", ["28748 = 14,689 + 14,058", "5% = (4.1% + 4.6%)/2", "7 = 21 / 0", "30 = 4 + (5 * 6)"])
def test_wrong_calculations_do_not(text: str):
    assert [f.holds for f in stated(text)] == [False]


@pytest.mark.parametrize("text", ["a = b + c", "x = 5", "retries=3", "1 cup = 8 ounces", "== 5 + 3", "5 = = 3 + 2", ""])
def test_what_is_no_calculation_is_none(text: str):
    assert stated(text) == ()


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=6))
def test_a_true_sum_always_holds(numbers: list[int]):
    text = f"{sum(numbers):,} = " + " + ".join(f"{n:,}" for n in numbers)

    found = stated(text)

    assert len(found) == 1
    assert found[0].holds
    assert [o.figure.value for o in found[0].operands] == [Decimal(n) for n in numbers]


@given(st.text("0123456789+-*/().,=% $", max_size=200))
def test_any_text_is_read(text: str):
    stated(text)
