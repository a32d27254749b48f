"""Token counts: o200k_base exactly, or too many rather than too few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.llm import tokens

GOLDEN = json.loads((Path(__file__).parent / "golden_tokens.json").read_text("utf-8"))
"""Counted by bpe-openai 0.1.4, another implementation of the same vocabulary: `tests/llm/golden_tokens.py` wrote it."""


@pytest.fixture(scope="module")
def counter() -> tokens.O200k:
    return tokens.O200k()


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["name"])
def test_counts_equal_those_of_another_implementation(counter: tokens.O200k, row: dict[str, object]):
    assert counter.count(str(row["text"])) == row["tokens"]


def test_special_token_lookalikes_are_plain_text(counter: tokens.O200k):
    assert counter.count("<|endoftext|>") > 1


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "a\udfffb", "🙂" * 10_000])
def test_any_text_can_be_counted(counter: tokens.O200k, text: str):
    assert (counter.count(text) == 0) == (text == "")
    assert tokens.Estimate().count(text) >= 0


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_numbers_of_as_many_digits_have_as_many_tokens(counter: tokens.O200k, digits: int):
    """A ladder that counts with one number of a heading need not count again with the next one (`Page.state`)."""
    numbers = range(10 ** (digits - 1), min(10**digits, 2_000))

    assert len({counter.count(f"\n## {n}. crm/Quillon · Call\n") for n in numbers}) == 1


def test_the_vocabulary_is_loaded_once():
    loaded: list[tokens.O200k] = []

    def load() -> tokens.O200k:
        loaded.append(tokens.O200k())
        return loaded[-1]

    kept = tokens.O200k(load=load)

    assert [kept.count("abc"), kept.count("abc")] == [1, 1]
    assert len(loaded) == 1


def test_nothing_is_loaded_before_the_first_count():
    def load() -> object:
        raise AssertionError

    assert tokens.O200k(load=load).count("") == 0


@given(st.text(max_size=400))
def test_the_estimate_is_two_bytes_a_token_rounded_up(text: str):
    size = len(text.encode("utf-8", "surrogatepass"))

    assert tokens.Estimate().count(text) == -(-size // 2)


def test_the_estimate_stays_above_the_exact_count_on_the_golden_texts_of_human_writing():
    for row in GOLDEN:
        if row["human"]:
            assert tokens.Estimate().count(row["text"]) >= row["tokens"], row["name"]


def test_without_the_wheel_the_estimate_counts():
    assert tokens.counter(installed=lambda name: None).name == "bytes/2"
    assert tokens.counter().name == "o200k_base"


def test_a_provider_that_counts_more_gets_a_margin():
    assert tokens.for_provider(1000, "anthropic") == 1150
    assert tokens.for_provider(1000, "openai") == 1000
