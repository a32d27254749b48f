"""The value of a report file (P1.6)."""

from __future__ import annotations

import pytest

from ukai.kit import document
from ukai.study import report

HEAD = {
    "name": "brief",
    "cron": '"0 8 * * 1-5"',
    "run_as": "owner",
    "outputs": '[{type: slack, channel: "#x"}]',
}


def parse(body: str = "What changed?\n", **fields: str):
    head = "".join(f"{k}: {v}\n" for k, v in {**HEAD, **fields}.items() if v)
    doc, findings = document.read_front_matter(f"---\n{head}---\n{body}".encode(), name="brief.md")
    assert doc is not None, findings
    return report.parse(doc)


def test_a_report_is_a_question_with_a_schedule_and_places_to_go_to():
    value, findings = parse(timezone="Europe/Berlin", misfire="skip", budget="{usd: 1}")

    assert findings == []
    assert value is not None
    assert value.fires
    assert value.question == "What changed?\n"
    assert value.destinations == (report.Output(type="slack", options={"channel": "#x"}),)


@pytest.mark.parametrize(
    ("fields", "code", "where", "hint"),
    [
        ({"cron": '"61 * * * *"'}, "invalid_cron", "3:7", "correct the expression, in quotes"),
        ({"cron": '"* * * * * *"'}, "invalid_cron", "3:7", "correct the expression, in quotes"),
        ({"cron": '"0 0 31 2 *"'}, "invalid_cron", "3:7", "correct the expression, in quotes"),
        ({"timezone": "Europe/Berln"}, "unknown_timezone", "6:11", "did you mean 'Europe/Berlin'?"),
        ({"timezone": "../etc/passwd"}, "unknown_timezone", "6:11", "write a name of the IANA list, such as UTC"),
        ({"run_as": "ann@example.com"}, "not_allowed", "4:9", "use one of: each_recipient, owner, service:<name>"),
        ({"misfire": "fire_onec"}, "not_allowed", "6:10", "did you mean 'fire_once'?"),
        ({"grace": "soon"}, "invalid_duration", "6:8", "write for example 30m"),
        ({"name": "Morning Brief"}, "invalid_name", "2:7", "rename the file and the field together"),
        ({"outputs": "[{type: slak, channel: x}]"}, "not_allowed", "5:18", "did you mean 'slack'?"),
        ({"outputs": "[{channel: x}]"}, "missing_key", "5:11", "add `type:`"),
        ({"outputs": "[{type: email}]"}, "missing_key", "5:11", "add `to:`"),
        ({"outputs": "[{type: slack, channel: x, chanel: y}]"}, "unknown_key", "5:37", "did you mean 'channel'?"),
        ({"outputs": "[slack]"}, "wrong_type", "5:11", "write a mapping"),
        ({"crno": "x"}, "unknown_key", "6:1", "did you mean 'cron'?"),
    ],
)
def test_what_is_wrong_with_a_report_is_told_at_its_place(fields: dict[str, str], code: str, where: str, hint: str):
    value, findings = parse(**fields)

    assert value is None
    assert [(f.code, f.where, f.hint) for f in findings] == [(code, f"brief.md:{where}", hint)]


@pytest.mark.parametrize(
    ("fields", "severity", "code"),
    [
        ({"run_as": ""}, "warning", "report_without_run_as"),
        ({"outputs": ""}, "warning", "report_without_output"),
        ({"outputs": "[{type: file, path: a.md, colour: red}]"}, "note", "unknown_key"),
    ],
)
def test_what_a_report_can_live_without_is_told_and_it_loads(fields: dict[str, str], severity: str, code: str):
    value, findings = parse(**fields)

    assert value is not None
    assert [(f.severity, f.code) for f in findings] == [(severity, code)]


def test_outputs_are_looked_at_even_when_the_rest_is_wrong():
    _, findings = parse(misfire="x", outputs="[{type: slak}]")

    assert [f.code for f in findings] == ["not_allowed", "not_allowed"]


def test_a_report_that_asks_nothing_is_an_error():
    value, findings = parse(body=" \n")

    assert value is None
    assert [f.code for f in findings] == ["prose_missing"]
