"""Recall at a budget, from saved compositions."""

from __future__ import annotations

import json

from tests.measure import build
from ukai import measure
from ukai.measure import composition

CHECK = measure.CHECKS["recall"](budgets=(100, 1_000))
REPORT = {
    "id": "cmp-1",
    "skill": "account",
    "ranking": [
        {"section": "Note#1", "score": 3.0, "tokens_full": 80, "level": "full", "reason": "words"},
        {"section": "Call#harbor", "score": 2.0, "tokens_full": 300, "level": "summary", "reason": "words"},
        {"section": "Note#9", "score": 1.0, "tokens_full": 900, "level": "none", "reason": "no room"},
        {"section": "t:2024", "score": 0.5, "tokens_full": 90, "level": "full", "items": ["t:2024", "t:2025"]},
    ],
    "dropped": [{"section": "Note#9", "reason": "budget", "needed": 900, "left": 620}],
    "budget": 1000,
    "used": 380,
    "ceiling_hit": True,
    "graph": [],
}


def weigh(*required: str) -> measure.Score:
    saved, findings = composition.read(json.dumps(REPORT), name="cmp.json")
    assert saved is not None, findings
    reading = measure.Reading(build.run("x"), (saved,))
    return CHECK.weigh(reading, measure.Case(id="c", required=required))


def test_a_needed_item_is_held_in_full_shortened_dropped_or_never_ranked():
    score = weigh("Note#1", "Call#harbor/turn/3", "Note#9", "Note#77")

    assert build.told(score) == [("missing", "Note#9"), ("missing", "Note#77"), ("shortened", "Call#harbor/turn/3")]
    assert (score.counts["recall"], score.counts["usable"]) == (0.5, 0.25)
    assert "needed 900 of 620" in score.flags[0].note


def test_a_member_of_a_family_is_held_with_its_family():
    assert weigh("t:2025").counts == {"required": 1, "recall": 1.0, "usable": 1.0}


def test_at_each_budget_the_ranking_is_cut_before_the_first_that_does_not_fit():
    assert weigh("Note#1", "Call#harbor").details["at_budget"] == {"100": 0.5, "1000": 1.0}


def test_without_needed_items_or_a_composition_it_is_not_made():
    assert "needs" in weigh().unable
    assert CHECK.weigh(build.reading("x"), measure.Case(id="c", required=("Note#1",))).unable


def test_a_composition_that_is_none_is_told():
    for raw in ("[]", "{", '{"ranking": 3}'):
        saved, findings = composition.read(raw, name="cmp.json")
        assert saved is None
        assert findings
