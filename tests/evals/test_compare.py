"""Two evaluations held against each other: one dimension, every pair told, every verdict earned (P8.7, P8.3, P8.6)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.evals import build
from tests.measure import build as runs
from ukai import record
from ukai.measure import attribution, compare, composition, decision, dimension, facts
from ukai.measure.bank import Question, Requires, Rules
from ukai.measure.evaluation import Evaluation

BANK = [build.question(n) for n in range(1, 25)]
PROSE = {**build.PARTS, "prose": {**build.PARTS["prose"], "tool:lookup": "other"}}


def held(before, after) -> compare.Comparison:
    return compare.compared(build.weighed(before), build.weighed(after))


def words(made: compare.Comparison) -> dict[str, str]:
    return {row.quantity.name: row.word for row in made.rows if row.word in ("better", "worse")}


def test_two_evaluations_of_one_version_differ_in_nothing():
    made = held(build.evaluation("a", BANK, build.chance(0.7, 1)), build.evaluation("b", BANK, build.chance(0.7, 2)))

    assert words(made) == {}
    assert [m for m in made.moved if m.is_news] == []
    assert made.changed == {}


def test_a_version_that_passes_less_is_worse_and_the_cases_are_named():
    worse = build.evaluation("b", BANK, lambda q, rep: build.run(int(q.id.removeprefix("case-")) % 2 == 0), parts=PROSE)
    made = held(build.evaluation("a", BANK, build.chance(1.0)), worse)
    row = made.row("passed")

    assert row is not None
    assert (row.word, row.before, row.after) == ("worse", 1.0, 0.5)
    assert row.fell == tuple(sorted(f"case-{n}" for n in range(1, 25, 2)))
    assert made.changed == {"prose": ("tool:lookup",)}


def test_what_only_one_side_asked_is_listed_and_in_no_figure():
    made = held(build.evaluation("a", BANK, build.chance(1.0)), build.evaluation("b", BANK[:20], build.chance(1.0)))
    row = made.row("passed")

    assert made.unpaired == ("case-21", "case-22", "case-23", "case-24")
    assert row is not None
    assert row.difference.cases == 20
    assert row.difference.unpaired == made.unpaired


@pytest.mark.parametrize(
    ("after", "declared", "problem"),
    [
        (PROSE, None, None),
        (PROSE, "prose", None),
        (PROSE, "model", "another dimension differs"),
        ({**PROSE, "rules": {"no-discounts": "2 x"}}, "prose", "more than one"),
        (build.PARTS, None, "nothing differs"),
        (build.PARTS, "nothing", None),
        (PROSE, "prsoe", "is no dimension"),
    ],
)
def test_exactly_one_declared_dimension_may_differ(after, declared: str | None, problem: str | None):
    found = dimension.problems(dimension.changed(build.PARTS, after), declared)

    assert [problem in f.message for f in found if problem] == ([True] if problem else [])
    assert bool(found) is bool(problem)
    assert all("tool:lookup" in f.received for f in found if "another" in f.message)


def test_a_tool_that_is_taken_away_is_a_change_of_settings_and_not_of_its_words():
    fewer = {
        **build.PARTS,
        "prose": {"agents/coach/SKILL.md": "a"},
        "code": {"ukai": "d", "agents/coach: settings": "x"},
    }

    assert dimension.changed(build.PARTS, fewer) == {"code": ("agents/coach: settings",)}


def failing(q: Question, rep: int) -> record.Run:
    made = build.run()
    return replace(made, calls=(*made.calls, runs.failed("lookup", n=2)))


def working(q: Question, rep: int) -> record.Run:
    made = build.run()
    return replace(made, calls=(*made.calls, runs.call("Their plan is the large one.", tool="lookup", n=2)))


def test_a_tool_that_starts_to_fail_is_named_with_the_part_that_was_changed_and_nothing_else_is():
    made = held(build.evaluation("a", BANK, working), build.evaluation("b", BANK, failing, parts=PROSE))

    news = [(m.kind, m.name, m.measure, m.word, m.part) for m in made.moved if m.is_news]

    assert news == [("tool", "lookup", "errors", "more", "tool:lookup")]
    assert next(m for m in made.moved if m.is_news).started == tuple(sorted(q.id for q in BANK))
    assert words(made) == {"evidence": "worse"}


def test_a_tool_that_is_not_called_any_more_has_stopped():
    made = held(
        build.evaluation("a", BANK, working), build.evaluation("b", BANK, lambda q, r: build.run(), parts=PROSE)
    )

    (stopped,) = [m for m in made.moved if m.is_news]

    assert (stopped.name, stopped.measure, stopped.word, stopped.after) == ("lookup", "calls", "less", 0.0)


def test_sections_that_are_composed_less_and_skills_that_are_read_no_more_are_told():
    def composed(name: str, *sections: str, skill: str | None = None) -> Evaluation:
        config = record.Config(model="extractive", skill=skill)
        made = build.evaluation(name, BANK, lambda q, rep: build.run(config=config))
        saved = composition.Saved(id="x", ranking=tuple(composition.Ranked(section=s) for s in sections))
        return replace(made, kept=tuple(replace(k, compositions=(saved,)) for k in made.kept))

    made = held(composed("a", "Call#1", "Note#1", skill="renewal-check"), composed("b", "Note#1"))

    assert [(m.kind, m.name, m.measure, m.word) for m in made.moved if m.is_news] == [
        ("section", "Call", "kept", "less"),
        ("skill", "renewal-check", "used", "less"),
    ]


def test_a_thinner_answer_had_less_or_wrote_less():
    other = "Their seats went from forty to nine in one quarter."

    def full(q: Question, rep: int) -> record.Run:
        made = runs.run(
            f"{build.TEXT} [Note#1-1]\n\n{other} [Note#2-1]", calls=(runs.call(build.TEXT), runs.call(other, n=2))
        )
        return replace(made, citations=tuple(record.Citation(sentence=i, item_key=f"Note#{i + 1}-1") for i in (0, 1)))

    def left_out(q: Question, rep: int) -> record.Run:
        return replace(full(q, rep), answer=record.Answer(markdown=f"{build.TEXT} [Note#1-1]"))

    def not_there(q: Question, rep: int) -> record.Run:
        return replace(left_out(q, rep), calls=(runs.call(build.TEXT),))

    before = build.weighed(build.evaluation("a", BANK, full))[1]
    wrote = attribution.thinner(before, build.weighed(build.evaluation("b", BANK, left_out))[1])
    had = attribution.thinner(before, build.weighed(build.evaluation("c", BANK, not_there))[1])

    assert (wrote.had_less, wrote.wrote_less) == (0, 48)
    assert (had.had_less, had.wrote_less) == (48, 0)


def test_share_stands_beside_price_and_the_front_is_marked():
    def priced(cents: int, passes: bool):
        usage = (record.Usage(model="m", input=100, output=10, usd=Decimal(cents) / 100),)
        return lambda q, rep: build.run(passes, usage=usage)

    versions = {"small": (1, True), "large": (9, True), "poor": (5, False)}
    pool = facts.pooled(
        {name: build.weighed(build.evaluation(name, BANK, priced(*of)))[1] for name, of in versions.items()}
    )

    assert [(p.name, p.share, round(p.usd or 0, 4), p.on_front) for p in pool.points] == [
        ("small", 1.0, 0.01, True),
        ("large", 1.0, 0.09, False),
        ("poor", 0.0, 0.05, False),
    ]
    assert len(pool.sha256) == 64


def test_a_case_says_why_it_does_not_pass():
    question = build.question(requires=Requires(items=("Note#9",)), rules=Rules(should_fire=("no-discounts",)))
    (one, _) = build.weighed(build.evaluation("a", [question], build.chance(1.0)))[1]

    assert one.unmet == (
        "Note#9 is not cited; no tool returned it",
        "the rule no-discounts must fire and did not",
    )


MANY = [build.question(n) for n in range(1, 101)]


def staged(before, after, **more) -> decision.Decision:
    old, new = (build.weighed(made)[1] for made in (before, after))
    stages: list[decision.Stage] = []
    for name in decision.STAGES:
        stages.append(decision.stage(name, old, new, **more))
        if not stages[-1].passes:
            break
    return decision.Decision(stages=tuple(stages))


def test_a_change_that_helps_is_kept_after_a_confirmation_on_cases_held_out():
    made = staged(build.evaluation("a", MANY, build.chance(0.5)), build.evaluation("b", MANY, build.chance(0.85)))

    assert [(s.name, s.passes) for s in made.stages] == [("screen", True), ("confirm", True)]
    assert made.keep
    assert made.as_json()["decision"] == "keep"


def test_a_change_that_only_helps_where_it_was_worked_on_is_taken_back():
    def fitted(q: Question, rep: int) -> record.Run:
        return build.chance(0.5 if q.split == "holdout" else 0.95)(q, rep)

    made = staged(build.evaluation("a", MANY, build.chance(0.5)), build.evaluation("b", MANY, fitted))

    assert [(s.name, s.passes) for s in made.stages] == [("screen", True), ("confirm", False)]
    assert not made.keep


def test_a_gated_quantity_that_gets_worse_ends_it_however_much_more_passes():
    def blind(q: Question, rep: int) -> record.Run:
        made = build.run(True)
        return replace(made, calls=(*made.calls, runs.failed("lookup", n=2)))

    made = staged(build.evaluation("a", MANY, build.chance(0.5)), build.evaluation("b", MANY, blind))

    assert not made.keep
    assert any(reason.startswith("evidence got worse") for reason in made.reasons)


def test_a_refactoring_is_kept_when_it_is_shown_to_be_no_worse():
    same = build.evaluation("a", MANY, build.chance(0.9, 1)), build.evaluation("b", MANY, build.chance(0.9, 1))

    assert not staged(*same).keep
    assert staged(*same, require="not-worse").keep


def test_a_bank_too_small_to_judge_keeps_nothing():
    few = [build.question(n) for n in range(1, 4)]
    made = staged(build.evaluation("a", few, build.chance(0.0)), build.evaluation("b", few, build.chance(1.0)))

    assert not made.keep
    assert made.reasons[0].startswith("not enough runs")
