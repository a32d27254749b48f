"""What an evaluation is told as: a page that needs nothing else, JUnit, and files that are read back (P8.7, X5)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.evals import build
from tests.measure import build as runs
from ukai.measure import alone, compare, exporting, importing, weighing
from ukai.measure.telling import case_table, junit, page, table

BANK = [build.question(n) for n in range(1, 25)]
PROSE = {**build.PARTS, "prose": {**build.PARTS["prose"], "agents/coach/SKILL.md": "other"}}


@pytest.fixture(scope="module")
def made() -> compare.Comparison:
    before = build.evaluation("a", BANK, build.chance(1.0))
    after = build.evaluation("b <i>", BANK, build.chance(0.4), parts=PROSE)
    return compare.compared(build.weighed(before), build.weighed(after))


def test_the_table_says_the_verdict_with_its_interval_and_marks_what_gates(made: compare.Comparison):
    lines = table.told(made).splitlines()

    assert lines[1] == "changed: prose (agents/coach/SKILL.md)"
    (passed,) = [line for line in lines if "passed " in line[:12]]
    assert re.fullmatch(r"! passed +100\.0% +\d+\.\d% +-\d+\.\d  \[-\d+\.\d, -\d+\.\d\] +24  worse", passed)


def test_the_page_holds_everything_it_needs_and_shows_strangers_words_as_words(made: compare.Comparison):
    html = page.told(made)

    assert not re.search(r"(?:src|href)=|@import|https?://|<script", html)
    assert "b &lt;i&gt;" in html
    assert "<i>" not in html
    for chart in re.findall(r"<svg.*?</svg>", html, re.DOTALL):
        ElementTree.fromstring(chart)
    assert html.count("<svg") == 2


def test_junit_fails_cases_that_never_pass_and_quantities_that_gate(made: compare.Comparison):
    after = build.evaluation("b", BANK, lambda q, rep: build.run(q.id != "case-3" and (q.id != "case-4" or rep == 1)))
    text = junit.told("b", weighing.weighed(after), made)

    suites = ElementTree.fromstring(text)
    failed = [case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None]
    flaky = [
        case.get("name") for case in suites.iter("testcase") if case.findtext("system-out", "").startswith("passed 1")
    ]

    assert failed == ["case-3", "passed"]
    assert flaky == ["case-4"]


def test_one_evaluation_alone_has_intervals_reliability_and_reasons():
    one = alone.alone("a", weighing.weighed(build.evaluation("a", BANK, lambda q, rep: build.run(q.id != "case-3"))))

    text = case_table.told(one)

    assert one.reliability == (2, round(23 / 24, 4))
    assert "! case-3 (" in text
    assert "Note#1-1 is not cited; a tool returned it" in text
    assert json.dumps(one.as_json())


@pytest.mark.parametrize("format", sorted(exporting.FORMATS))
def test_what_is_exported_reads_back_as_the_same_runs(format: str):
    def called(q, rep):
        first = build.run(q.id != "case-3")
        return replace(first, calls=(*first.calls, runs.failed("lookup", n=2)))

    evaluation = build.evaluation("a", BANK[:4], called)

    back, findings = importing.FORMATS[format](exporting.FORMATS[format](evaluation, weighing.weighed(evaluation)))

    assert findings == []
    saved = {kept.run.question: kept.run for kept in evaluation.kept}
    assert len(back) == len(evaluation.kept)
    for run in back:
        first = saved[run.question]
        assert run.answer is not None
        assert first.answer is not None
        assert run.answer.markdown == first.answer.markdown
        assert [(c.tool, c.label) for c in run.calls] == [(c.tool, c.label) for c in first.calls]
        assert [i.item_key for c in run.calls for i in c.items] == [i.item_key for c in first.calls for i in c.items]


def test_evaluation_events_stand_on_the_span_of_their_turn():
    evaluation = build.evaluation("a", BANK[:1], build.chance(0.0))
    document = json.loads(exporting.FORMATS["otel"](evaluation, weighing.weighed(evaluation)))

    (turn, *_) = [
        s for s in document["resourceSpans"][0]["scopeSpans"][0]["spans"] if s["name"] == "invoke_agent deal-coach"
    ]
    events = [{a["key"]: a["value"] for a in event["attributes"]} for event in turn["events"]]

    (passed,) = [e for e in events if e["gen_ai.evaluation.name"]["stringValue"] == "passed"]
    assert passed["gen_ai.evaluation.score.label"]["stringValue"] == "fail"
    assert "not cited" in passed["gen_ai.evaluation.explanation"]["stringValue"]
    assert {e["name"] for e in turn["events"]} == {"gen_ai.evaluation.result"}
