"""Residue, collateral and quiet loss of a rewrite (P8.5)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure import build, full, rewrites
from tests.shared import needs
from ukai import measure, record
from ukai.measure.checks import rewrite

MADE = rewrites.made(280, seed=2)
BEFORE = "The pilot ends on 3 March. We should offer a discount of 12 percent. Legal is fine with it."


def weigh(text: str, *marks: str, before: str = BEFORE) -> list[tuple[str, str]]:
    places = [(before.find(m), m) for m in marks]
    given = tuple(record.Mark(text=m, start=at, end=at + len(m)) for at, m in places)
    return [(f.kind, f.words) for f in rewrite.weighed(rewrite.Rewritten(original=before, marks=given, text=text))]


def test_a_clean_rewrite_is_not_flagged():
    assert weigh(BEFORE.replace("a discount of 12 percent", "better terms"), "a discount of 12 percent") == []


def test_a_marked_figure_in_words_is_residue():
    text = BEFORE.replace("a discount of 12 percent", "to go down by twelve percent")

    assert weigh(text, "a discount of 12 percent") == [("residue", "twelve percent")]


def test_what_was_marked_and_is_gone_without_a_successor_is_a_quiet_loss():
    text = "The pilot ends on 3 March. Legal is fine with it."

    assert weigh(text, "a discount of 12 percent")[0][0] == "quiet_loss"


def test_a_sentence_that_no_mark_touched_is_missing_reworded_or_new():
    marked = "a discount of 12 percent"
    fixed = BEFORE.replace(marked, "better terms")

    assert weigh(fixed.replace(" Legal is fine with it.", ""), marked) == [("missing", "Legal is fine with it.")]
    assert weigh(fixed.replace("Legal is", "Legal may be"), marked) == [("reworded", "Legal is fine with it.")]
    assert weigh(f"{fixed} Nobody asked the landlord.", marked) == [("new", "Nobody asked the landlord.")]


def test_a_mark_that_does_not_stand_there_is_told_and_passed_over():
    assert weigh(BEFORE, "a rebate") == [("broken_mark", "a rebate")]


@pytest.mark.parametrize("kind", sorted({made.kind for made in MADE}))
def test_generated_rewrites_are_told_as_they_were_made(kind: str):
    own = [made for made in MADE if made.kind == kind]
    wrong = []
    for made in own:
        kinds = full.flags_of(made)
        said = ("residue" in kinds, kinds & {"missing", "reworded", "new"}, "quiet_loss" in kinds)
        if said != (made.residue, made.collateral, made.quiet_loss):
            wrong.append(made)

    assert len(wrong) <= len(own) // 20


@needs("faithfulness", "summedits")
def test_paraphrases_are_reworded_and_not_missing():
    told = full.paraphrases()["sales_call"]

    assert told["of"] > 100
    assert told["value"] >= 0.85


def test_rules_of_one_round_share_a_text_and_the_next_round_starts_from_what_came_of_it():
    first = record.Firing(stage="output", rule="a@1", verdict="rewrite", rewrite_of="One. Two.")
    second = replace(first, rule="b@1")
    third = replace(first, rule="c@1", rewrite_of="One. Three.")
    run = build.run("One. Four.", firings=(first, second, third))

    assert [(r.original, r.text) for r in rewrite.rewrites(run)] == [
        ("One. Two.", "One. Three."),
        ("One. Three.", "One. Four."),
    ]


def test_a_run_without_a_rewrite_is_not_weighed():
    assert measure.CHECKS["rewrite"]().weigh(build.reading("x")).unable == "nothing was rewritten"
