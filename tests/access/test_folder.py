"""Reading `access/` (P1.10, P3.4, X3): every problem with its place, and no problem ever widens a right."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.access import build, worlds
from ukai import access
from ukai.kit import document, finding

GROUPS = "groups:\n  sellers: {members: [ann@x.com]}\n"
READ = "{id: a, allow: read, records: {types: [Account]}, to: [public]}"


def policies(*entries: str) -> str:
    return "policies:\n" + "".join(f"  - {e}\n" for e in entries)


def codes(findings: list[finding.Finding]) -> list[tuple[str, str]]:
    return [(f.code, f.where) for f in findings]


@pytest.mark.parametrize(
    ("entry", "code", "column"),
    [
        ("{id: a, allow: read, records: {types: [Acount]}, to: [public]}", "unknown_type", 44),
        ("{id: a, allow: read, records: {types: [Account]}, where: {ownr: x}, to: [public]}", "unknown_field", 69),
        ("{id: a, allow: read, records: {types: [Account]}, fields: [nme], to: [public]}", "unknown_field", 64),
        ("{id: a, tell: [ownr], records: {types: [Account]}, to: [public]}", "unknown_field", 20),
        ('{id: a, allow: audit, to: ["group:selers"]}', "unknown_group", 32),
        ("{id: a, allow: invoke, agents: [deal-coach], channels: [slak], to: [public]}", "unknown_channel", 61),
        ("{id: a, allow: send, outputs: [emial], to: [public]}", "unknown_output", 36),
        ("{id: a, allow: raed, to: [public]}", "not_allowed", 20),
        ("{id: a, allow: audit, to: [ann]}", "invalid_principal", 32),
        ("{id: a, alow: audit, to: [public]}", "unknown_key", 13),
        ("{id: a, allow: audit}", "missing_key", 5),
        ("{allow: audit, to: [public]}", "missing_key", 5),
        ("{id: a, to: [public]}", "policy_effect", 5),
        ("{id: a, allow: audit, deny: audit, to: [public]}", "policy_effect", 5),
        ("{id: a, allow: audit, tell: [owner], to: [public]}", "policy_effect", 5),
        ("{id: a, allow: audit, to: []}", "names_nothing", 27),
        ("{id: a, allow: invoke, to: [public]}", "names_nothing", 5),
        ("{id: a, allow: read, to: [public]}", "names_nothing", 5),
        ("{id: a, allow: read, records: {types: []}, to: [public]}", "names_nothing", 36),
        ("{id: a, allow: read, records: {}, to: [public]}", "names_nothing", 26),
        ("{id: a, allow: read, records: {types: [Account]}, where: {}, to: [public]}", "names_nothing", 55),
        ("{id: a, allow: read, records: {types: [Account]}, where: , to: [public]}", "names_nothing", 55),
        ("{id: a, allow: write, records: {types: [Account]}, to: [public]}", "names_nothing", 5),
        ('{id: a, tell: ["*"], records: {types: [Account]}, to: [public]}', "names_nothing", 19),
        ("{id: a, allow: audit, agents: [deal-coach], to: [public]}", "key_not_applicable", 27),
        ("{id: a, allow: read, records: {types: [Account]}, channels: [cli], to: [public]}", "key_not_applicable", 55),
        ("{id: a, allow: read, records: {paths: [a**]}, to: [public]}", "invalid_glob", 44),
        ('{id: a, deny: read, records: {types: ["*"]}, where: {name: caller.mail}, to: [public]}', "not_allowed", 64),
        ("{id: a, allow: read, records: {types: [Account]}, where: {owner: 1.5}, to: [public]}", "bad_condition", 70),
        ("{id: a, allow: read, records: {types: [Account]}, where: {owner: null}, to: [public]}", "bad_condition", 70),
        ("{id: a, allow: read, records: {types: [Account]}, where: {owner: []}, to: [public]}", "bad_condition", 70),
        ("{id: a, deny: write, records: {types: [Account]}, transitions: [ready], to: [public]}", "bad_transition", 69),
    ],
)  # fmt: skip
def test_each_problem_is_told_with_its_place_and_allows_nothing(entry: str, code: str, column: int):
    folder, findings = build.read(
        types={"Account": frozenset({"owner", "name"})}, agents=["deal-coach"], groups=GROUPS, policies=policies(entry)
    )

    assert (code, f"policies.yaml:2:{column}") in codes(findings)
    assert all(f.hint for f in findings)
    assert not [p for p in folder.policies if not p.denies]


@pytest.mark.parametrize("value", ["\0", 1.5, float("nan"), {"a": 1}])
def test_a_condition_that_no_database_can_ask_is_refused(value: Any):
    policy = {"id": "a", "allow": "read", "records": {"types": ["A"]}, "where": {"f": value}, "to": ["public"]}

    folder, findings = worlds.folder({"groups": {}}, [policy])

    assert [f.code for f in findings] == ["bad_condition"]
    assert folder.policies == ()


def test_a_misspelt_name_comes_with_the_name_that_was_meant():
    _, findings = build.read(groups=GROUPS, policies=policies('{id: a, allow: audit, to: ["group:selers"]}'))

    assert findings[0].hint == "did you mean 'group:sellers'?"


@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_an_agent_that_is_not_there_is_a_warning_and_closes_no_other(effect: str):
    folder, findings = build.read(
        agents=["deal-coach"],
        policies=policies(
            f"{{id: a, {effect}: invoke, agents: [deal-couch], to: [public]}}",
            "{id: b, allow: invoke, agents: [deal-coach], to: [public]}",
        ),
        budgets="budgets: [{agent: deal-couch, per: day, usd: 5}]",
    )

    assert [(f.severity, f.code, f.hint) for f in findings] == [
        ("warning", "unknown_agent", "did you mean 'deal-coach'?")
    ] * 2
    assert folder.rights(folder.caller("ann@x.com"), "deal-coach").invoke.allowed
    assert not folder.rights(folder.caller("ann@x.com"), "deal-couch").invoke.allowed


def test_two_policies_of_one_name_allow_nothing():
    folder, findings = build.read(policies=policies(READ, READ))

    assert codes(findings) == [("duplicate_policy", "policies.yaml:3:10")]
    assert folder.policies == ()


def test_capitals_in_a_principal_are_a_note_and_work():
    folder, findings = build.read(policies=policies("{id: a, allow: audit, to: [Ann@X.com]}"))

    assert [(f.severity, f.code, f.expected) for f in findings] == [("note", "not_canonical", "ann@x.com")]
    assert folder.holds(folder.caller("ANN@x.com"), "audit").allowed


def test_a_file_that_nothing_reads_is_told():
    _, findings = access.read({"polices.yaml": None})

    assert codes(findings) == [("unknown_file", "polices.yaml:1:1")]
    assert findings[0].hint == "did you mean 'policies.yaml'?"


# Groups


def test_a_cycle_of_groups_has_no_members_and_is_denied_whatever_a_member_might_be():
    folder, findings = build.read(
        groups='groups:\n  a: {members: [ann@x.com, "group:b"]}\n  b: {members: ["group:a"]}\n',
        policies=policies(
            '{id: in, allow: audit, to: ["group:a", bob@x.com]}', '{id: out, deny: audit, to: ["group:b"]}'
        ),
    )

    assert codes(findings) == [("group_cycle", "groups.yaml:2:3"), ("group_cycle", "groups.yaml:3:3")]
    assert folder.caller("ann@x.com").groups == frozenset()
    assert not folder.holds(folder.caller("ann@x.com"), "audit").allowed
    assert folder.holds(folder.caller("bob@x.com"), "audit").denied_by == ("out",)


@pytest.mark.parametrize(
    "member", ["'group:nobody'", "ann", "public", "'group:a b'", "3", "{members: []}"], ids=lambda m: m
)
def test_a_group_with_a_bad_member_has_no_members_and_a_denial_of_it_hits_everybody(member: str):
    folder, findings = build.read(
        groups=f"groups:\n  a: {{members: [ann@x.com, {member}]}}\n  b: {{members: ['group:a', bob@x.com]}}\n",
        policies=policies('{id: in, allow: audit, to: ["group:b"]}', '{id: out, deny: promote, to: ["group:b"]}'),
    )

    assert finding.errors(findings)
    assert not folder.holds(folder.caller("ann@x.com"), "audit").allowed
    assert folder.holds(folder.caller("bob@x.com"), "audit").allowed
    assert folder.holds(folder.caller("stranger@x.com"), "promote").denied_by == ("out",)
    assert not folder.caller("group:b").is_known


def test_groups_that_cannot_be_read_deny_to_everybody():
    docs = {"groups.yaml": None, "policies.yaml": build.document_of(policies(READ, '{id: d, deny: read, records: {types: [Account]}, to: ["group:x"]}'), "policies.yaml")}  # fmt: skip  # noqa: E501
    folder, findings = access.read(docs)

    assert findings == []
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")
    assert rights.read(build.record("Account#1")).denied_by == ("d",)


def test_groups_may_nest_deeply():
    rows = "".join(f"  g{i}: {{members: ['group:g{i + 1}']}}\n" for i in range(900))
    folder, findings = build.read(groups=f"groups:\n{rows}  g900: {{members: [ann@x.com]}}\n")

    assert findings == []
    assert len(folder.caller("ann@x.com").groups) == 901


# Nothing widens


GOOD = [
    {"id": "read", "allow": "read", "records": {"types": ["A"], "paths": ["a/**"]}, "to": ["group:g", "bob@x.com"]},
    {"id": "own", "allow": "read", "records": {"types": ["*"]}, "where": {"owner": "caller.email"}, "to": ["public"]},
    {"id": "no", "deny": "read", "records": {"types": ["A", "B"]}, "where": {"f": [1]}, "to": ["group:g"]},
    {"id": "part", "deny": "read", "records": {"types": ["*"]}, "fields": ["g"], "to": ["group:h"]},
]


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [p for k, v in inner for p in ((*path, k), *spots(v, (*path, k)))]


GARBAGE = st.sampled_from(
    [None, 7, 1.5, "", "zzz", "group:zzz", [], {}, ["zzz"], {"zzz": 1}, [None], True, "caller.zzz"]
)
CONSTANT = ("where", "owner"), ("where", "f"), ("where", "f", 0)


@st.composite
def garbled(draw: Any) -> list[Any]:
    """The good policies with one key or value replaced by rubbish. A constant of `where` may be any constant."""
    policies = copy.deepcopy(GOOD)
    spot = draw(st.sampled_from([s for s in spots(policies) if s[1:] not in CONSTANT and s[1:] != ("id",)]))
    holder: Any = policies
    for step in spot[:-1]:
        holder = holder[step]
    if isinstance(holder, dict) and draw(st.booleans()):
        holder[spot[-1] + draw(st.sampled_from(["x", "_", "zzz"]))] = holder.pop(spot[-1])
    else:
        holder[spot[-1]] = draw(GARBAGE)
    return policies


@settings(max_examples=200, deadline=None)
@given(policies=garbled(), groups=worlds.NESTED, record=worlds.records(), who=st.sampled_from(worlds.ASKING))
def test_a_garbled_policy_never_widens(policies, groups, record, who):
    before, findings = worlds.folder(groups, GOOD)
    assert findings == []
    after, _ = worlds.folder(groups, policies)

    if after.rights(after.audience([who]), "bot").read(record).allowed:
        assert before.rights(before.audience([who]), "bot").read(record).allowed
        now, then = (f.rights(f.audience([who]), "bot").fields(record) for f in (after, before))
        fields = set(record.fields)
        assert (fields if now is access.ALL else now) <= (fields if then is access.ALL else then)


TEXT = """\
policies:
  - id: read
    allow: read
    records: {types: [A]}
    to:
      - bob@x.com
      - "group:g"
  - id: no
    deny: read
    records:
      types: [A, B]
    to: ["group:h"]
  - {id: all, allow: read, records: {types: [C]}, to: [public]}
"""
DENIAL = range(7, 12)
"""Lines of the denial, from 0: dropping all of them removes it, dropping one must not."""


@settings(max_examples=200, deadline=None)
@given(
    line=st.integers(1, 12), groups=worlds.NESTED, record=worlds.records(), who=st.sampled_from(worlds.ASKING),
    cut=st.booleans(), column=st.integers(0, 40),
)  # fmt: skip
def test_a_lost_or_torn_line_never_widens(line, groups, record, who, cut, column):
    lines = TEXT.splitlines()
    lines[line : line + 1] = [lines[line][:column]] if cut else []
    before, _ = access.read(
        {
            "groups.yaml": document.Document(name="groups.yaml", data=groups),
            "policies.yaml": build.document_of(TEXT, "p"),
        },
        types=worlds.KNOWN,
    )
    after, _ = access.read(
        {
            "groups.yaml": document.Document(name="groups.yaml", data=groups),
            "policies.yaml": build.document_of("\n".join(lines), "p"),
        },
        types=worlds.KNOWN,
    )

    if after.rights(after.audience([who]), "bot").read(record).allowed:
        assert before.rights(before.audience([who]), "bot").read(record).allowed


@settings(max_examples=200, deadline=None)
@given(data=st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(
        ["policies", "groups", "budgets", "members", "id", "allow", "deny", "tell", "to", "records", "types", "where",
         "version", "per", "usd", "agents", "fields"]), inner, max_size=4)), max_leaves=12),
)  # fmt: skip
def test_any_data_at_all_ends_in_findings_and_allows_nothing_by_accident(data):
    names = ("groups.yaml", "policies.yaml", "budgets.yaml", "field_policies/x.yaml")

    folder, findings = access.read({n: document.Document(name=n, data=data) for n in names})

    assert findings
    assert not folder.rights(folder.audience(["ann@x.com"]), "bot", "x").read(build.record("A#1")).allowed


# Field policies and budgets


def test_field_policies_tell_what_they_cannot_list():
    folder, findings = build.read(
        types={"Account": frozenset({"name"})},
        policies=policies(READ),
        fp="version: 0\nallow:\n  Account: [name, nme]\n  Acount: [name]\n  Deal: []\n",
    )

    assert codes(findings) == [
        ("invalid_value", "field_policies/fp.yaml:1:10"),
        ("unknown_field", "field_policies/fp.yaml:3:19"),
        ("unknown_type", "field_policies/fp.yaml:4:3"),
        ("unknown_type", "field_policies/fp.yaml:5:3"),
    ]
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot", "fp")
    assert rights.fields(build.record("Account#1", name=1, nme=2)) == {"name"}


@pytest.mark.parametrize("text", ["allow: {Account: [name]}", "version: 1", "version: '1'\nallow: {A: [x]}", "[]"])
def test_a_field_policy_with_an_error_of_form_lists_nothing(text: str):
    folder, findings = build.read(policies=policies(READ), fp=text)

    assert finding.errors(findings)
    assert (
        not folder.rights(folder.audience(["ann@x.com"]), "bot", "fp").read(build.record("Account#1", name=1)).allowed
    )


def limits(folder: access.Access, who: str, agent: str) -> dict[str, str]:
    return {f"{x.unit} a {x.per}": str(x.amount) for x in folder.budget(folder.caller(who), agent)}


def test_the_smallest_budget_that_applies_wins():
    folder = build.company()

    assert limits(folder, "ann@example.com", "deal-coach") == {
        "tokens a run": "200000", "usd a run": "1.5", "seconds a run": "120", "usd a day": "5",
    }  # fmt: skip
    assert limits(folder, "kim@example.com", "deal-coach")["usd a day"] == "50"
    assert "usd a day" not in limits(folder, "kim@example.com", "wiki-bot")
    assert limits(folder, "group:staff", "deal-coach")["usd a day"] == "5"


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("{per: day, usd: 5}", "names_nothing"),
        ('{to: ["*"], per: day}', "names_nothing"),
        ('{to: ["*"], per: week, usd: 5}', "not_allowed"),
        ('{to: ["*"], per: day, usd: -1}', "invalid_value"),
        ('{to: ["*"], per: day, usd: "5"}', "wrong_type"),
        ('{to: ["*"], per: day, usd: true}', "wrong_type"),
        ('{to: ["group:zzz"], per: day, usd: 5}', "unknown_group"),
        ("{to: [zzz], per: day, usd: 5}", "invalid_principal"),
        ("{agent: a**, per: day, usd: 5}", "invalid_glob"),
        ('{to: ["*"], per: day, usd: 1e999}', "wrong_type"),
    ],
)
def test_a_budget_with_an_error_leaves_nothing_to_spend(entry: str, code: str):
    folder, findings = build.read(budgets=f"budgets:\n  - {entry}\n")

    assert code in [f.code for f in findings]
    assert limits(folder, "ann@x.com", "any") == {"tokens a run": "0", "usd a run": "0", "seconds a run": "0"}


def test_budgets_that_cannot_be_read_leave_nothing_to_spend_and_none_at_all_set_no_limit():
    unreadable, _ = access.read({"budgets.yaml": None})
    absent, _ = access.read({})

    assert limits(unreadable, "ann@x.com", "any")["usd a run"] == "0"
    assert limits(absent, "ann@x.com", "any") == {}
