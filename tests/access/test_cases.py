"""The table that a person from IT can read, line by line (P3.1, P3.2, P3.5, P3.6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.access import build
from ukai import access
from ukai.kit import document

LINES = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in (Path(__file__).parent / "cases.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| who")
]
FOLDER = build.company()
RECORDS = build.records()
AGENTS = document.read((build.COMPANY / "agents.yaml").read_bytes(), name="agents.yaml")[0].data  # type: ignore


def answer(who: str, agent: str, asks: str) -> str:
    people = [] if who == "nobody" else who.split(", ")
    verb, *rest = asks.split(" ")
    channel = {"unknown": None}.get(rest[-1], rest[-1]) if verb == "use" else "cli"
    audience = FOLDER.audience(people)
    rights = FOLDER.rights(audience, agent, AGENTS[agent], channel)
    name, _, field = rest[-1 if verb != "move" else 0].partition("/")
    if verb == "use":
        return said(rights.invoke)
    if verb == "read":
        return read(rights, RECORDS[name], field)
    if verb == "write":
        return said(rights.may_write(RECORDS[name].type, frozenset({field}), None, RECORDS[name]))
    if verb == "delete":
        return said(rights.may_write(RECORDS[name].type, access.ALL, None, RECORDS[name]))
    if verb == "move":
        source, _, target = rest[1].partition("->")
        return said(rights.may_write(RECORDS[name].type, frozenset(), (source, target), RECORDS[name]))
    if verb == "send":
        return said(rights.may_send(rest[0]))
    if verb == "hold":
        return said(FOLDER.holds(FOLDER.caller(who), rest[0]))
    return ", ".join(sorted(rights.tell(RECORDS[name]))) or "nothing"


def read(rights: access.Rights, record: access.Record, field: str) -> str:
    """The answer, when all the ways of asking agree on it."""
    shown = rights.visible(record)
    whole = said(rights.read(record))
    assert whole == ("no" if shown is None else "yes")
    if field:
        assert said(rights.read(record, field)) == ("yes" if shown and field in shown.fields else "no")
    return said(rights.read(record, field or None))


def said(decision: access.Decision) -> str:
    assert decision.reason
    assert bool(decision.refusal) is not decision.allowed
    return "yes" if decision.allowed else "no"


@pytest.mark.parametrize(("who", "agent", "asks", "expected", "because"), LINES, ids=lambda v: v)
def test_the_table_holds(who: str, agent: str, asks: str, expected: str, because: str):
    assert answer(who, agent, asks) == expected, because


def test_the_table_is_long_enough_to_mean_something():
    assert len(LINES) >= 90


@pytest.mark.parametrize(("who", "agent", "asks", "expected", "because"), LINES, ids=lambda v: v)
def test_a_policy_that_the_table_names_is_the_one_that_decides(who, agent, asks, expected, because):
    name = because.split(":")[0].split(" ")[0]
    policies = {p.id for p in FOLDER.policies}
    verb, *rest = asks.split(" ")
    if name in policies and verb == "read":
        rights = FOLDER.rights(FOLDER.audience(who.split(", ")), agent, AGENTS[agent], "cli")
        handle, _, field = rest[0].partition("/")
        decision = rights.read(RECORDS[handle], field or None)

        assert name in (decision.matched if decision.allowed else decision.denied_by)
        assert f"{name} (policies.yaml:" in decision.reason


def test_a_change_is_judged_by_a_record_of_its_own_type():
    rights = FOLDER.rights(FOLDER.caller("lea@example.com"), "status-bot")

    assert rights.may_write("PullRequest", frozenset({"title"}), None, RECORDS["PullRequest#api:41"]).allowed
    assert not rights.may_write("PullRequest", frozenset({"title"}), None, RECORDS["Account#harbor"]).allowed
    assert not rights.may_write("Ghost", frozenset({"name"}), None, RECORDS["Ghost#1"]).allowed


def test_a_create_without_any_field_needs_a_policy_as_well():
    record = RECORDS["PullRequest#api:41"]

    may = {
        who: FOLDER.rights(FOLDER.caller(who), "bot").may_write(record.type, frozenset(), None, record).allowed
        for who in ("kim@example.com", "ann@example.com")
    }

    assert may == {"kim@example.com": True, "ann@example.com": False}


def test_without_a_record_a_change_needs_a_policy_for_the_whole_type_and_no_denial_of_any_record():
    def may(who: str, type: str, field: str) -> bool:
        return FOLDER.rights(FOLDER.caller(who), "status-bot").may_write(type, frozenset({field})).allowed

    assert not may("ann@example.com", "Account", "next_step")
    assert not may("lea@example.com", "PullRequest", "title")
