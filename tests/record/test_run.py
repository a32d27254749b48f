"""Runs as values: building, sealing, reading back (P4.6)."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.record import builders
from ukai import record


def test_a_turn_becomes_a_sealed_run():
    run = builders.finished()

    assert record.verify(run) == []
    assert [(e.seq, e.kind, e.about) for e in run.events] == [
        (1, "call", "c1"),
        (2, "usage", ""),
        (3, "composition", "cmp-1"),
        (4, "answer", ""),
        (5, "citation", ""),
    ]
    assert run.compositions == ("cmp-1",)
    assert run.answer is not None
    assert [run.answer.markdown[s.start : s.end] for s in run.answer.sentences] == [
        "Price",
        "Harbor pays $1.2M.",
        "It starts on May 5.",
    ]


def test_the_figures_of_a_call_are_read_once_when_it_is_saved():
    (call,) = builders.finished().calls

    assert call.figures is not None
    assert [(f.item, f.kind, f.value, f.unit) for f in call.figures] == [
        (0, "money", "1200000", "USD"),
        (0, "date", "--05-05", ""),
    ]


def test_a_sealed_run_refuses_changes():
    draft = builders.draft()
    draft.seal("answered")

    with pytest.raises(record.RunSealed):
        draft.add(builders.call())
    with pytest.raises(record.RunSealed):
        draft.refer("note", "late")
    with pytest.raises(record.RunSealed):
        draft.seal("answered")
    with pytest.raises(dataclasses.FrozenInstanceError):
        builders.finished().status = "error"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_run_that_was_changed_is_found_out():
    run = dataclasses.replace(builders.finished(), question="What else?")

    assert [f.code for f in record.verify(run)] == ["record_changed"]


def test_a_run_whose_parts_contradict_each_other_is_found_out():
    draft = builders.draft()
    draft.add(record.Answer(markdown="Short."))
    draft.add(record.Citation(sentence=7, item_key="Call#none"))

    found = record.verify(draft.seal("answered"))

    assert [(f.code, f.where) for f in found] == [
        ("record_broken", "/citations/0/sentence"),
        ("record_broken", "/citations/0/item_key"),
    ]


def test_a_run_is_the_same_after_writing_and_reading():
    run = builders.finished()

    again, found = record.load(record.dumps(run))

    assert found == []
    assert again == run
    assert record.verify(run) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON, text=st.text(), question=st.text(), usd=st.none() | st.decimals(0, 100, places=6))
@settings(max_examples=150, deadline=None)
def test_whatever_is_in_it_a_run_reads_back_with_the_same_hash(
    value: object, text: str, question: str, usd: Decimal | None
):
    draft = builders.draft(question=question)
    items = (record.Item(item_key="A#1", value=value), record.Item(item_key="A#2", text=text))
    draft.add(builders.call(items=items))
    draft.add(record.Usage(model="m", usd=usd))
    draft.add(record.Answer(markdown=text))
    run = draft.seal("answered")

    again, found = record.load(record.dumps(run).encode("utf-8"))

    assert found == []
    assert again == run
    assert record.verify(run) == []


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("{", "record_unreadable"),
        ("[]", "record_unreadable"),
        ('{"schema": 1e999}', "record_unreadable"),
        ("[" * 100_000, "record_unreadable"),
        ("{}", "record_schema"),
        ('{"schema": 2, "anything": true}', "record_schema"),
        ('{"schema": 0}', "record_schema"),
        ('{"schema": true}', "record_schema"),
        ('{"schema": 1}', "missing_key"),
    ],
)
def test_a_record_that_cannot_be_read_says_why(raw: str, code: str):
    run, found = record.load(raw)

    assert run is None
    assert code in {f.code for f in found}


def test_a_record_of_a_newer_schema_names_the_version():
    document = json.loads(record.dumps(builders.finished())) | {"schema": 7, "novelty": []}

    run, (found,) = record.load(json.dumps(document))

    assert run is None
    assert (found.expected, found.received) == ("1", "7")
    assert "newer" in found.message


def test_an_unknown_member_is_told_and_not_dropped():
    document = json.loads(record.dumps(builders.finished())) | {"novelty": 1}

    run, found = record.load(json.dumps(document))

    assert run is None
    assert [f.code for f in found] == ["unknown_key"]


# Put together here, so that no scanner takes this file for a leak.
LETTERS = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7"
SECRETS = [
    "-".join(["sk", "made", "up", LETTERS]),
    "ghp" + "_" + LETTERS,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "-".join(["xoxb", "1234567890", LETTERS]),
    ".".join(["eyJ" + LETTERS, "eyJ" + LETTERS, LETTERS]),
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_kept_nowhere_and_offsets_stay_true(secret: str):
    draft = builders.draft(question=f"use {secret} please")
    draft.add(builders.call(text=f"token {secret} costs $5.", args_canonical=json.dumps({"key": secret})))
    draft.add(record.Answer(markdown=f"It is {secret}. It costs $5."))
    run = draft.seal("error", reason=f"401 for {secret}")

    assert secret not in record.dumps(run)
    assert run.calls[0].items[0].text is not None
    assert len(run.calls[0].items[0].text) == len(f"token {secret} costs $5.")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abcdefghijklmnop.qrstu", "Authorization: Bearer "),
        ("postgresql://ukai:hunter22@db/x", "postgresql://"),
        ("password=hunter2222&x=1", "password="),
    ],
)
def test_what_names_a_secret_stays_and_the_secret_goes(text: str, kept: str):
    run = builders.draft(question=text).seal("answered")

    assert run.question.startswith(kept)
    assert len(run.question) == len(text)
    assert not any(word in run.question for word in ("hunter2", "abcdefgh"))


def test_arguments_are_masked_by_the_name_they_stand_under():
    draft = builders.draft()
    draft.add(builders.call(args_canonical='{"api_key":"12345","account":"harbor","nested":{"password":"abc"}}'))
    (call,) = draft.seal("answered").calls

    assert json.loads(call.args_canonical) == {"api_key": "*****", "account": "harbor", "nested": {"password": "***"}}


def test_a_naive_instant_is_refused_when_it_is_added():
    with pytest.raises(ValueError, match="time zone"):
        builders.draft().add(builders.call(t0=datetime(2026, 1, 1)))


def test_prose_that_only_looks_technical_is_left_alone():
    text = "The token budget is 15,000; the secret of success: password policies. sha256 " + "a1" * 32

    assert builders.draft(question=text).seal("answered").question == text


def test_the_example_of_the_reference_page_is_a_record_and_names_every_field():
    page = (Path(__file__).parents[2] / "docs/reference/run.md").read_text("utf-8")
    example = page.split("```json\n")[1].split("```")[0]

    run, found = record.load(example)

    assert found == []
    assert run is not None
    assert [f.code for f in record.verify(run)] == ["record_changed"]  # its hash is a word
    assert set(json.loads(example)) == {f.name for f in dataclasses.fields(record.Run)}
