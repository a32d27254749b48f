"""Names, inheritance, and where each value came from (P1.2, P1.4, P1.9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalog import build
from ukai.catalog import tighten
from ukai.kit.document import Document
from ukai.kit.finding import Finding

AGENT = "agents/coach/SKILL.md"
FAMILY = "families/calm/FAMILY.md"


DOMAIN = """domain: {0}
types:
  - {{type: Account, key: name, path: "crm/{{name}}", fields: [{{key: name, kind: string, required: true}}]}}
"""


def family(*lines: str, name: str = "calm", body: str = "Be calm.\n") -> str:
    return build.agent(name, *lines, body=body)


# Names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "where", "hint"),
    [
        ("model: <medium-frontier-modle>", "unknown_model", "4:8", "did you mean '<medium-frontier-model>'?"),
        ("family: clam", "unknown_family", "4:9", "did you mean 'calm'?"),
        ("field_policy: comercial_only", "unknown_field_policy", "4:15", "did you mean 'commercial_only'?"),
        ("tools: {exclude: [serch_records]}", "unknown_tool", "4:19", "did you mean 'search_records'?"),
        ("tools: {include: [read_recrod]}", "unknown_tool", "4:19", "did you mean 'read_record'?"),
        ("skills: [mpa]", "unknown_skill", "4:10", "did you mean 'map'?"),
        ("channels: [slak]", "not_allowed", "4:12", "did you mean 'slack'?"),
    ],
)
def test_a_name_that_nobody_answers_to_is_an_error_with_a_suggestion(
    tmp_path: Path, line: str, code: str, where: str, hint: str
):
    build.workspace(tmp_path, {AGENT: build.agent("coach", line), FAMILY: family()})
    build.tree(tmp_path, {"agents/coach/skills/map/SKILL.md": build.skill()})

    found = build.only(build.load(tmp_path), code)

    assert (found.severity, found.where, found.hint) == ("error", f"{AGENT}:{where}", hint)


@pytest.mark.parametrize(
    ("target", "code", "severity"),
    [
        ("deal-coach", "unknown_agent", "error"),
        ("family:loud", "unknown_family", "error"),
        ("'deal-*'", "glob_matches_nothing", "warning"),
    ],
)
def test_a_guardrail_that_reaches_for_nobody_is_told(tmp_path: Path, target: str, code: str, severity: str):
    rule = build.guardrail("rule", f"applies_to: [{target}]")
    build.workspace(tmp_path, {AGENT: build.agent(), "guardrails/rule.md": rule})

    assert build.only(build.load(tmp_path), code).severity == severity


def test_guardrails_reach_agents_by_name_by_pattern_and_by_family(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", "family: calm"),
            "agents/desk/SKILL.md": build.agent("desk"),
            FAMILY: family(),
            "guardrails/a.md": build.guardrail("a", "applies_to: [coach]"),
            "guardrails/b.md": build.guardrail("b", "applies_to: ['co*']"),
            "guardrails/c.md": build.guardrail("c", "applies_to: ['family:calm']"),
            "guardrails/d.md": build.guardrail("d"),
        },
    )

    agents = build.load(tmp_path).catalog.agents

    assert agents["coach"].guardrails == ("a", "b", "c", "d")
    assert agents["desk"].guardrails == ("d",)


def test_a_guardrail_for_a_family_that_cannot_be_read_still_applies(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", "family: calm"),
            FAMILY: "---\nname: [\n---\n",
            "guardrails/c.md": build.guardrail("c", "applies_to: ['family:calm']"),
        },
    )

    agent = build.load(tmp_path).catalog.agents["coach"]

    assert agent.guardrails == ("c",)
    assert agent.unresolved == ("family:calm",)


def test_an_index_that_a_tool_asks_for_must_be_declared(tmp_path: Path):
    source = 'def find(q: str) -> str:\n    """Finds."""\n    return get_index("closd-deals").query(vector=embed(q))\n'
    build.workspace(tmp_path, {AGENT: build.agent(), "agents/coach/tools.py": source})
    build.tree(tmp_path, {"ukai.yaml": "indexes: {closed-deals: {type: Deal, text: [summary]}}\n"})

    found = build.only(build.load(tmp_path), "unknown_index")

    assert (found.where, found.hint) == ("agents/coach/tools.py:3:22", "did you mean 'closed-deals'?")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("context: {thresholds: {filter: -1}}", "invalid_value"),
        ("context: {thresholds: {filter: 1}}", "invalid_value"),
        ("context: [", "yaml_syntax"),
    ],
)
def test_what_a_settings_file_that_cannot_be_read_would_declare_is_not_missed(tmp_path: Path, wrong: str, code: str):
    source = 'def find(q: str) -> str:\n    """Finds."""\n    return get_index("closed-deals").query(vector=embed(q))\n'
    build.workspace(tmp_path, {AGENT: build.agent(), "agents/coach/tools.py": source})
    build.tree(tmp_path, {"ukai.yaml": f"indexes: {{closed-deals: {{type: Deal, text: [summary]}}}}\n{wrong}\n"})

    assert [f.code for f in build.load(tmp_path).findings] == [code]


def test_field_policies_and_indexes_name_fields_that_domains_declare(tmp_path: Path):
    domain = DOMAIN.format("crm")
    build.workspace(
        tmp_path,
        {
            "domains/crm.yaml": domain,
            "access/field_policies/commercial_only.yaml": "version: 1\nallow: {Account: [nmae]}\n",
            "ukai.yaml": "indexes: {a: {type: Acount, text: [name]}, b: {type: Account, text: [nam]}}\n",
        },
    )

    found = build.load(tmp_path).findings

    assert [(f.code, f.received) for f in found if f.severity == "error"] == [
        ("unknown_field", "nmae"),
        ("unknown_type", "Acount"),
        ("unknown_field", "nam"),
    ]


def test_a_type_has_one_home(tmp_path: Path):
    build.workspace(tmp_path, {"domains/a.yaml": DOMAIN.format("a"), "domains/b.yaml": DOMAIN.format("b")})

    found = build.only(build.load(tmp_path), "duplicate_name")

    assert found.where.startswith("domains/b.yaml:3:")


# Tools ------------------------------------------------------------------------------------------------------------

OWN = '''
def find_deal(query: str) -> str:
    """Finds a deal."""
    return query
'''
SHARED = '''
def send_note(text: str) -> str:
    """Sends a note."""
    return text
'''


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("max_iterations: 3", "find_deal query_usage read_record search_records send_note"),
        ("tools: {exclude: [query_usage, '*_record']}", "find_deal search_records send_note"),
        ("tools: {include: ['search_*']}", "find_deal search_records"),
        ("tools: {include: ['*_record*'], exclude: [read_record]}", "find_deal search_records"),
        ("tools: {include: []}", "find_deal"),
        ("tools: {include: [send_note], exclude: [find_deal]}", "send_note"),
    ],
)
def test_an_agent_has_the_whole_set_less_what_it_excludes_and_its_own(tmp_path: Path, line: str, tools: str):
    build.workspace(tmp_path, {AGENT: build.agent("coach", line), "tools/notes.py": SHARED})
    build.tree(tmp_path, {"agents/coach/tools.py": OWN})

    loaded = build.load(tmp_path)

    assert loaded.findings == ()
    assert " ".join(loaded.catalog.agents["coach"].tools) == tools


def test_two_tools_of_one_name_are_an_error(tmp_path: Path):
    build.workspace(tmp_path, {AGENT: build.agent(), "tools/a.py": SHARED, "tools/b.py": SHARED})
    build.tree(tmp_path, {"agents/coach/tools.py": OWN.replace("find_deal", "read_record")})

    found = [f for f in build.load(tmp_path).findings if f.code == "duplicate_name"]

    assert [(f.where, f.received) for f in found] == [
        ("agents/coach/tools.py:2:1", "read_record"),
        ("tools/b.py:2:1", "send_note"),
    ]


# Families ---------------------------------------------------------------------------------------------------------


def test_a_family_s_prose_comes_first_and_its_rights_intersect(tmp_path: Path):
    lines = ("family: calm", "max_iterations: 8", "channels: [cli, slack]", "budget: {usd: 0.5}")
    above = (
        "model: <small-fast-model>",
        "max_iterations: 12",
        "channels: [slack, web, cli]",
        "scope_bound_retrieval: strict",
        "field_policy: commercial_only",
        "budget: {usd: 1, tokens: 900}",
        "tools: {exclude: [query_usage]}",
    )
    loaded = build.load(build.workspace(tmp_path, {AGENT: build.agent("coach", *lines), FAMILY: family(*above)}))

    agent = loaded.catalog.agents["coach"]
    assert loaded.findings == ()
    assert agent.prompt == "Be calm.\n\nYou help the seller who asks."
    assert agent.families == ("calm",)
    assert agent.model == "<small-fast-model>"
    assert agent.max_iterations == 8
    assert agent.channels == ("cli", "slack")
    assert agent.scope_bound_retrieval == "strict"
    assert agent.field_policies == ("commercial_only",)
    assert (agent.budget.usd, agent.budget.tokens, agent.budget.seconds) == (0.5, 900, None)
    assert agent.tools == ("read_record", "search_records")


def test_families_of_families_begin_with_the_outermost(tmp_path: Path):
    loaded = build.load(
        build.workspace(
            tmp_path,
            {
                AGENT: build.agent("coach", "family: inner"),
                "families/inner/FAMILY.md": family("family: outer", name="inner", body="Inner.\n"),
                "families/outer/FAMILY.md": family(name="outer", body="Outer.\n"),
            },
        )
    )

    assert loaded.catalog.agents["coach"].families == ("outer", "inner")
    assert loaded.catalog.agents["coach"].prompt.startswith("Outer.\n\nInner.\n\n")


def test_families_that_inherit_from_themselves_are_told_and_end(tmp_path: Path):
    loaded = build.load(
        build.workspace(
            tmp_path,
            {
                AGENT: build.agent("coach", "family: a"),
                "families/a/FAMILY.md": family("family: b", name="a"),
                "families/b/FAMILY.md": family("family: a", name="b"),
            },
        )
    )

    cycles = [f for f in loaded.findings if f.code == "family_cycle"]
    assert [f.message for f in cycles] == [
        "families that inherit from themselves: a > b > a",
        "families that inherit from themselves: b > a > b",
    ]
    assert "coach" in loaded.catalog.agents


# Tighten only -----------------------------------------------------------------------------------------------------

WIDE = "version: 1\nallow: {Account: ['*'], Deal: [name]}\n"


@pytest.mark.parametrize(
    ("above", "mine", "where"),
    [
        ("max_iterations: 5", "max_iterations: 6", "4:17"),
        ("budget: {usd: 1}", "budget: {usd: 2}", "4:15"),
        ("channels: [cli]", "channels: [cli, slack]", "4:17"),
        ("scope_bound_retrieval: strict", "scope_bound_retrieval: 'off'", "4:24"),
        ("field_policy: commercial_only", "field_policy: wide", "4:15"),
        ("tools: {exclude: [query_usage]}", "tools: {include: [query_usage]}", "4:19"),
        ("scope: {globs: ['crm/**']}", "scope: {globs: ['crm/a/*', 'mail/**']}", "4:28"),
        ("scope: {globs: ['crm/**']}", "scope: {globs: ['crm/**'], static_ids: ['Note#x']}", "4:41"),
        ("description: x", "acl_enforcement: false", "4:18"),
        ("description: x", "budget: {seconds: 500}", "4:19"),
    ],
)
def test_a_domain_team_cannot_widen_what_stands_above_it(tmp_path: Path, above: str, mine: str, where: str):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", mine, "family: calm"),
            FAMILY: f"---\nname: calm\n{above}\n---\nBe calm.\n",
            "access/field_policies/wide.yaml": WIDE,
            "access/budgets.yaml": "budgets: [{to: ['*'], per: run, seconds: 120}]\n",
        },
    )

    loaded = build.load(tmp_path)

    assert [(f.code, f.where) for f in loaded.findings] == [("widened", f"{AGENT}:{where}")]
    agent = loaded.catalog.agents["coach"]
    assert agent.max_iterations in (5, 20)
    assert agent.acl_enforcement is True
    assert "query_usage" not in agent.tools or "query_usage" not in above
    assert "slack" not in agent.channels
    assert agent.scope is None or "mail/**" not in agent.scope.globs
    assert agent.scope is None or agent.scope.static_ids == ()


@pytest.mark.parametrize(
    ("outer", "inner", "covered"),
    [
        ("crm/**", "crm", True),
        ("crm/**", "crm/a/b*", True),
        ("**", "anything/**", True),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/*/c", True),
        ("a/b*", "a/bc*", True),
        ("a/b*d", "a/bcd", True),
        ("a/**/z", "a/b/**/z", True),
        ("crm/*", "crm/**", False),
        ("crm/*", "crm/a/b", False),
        ("a/bc*", "a/b*", False),
        ("a", "b", False),
        ("a/**/b", "a/**", False),
    ],
)
def test_a_pattern_covers_another_only_when_that_is_plain(outer: str, inner: str, covered: bool):
    assert tighten.covers(outer, inner) is covered


def test_many_double_stars_keep_nobody_waiting():
    assert tighten.covers("/".join(["**", "a"] * 20), "/".join(["a"] * 40 + ["b"])) is False


def test_a_skill_and_a_report_cannot_widen_their_agent(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", "budget: {usd: 1}", "tools: {exclude: [query_usage]}"),
            "agents/coach/skills/map/SKILL.md": build.skill(
                "map", "budget: {usd: 3}", "allowed-tools: read_record query_usage serch_records Read Bash(git add:*)"
            ),
            "agents/coach/reports/brief.md": build.report("brief", "budget: {usd: 2}"),
        },
    )

    found = [(f.severity, f.code, f.received) for f in build.load(tmp_path).findings]

    assert sorted(found) == [
        ("error", "unknown_tool", "serch_records"),
        ("error", "widened", "2"),
        ("error", "widened", "3"),
        ("error", "widened", "query_usage"),
        ("note", "tool_not_used", "Bash(git add:*)"),
        ("note", "tool_not_used", "Read"),
    ]


# Origins ----------------------------------------------------------------------------------------------------------


def test_each_resolved_value_says_where_it_came_from(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent("coach", "model: <medium-frontier-model>", "family: calm", "budget: {usd: 1}"),
            FAMILY: family("field_policy: commercial_only", "max_iterations: 7", "budget: {usd: 0.5}"),
            "access/budgets.yaml": "budgets: [{to: ['*'], per: run, tokens: 900}]\n",
            "guardrails/rule.md": build.guardrail(),
        },
    )

    origins = build.load(tmp_path).catalog.origins["coach"]

    told = {field: (o.value, o.source, o.where) for field, o in origins.items()}
    assert told["model"] == ("<medium-frontier-model>", "agent", f"{AGENT}:4:8")
    assert told["model_use"] == ("extractive", "models.yaml", "models.yaml:1:11")
    assert told["max_iterations"] == (7, "family calm", f"{FAMILY}:5:17")
    assert told["field_policies"] == (["commercial_only"], "family calm", f"{FAMILY}:4:15")
    assert told["budget.usd"] == (0.5, "family calm", f"{FAMILY}:6:15")
    assert told["limit.run.tokens"] == (900.0, "access/budgets.yaml", "access/budgets.yaml:1:11")
    assert told["channels"] == (["cli"], "default", "")
    assert told["guardrails"] == (["rule"], "guardrails/rule.md", "")


def test_documents_of_rooms_above_are_judged_by_the_readers_handed_in(tmp_path: Path):
    def reader(doc: Document) -> list[Finding]:
        return [Finding(code="not_allowed", where=doc.where("/connector"), message="no")]

    build.workspace(tmp_path, {"connectors/crm.yaml": "connector: crm\n"})

    loaded = build.load(tmp_path, readers={"connectors": reader})

    assert build.told(loaded.findings) == [("error", "not_allowed", "connectors/crm.yaml:1:12")]


WORKFLOW = """workflow: classify
domain: crm
on: {{node_type: Account, change: created}}
steps:
  - id: classify
    agent: {agent}
    ask: "Which kind?"
    emits: {{kind: {{kind: string}}}}
  - id: persist
    write:
      - {{kind: update_node, target: {{context_ref: subject_node_id}}, set: {{{field}: "$ref:classify.kind"}}}}
"""


@pytest.mark.parametrize(
    ("agent", "field", "told"),
    [
        ("coach", "kind", []),
        ("coch", "kind", [("unknown_agent", "workflows/classify.yaml:6:12")]),
    ],
)
def test_a_workflow_is_held_against_domains_and_agents(
    tmp_path: Path, agent: str, field: str, told: list[tuple[str, str]]
):
    domain = DOMAIN.format("crm").replace("required: true}]", "required: true}, {key: kind, kind: string}]")
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent(),
            "domains/crm.yaml": domain,
            "workflows/classify.yaml": WORKFLOW.format(agent=agent, field=field),
            "access/field_policies/commercial_only.yaml": "version: 1\nallow: {Account: [name]}\n",
        },
    )

    loaded = build.load(tmp_path)

    assert [(f.code, f.where) for f in loaded.findings if f.severity == "error"] == told
    assert list(loaded.catalog.workflows) == ["classify"]


def test_what_a_workflow_s_own_room_finds_is_told_with_the_rest(tmp_path: Path):
    build.workspace(
        tmp_path,
        {
            AGENT: build.agent(),
            "domains/crm.yaml": DOMAIN.format("crm"),
            "workflows/other.yaml": WORKFLOW.format(agent="coach", field="nmae"),
        },
    )

    loaded = build.load(tmp_path)

    assert any(f.where.startswith("workflows/other.yaml:11:") for f in loaded.findings if f.severity == "error")
