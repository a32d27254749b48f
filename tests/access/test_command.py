"""`ukai access explain` (P3.3), on a small workspace of its own."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.access import build
from ukai import access
from ukai.app import access as verb
from ukai.app import loading
from ukai.kit.errors import PermanentError
from ukai.surfaces.cli import access as shown
from ukai.surfaces.cli import app

SKILL = "---\nname: deal-coach\nchannels: [cli]\nfield_policy: commercial_only\n---\n\nCoach.\n"
HARBOR = {
    "type": "Account",
    "key": "harbor",
    "path": "accounts/harbor",
    "fields": {"name": "Harbor", "owner": "ann@example.com", "margin": 0.4},
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ukai.yaml").write_text("company: example\nlocal_principal: ann@example.com\n")
    agent = tmp_path / "agents/deal-coach"
    agent.mkdir(parents=True)
    (agent / "SKILL.md").write_text(SKILL)
    shutil.copytree(build.COMPANY, tmp_path / "access", ignore=lambda *_: ["records.yaml", "agents.yaml"])
    (tmp_path / "harbor.json").write_text(json.dumps(HARBOR))
    return tmp_path


def run(workspace: Path, *words: str):
    return CliRunner().invoke(app, ["access", "explain", *words, "--workspace", str(workspace)])


def test_it_says_yes_or_no_first_and_then_why(workspace):
    result = run(workspace, "ann@example.com", "deal-coach")

    assert result.exit_code == 0
    assert result.stdout.startswith("yes: ann@example.com may invoke deal-coach: allowed by sellers-coach (access/")


def test_one_json_document_holds_everything(workspace):
    words = ("ann@example.com", "deal-coach", "Account#harbor/margin", "--record", str(workspace / "harbor.json"))
    result = run(workspace, *words, "--json")
    document = json.loads(result.stdout)

    assert document["allowed"] is False
    assert document["read"]["denied_by"] == ["field_policy:commercial_only"]
    assert document["fields"] == ["industry", "name", "owner", "renewal_date"]
    assert document["field_policies"] == ["commercial_only version 4"]
    assert {"per": "day", "unit": "usd", "amount": 5.0, "where": "access/budgets.yaml:4:5"} in document["budget"]
    own = next(p for p in document["policies"] if p["policy"] == "own-book")
    assert own["matched"]


def test_who_reads_along_is_part_of_the_answer(workspace):
    result = run(workspace, "ann@example.com", "deal-coach", "--audience", "kim@example.com", "--json")

    assert json.loads(result.stdout)["invoke"]["who"] == "kim@example.com"


def test_a_store_may_hand_in_the_record(workspace):
    asked = verb.Asked(principal="ann@example.com", agent="deal-coach", record="Account#harbor")

    answer = verb.answer(workspace, asked, load=lambda h: build.record(str(h), owner="ann@example.com"))

    assert answer.decision.allowed


@pytest.mark.parametrize(
    ("record", "text", "problem"),
    [
        ("Account#harbor", None, "no store is open"),
        ("harbor", None, "names no record"),
        ("Account#baker", json.dumps(HARBOR), "the file holds Account#harbor"),
        ("Account#harbor", "{", "record.json:1"),
        ("Account#harbor", '{"type": "Account", "key": "harbor", "feilds": {}}', "did you mean 'fields'"),
    ],
)
def test_a_record_that_cannot_be_looked_at_is_told(workspace, record, text, problem):
    file = None
    if text is not None:
        file = workspace / "record.json"
        file.write_text(text)

    with pytest.raises(PermanentError, match=problem):
        verb.answer(workspace, verb.Asked(principal="ann@example.com", agent="deal-coach", record=record, file=file))


def test_an_unknown_agent_is_told_with_the_one_that_was_meant(workspace):
    with pytest.raises(PermanentError, match="Did you mean 'deal-coach'"):
        verb.answer(workspace, verb.Asked(principal="ann@example.com", agent="deal-couch"))


def test_a_record_file_names_readers_in_one_spelling():
    record = verb.record_of(b'{"type": "A", "key": "1", "fields": {}, "readers": ["Group:X"]}', name="r.json")

    assert record == access.Record(type="A", key="1", fields={}, readers=frozenset({"group:x"}))


def test_without_an_agent_it_tells_all_that_somebody_may_do_and_why_not_more(workspace):
    said = run(workspace, "ann@example.com").stdout
    stranger = json.loads(run(workspace, "stranger@example.com", "--json").stdout)

    assert re.search(r"^\+ deal-coach on cli: allowed by sellers-coach \(access/", said, re.MULTILINE)
    assert re.search(r"^- audit: no policy allows it", said, re.MULTILINE)
    assert [(a["agent"], a["allowed"], a["channels"]) for a in stranger["agents"]] == [("deal-coach", False, [])]
    assert not any(right["allowed"] for right in stranger["rights"])
    assert run(workspace, "ann@example.com", "--audience", "public").exit_code == 2


@pytest.mark.parametrize(("error", "told"), [(("[cli]", "[kli]"), "kli"), (("commercial_only", "none"), "none")])
def test_an_agent_with_an_error_is_told_as_one_that_nobody_may_ask(workspace, error, told):
    (workspace / "agents/broken").mkdir()
    (workspace / "agents/broken/SKILL.md").write_text(SKILL.replace("deal-coach", "broken").replace(*error))

    said = run(workspace, "ann@example.com").stdout

    assert re.search(rf"^- broken: it is not served: .*{told}", said, re.MULTILINE)


def test_without_an_agent_it_tells_what_they_read_and_write_by_hand_of_each_type(workspace):
    loaded = loading.whole(workspace)
    known = replace(loaded, catalog=replace(loaded.catalog, access=build.company()))

    said = list(shown._overall(verb.overall_of(known, "lea@example.com")))  # pyright: ignore[reportPrivateUsage]

    assert "PullRequest: reads author, classification, title; writes every field" in said
    assert "Deal: reads every field; writes nothing" in said
