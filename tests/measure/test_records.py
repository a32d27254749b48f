"""Records from outside, older schemas, and the same bytes whatever the pieces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.measure import build
from ukai import measure, record
from ukai.app import checks
from ukai.measure import batch, importing, outside, spec
from ukai.record import seal
from ukai.surfaces.cli import checks as cli

LINE: dict[str, Any] = {
    "id": "r1",
    "question": "What does it cost?",
    "evidence": [{"key": "Note#1", "text": "The licence costs $1.2M a year."}],
    "answer": "The licence costs $1.5M a year.",
    "label": True,
    "detail": {"anything": 1},
}


def written(folder: Path, *lines: dict[str, Any] | str) -> Path:
    file = folder / "records.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_a_record_is_scored_and_labels_give_precision_recall_and_false_alarms(tmp_path: Path):
    fine = LINE | {"id": "r2", "answer": "The licence costs $1.2M a year.", "label": False}

    document = checks.score("invented_figures", written(tmp_path, LINE, fine))

    assert [row["flagged"] for row in document["per_record"]] == [True, False]
    assert document["precision"]["value"] == document["recall"]["value"] == 1
    assert document["false_alarm_rate"]["hits"] == 0
    assert document["per_record"][0]["flags"][0]["looked"][0]["words"] == "$1.2M"


def test_without_labels_there_are_no_shares(tmp_path: Path):
    unlabelled = {k: v for k, v in LINE.items() if k != "label"}

    assert "precision" not in checks.score("invented_figures", written(tmp_path, unlabelled))


def test_several_checks_flag_a_record_when_one_does(tmp_path: Path):
    stranger = LINE | {"answer": "The licence was sold to Ingrid Solheim."}

    document = checks.score("invented_figures,names", written(tmp_path, stranger))

    assert [flag["check"] for flag in document["per_record"][0]["flags"]] == ["names"]


def test_a_saved_run_is_a_record_too(tmp_path: Path):
    run = seal.sealed(build.run("The licence costs $1.5M.", "The licence costs $1.2M."))

    document = checks.score("invented_figures", written(tmp_path, seal.dumps(run)))

    assert document["per_record"][0]["id"] == "run-1"
    assert document["per_record"][0]["flagged"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "record_unreadable"),
        ("[]", "record_unreadable"),
        ('{"question": "x"}', "missing_key"),
        ('{"id": 7}', "wrong_type"),
        (json.dumps(LINE), "record_repeated"),
        ('{"run_id": "x", "schema": 99}', "record_schema"),
        ('{"run_id": "x", "schema": 0}', "record_schema"),
    ],
)
def test_a_line_that_cannot_be_scored_says_why_and_the_others_still_score(tmp_path: Path, line: str, code: str):
    document = checks.score("invented_figures", written(tmp_path, LINE, line, LINE | {"id": "r3"}))

    assert document["records"] == 2
    assert [(f["code"], f["where"].startswith("records.jsonl:2")) for f in document["findings"]] == [(code, True)]


def test_a_run_without_saved_figures_or_sentences_still_scores():
    run = build.run("The licence costs $1.5M.", "The licence costs $1.2M.")
    old = replace(run, calls=tuple(replace(c, figures=None) for c in run.calls), answer=record.Answer(markdown="$1.5M"))

    scores = measure.weigh([(measure.Reading(old), None)], [kind() for kind in measure.CHECKS.values()])

    assert scores[0].is_flagged


def test_the_same_input_gives_the_same_bytes_in_any_number_of_processes(monkeypatch: pytest.MonkeyPatch):
    lines = [json.dumps(LINE | {"id": f"r{i}", "answer": f"It costs ${i}.5M. Ola Berg says so."}) for i in range(40)]
    monkeypatch.setattr(batch, "INLINE", 0)

    def said(workers: int) -> str:
        done = batch.weighed(lines, list(measure.CHECKS), name="x", workers=workers)
        scores = [*(s for row in done.rows for s in row.scores), *done.groups]
        return json.dumps([s.as_json() for s in scores])

    assert said(1) == said(1) == said(2)


def test_a_spec_is_rebuilt_from_what_a_score_says():
    for kind in measure.CHECKS.values():
        check = kind()
        assert spec.rebuilt(json.loads(json.dumps(spec.written(check))), measure.CHECKS) == check


@pytest.mark.parametrize("change", [{"name": "invented"}, {"version": 99}, {"nearness": 3}])
def test_a_spec_of_another_version_is_refused(change: dict[str, Any]):
    written_spec = spec.written(measure.CHECKS["invented_figures"]()) | change

    with pytest.raises(spec.SpecMismatch):
        spec.rebuilt(written_spec, measure.CHECKS)


def test_an_unknown_check_is_refused_with_a_suggestion(tmp_path: Path):
    with pytest.raises(checks.UnknownCheck, match="invented_figures"):
        checks.score("invented_figure", written(tmp_path, LINE))


def test_the_command_prints_one_document_and_tells_what_was_not_read(tmp_path: Path):
    runner = CliRunner()

    fine = runner.invoke(cli.app, ["score", "invented_figures", "--records", str(written(tmp_path, LINE)), "--json"])
    text = runner.invoke(cli.app, ["score", "invented_figures", "--records", str(written(tmp_path, LINE))])
    broken = runner.invoke(cli.app, ["score", "names", "--records", str(written(tmp_path, "{"))])

    assert (fine.exit_code, json.loads(fine.stdout)["records"]) == (0, 1)
    assert "! r1: invented '$1.5M' (answer 18-23)" in text.stdout
    assert "looked at: Note#1 '$1.2M'" in text.stdout
    assert broken.exit_code == 1


SPANS = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t1",
                            "spanId": "a",
                            "startTimeUnixNano": "1790000000000000000",
                            "endTimeUnixNano": "1790000009000000000",
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
                                {"key": "gen_ai.agent.name", "value": {"stringValue": "helper"}},
                                {
                                    "key": "gen_ai.input.messages",
                                    "value": {
                                        "stringValue": json.dumps(
                                            [
                                                {
                                                    "role": "user",
                                                    "parts": [{"type": "text", "content": "What does it cost?"}],
                                                }
                                            ]
                                        )
                                    },
                                },
                                {
                                    "key": "gen_ai.output.messages",
                                    "value": {
                                        "stringValue": json.dumps(
                                            [
                                                {
                                                    "role": "assistant",
                                                    "parts": [{"type": "text", "content": "It costs $1,500."}],
                                                }
                                            ]
                                        )
                                    },
                                },
                            ],
                        },
                        {
                            "traceId": "t1",
                            "spanId": "b",
                            "parentSpanId": "a",
                            "startTimeUnixNano": "1790000001000000000",
                            "endTimeUnixNano": "1790000002000000000",
                            "status": {"code": 2, "message": "timed out"},
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                                {"key": "gen_ai.tool.name", "value": {"stringValue": "prices"}},
                                {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"sku": 7}'}},
                            ],
                        },
                        {
                            "traceId": "t1",
                            "spanId": "c",
                            "parentSpanId": "a",
                            "startTimeUnixNano": "1790000003000000000",
                            "endTimeUnixNano": "1790000004000000000",
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                                {"key": "gen_ai.tool.name", "value": {"stringValue": "prices"}},
                                {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"sku": 7}'}},
                                {
                                    "key": "gen_ai.tool.call.result",
                                    "value": {"stringValue": '{"hits": [{"id": "P-7", "price": 1400}]}'},
                                },
                            ],
                        },
                        {
                            "traceId": "t1",
                            "spanId": "d",
                            "parentSpanId": "a",
                            "startTimeUnixNano": "1790000005000000000",
                            "endTimeUnixNano": "1790000008000000000",
                            "attributes": [
                                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                                {"key": "gen_ai.response.model", "value": {"stringValue": "m-1"}},
                                {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "120"}},
                                {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "9"}},
                            ],
                        },
                    ]
                }
            ]
        }
    ]
}
LOG = {
    "version": 2,
    "status": "success",
    "eval": {"task": "prices", "run_id": "r9", "created": "2026-10-01T10:00:00+00:00", "model": "m-1"},
    "samples": [
        {
            "id": 1,
            "epoch": 2,
            "input": "What does it cost?",
            "messages": [
                {"role": "user", "content": "What does it cost?"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "x1", "function": "prices", "arguments": {"sku": 7}}],
                },
                {"role": "tool", "tool_call_id": "x1", "function": "prices", "content": "attachment://9f"},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "x2", "function": "stock", "arguments": {}}],
                },
                {
                    "role": "tool",
                    "tool_call_id": "x2",
                    "content": "",
                    "error": {"type": "timeout", "message": "too slow"},
                },
                {"role": "assistant", "content": "It costs $1,500."},
            ],
            "attachments": {"9f": "The price of item 7 is $1,400."},
            "output": {"choices": [{"message": {"role": "assistant", "content": "It costs $1,500."}}]},
            "model_usage": {"m-1": {"input_tokens": 120, "output_tokens": 9}},
        }
    ],
}


@pytest.mark.parametrize(("format", "given"), [("otel", SPANS), ("inspect", LOG)])
def test_runs_of_other_agents_come_in_and_are_weighed(tmp_path: Path, format: str, given: dict[str, Any]):
    source, out = tmp_path / "given.json", tmp_path / "runs.jsonl"
    source.write_text(json.dumps(given), encoding="utf-8")

    done = CliRunner().invoke(cli.app, ["import", str(source), "--from", format, "--out", str(out), "--json"])
    document = checks.score("all", out)

    assert json.loads(done.stdout)["runs"] == 1
    (row,) = document["per_record"]
    kinds = {(flag["check"], flag["kind"], flag["words"]) for flag in row["flags"]}
    assert ("invented_figures", "invented", "$1,500") in kinds
    assert row["counts"]["evidence.calls"] == 2
    assert row["counts"]["evidence.error"] == 1
    assert row["counts"]["budget.tokens"] == 129
    assert (format == "inspect") == (("evidence", "unrecovered", "timeout: too slow") in kinds)


@pytest.mark.parametrize("format", ["otel", "inspect"])
@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"resourceSpans": 3}', '{"eval": {}, "samples": 4}'])
def test_what_is_no_log_is_told(format: str, text: str):
    runs, findings = importing.FORMATS[format](text)

    assert runs == []
    assert [f.code for f in findings] == ["record_unreadable"]


def test_members_of_records_for_the_other_checks_are_read():
    given = LINE | {
        "calls": [{"tool": "crm", "args": {"a": 1}, "error": "Timeout"}, {"tool": "crm", "args": {"a": 1}}],
        "original": "Give them 5 percent off.",
        "marks": ["5 percent"],
        "firings": [{"rule": "tone@1", "verdict": "block"}],
        "should_pass": ["tone"],
        "as_of": "2026-11-02T00:00:00Z",
        "case": "c1",
        "rep": 1,
    }

    weighable, findings = outside.read_line(json.dumps(given), "x:1")

    assert not findings
    assert weighable is not None
    assert [c.label for c in weighable.run.calls] == ["error", "nothing", "data"]
    assert weighable.run.firings[1].marks[0].start == 10
    assert weighable.case is not None
    assert weighable.case.should_pass == ("tone",)
