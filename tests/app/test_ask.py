"""One question through the door of every surface: places, channels, skills, rules, credentials (P3, P4, P5.1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.context.world import Hashed
from ukai import catalog, gate, measure, record
from ukai.app import ask, connect, context, engine, identity, promotion, run, tooling
from ukai.app.evals import answering
from ukai.app.identity import Place
from ukai.app.provided import PROVIDED
from ukai.connect import pull
from ukai.connect.source import Site
from ukai.context.reader import Reader
from ukai.context.scope import Scope
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.kit.clock import FixedClock
from ukai.llm.cache import Cache
from ukai.llm.cassette import Cassette
from ukai.llm.scripted import Asked, Call, Scripted, Step, Wait
from ukai.measure.reading import Reading
from ukai.runtime import events
from ukai.runtime.budget import Allowance, Purse
from ukai.runtime.meter import Meter
from ukai.runtime.rules import BY_CODE
from ukai.runtime.rules.judged import Judged
from ukai.runtime.skills import UnknownSkill
from ukai.runtime.tools import Document

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
ANN, BEN, CAT = "ann@x.example", "ben@x.example", "cat@x.example"
INTAKE = Author(kind="connector", id="service:intake")
FILES = {
    "ukai.yaml": f"company: x\nlocal_principal: {ANN}\nlinks: [wiki.x.example]\n",
    "models.yaml": 'models: {own: {use: "openai-chat:m", base_url: "http://127.0.0.1:9/v1"}}\n',
    "domains/trade.yaml": """\
domain: trade
types:
  - type: Firm
    key: key
    path: "firms/{key}"
    text: [name, note]
    fields:
      - {key: key, kind: string, required: true}
      - {key: name, kind: string}
      - {key: owner, kind: string}
      - {key: note, kind: text}
      - {key: floor, kind: string}
      - {key: city, kind: string}
""",
    "access/groups.yaml": f"groups:\n  sellers: {{members: [{ANN}, {BEN}]}}\n",
    "access/policies.yaml": """\
policies:
  - {id: use, allow: invoke, agents: ["*"], to: ["group:sellers"]}
  - {id: own, allow: read, records: {types: [Firm]}, to: ["group:sellers"], where: {owner: caller.email}}
  - {id: audits, allow: audit, to: ["ann@x.example"]}
  - {id: as-others, allow: impersonate, to: ["ann@x.example"]}
  - {id: cities, allow: read, records: {types: [Firm]}, fields: [name, city], to: ["public"]}
""",
    "connectors/intake.yaml": """\
connector: intake
source: {kind: csv, files: "firms*.csv"}
into: {domain: trade, node_type: Firm}
map: {key: row.key, set: {name: row.name}}
schedule: "0 6 * * *"
""",
    "access/field_policies/plain.yaml": "version: 1\nallow: {Firm: [key, name, owner, note, city]}\n",
    "access/budgets.yaml": "budgets:\n  - {agent: coach, per: day, usd: 5}\n",
    "agents/coach/SKILL.md": """\
---
name: coach
description: Helps.
model: own
channels: [cli, slack]
field_policy: plain
---
Help the seller.
""",
    "agents/coach/skills/check/SKILL.md": "---\nname: check\ndescription: Checks a firm.\n---\nAnswer in three lines.",
    "agents/coach/tools.py": '''\
def ask_crm(firm: str) -> str:
    """Ask the CRM about a firm."""
    return "crm says " + credential() + " of " + firm
''',
    "agents/desk/tools.py": '''\
def ask_crm() -> str:
    """Ask another CRM."""
    return credential()


def ask_desk() -> str:
    """Ask the desk."""
    return credential()
''',
    "agents/desk/SKILL.md": """\
---
name: desk
description: Knows floors.
model: own
output: {lead: "heading: Next move"}
channels: [cli, slack, web]
scope: {globs: ["firms/**"]}
---
Decide.
""",
    "guardrails/no-keys.md": """\
---
id: no-keys
title: No keys.
stage: output
verdict_type: block
kind: pattern
applies_to: ["*"]
patterns: ['MARK-[0-9a-f]+']
---
Keys stay inside.
""",
    "guardrails/no-pay.md": """\
---
id: no-pay
title: Not about pay.
stage: input
verdict_type: block
kind: list
applies_to: ["*"]
words: [salary]
---
Pay is private.
""",
}  # fmt: skip
FIRM = {"key": "alder", "name": "Alder", "owner": ANN, "note": "Waits for papers.", "floor": "77", "city": "Rome"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asks")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
async def opened(database_url: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[engine.Engine]:
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    async with engine.opened(root, clock=FixedClock(NOW), environ={}) as made:
        assert [f for f in made.loaded.findings if f.severity == "error"] == []
        for domain in made.catalog.domains.values():
            await domains.upload(made.db, domain, author=INTAKE, at=NOW)
        delta = {"domain": "trade", "ops": [{"kind": "create_node", "ref": "$f", "node_type": "Firm", "set": FIRM}]}
        done = await gate.submit(made.db, delta, author=INTAKE, rights=gate.ALL, clock=made.clock)
        assert isinstance(done, gate.Committed), done
        yield replace(made, cache=Cache(Hashed()))


@contextmanager
def playing(model: Scripted) -> Iterator[Scripted]:
    usual = engine.Engine.model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.Engine, "model", lambda self, name: model if name == "own" else usual(self, name))
        yield model


async def asked(
    opened: engine.Engine, steps: Sequence[Step], question: str = "How is Alder?", **more: Any
) -> tuple[ask.Outcome, list[events.Event], Scripted]:
    seen: list[events.Event] = []
    who = identity.local(more.pop("who", ANN))
    agent = more.pop("agent", "coach")
    with playing(Scripted(steps)) as model:
        outcome = await ask.ask(opened, agent, question, caller=who, progress=seen.append, **more)
    return outcome, seen, model


# Places ---------------------------------------------------------------------------------------------------------------

READ = [Call("read_record", {"handle": "Firm#alder"}), "So it is."]
PLACES = {
    "alone": None,
    "direct": Place(kind="direct"),
    "private, both sellers": Place(kind="private", members=(ANN, BEN)),
    "private, with a stranger": Place(kind="private", members=(ANN, CAT)),
    "private, nobody knows who": Place(kind="private"),
    "public": Place(kind="public"),
    "shared": Place(kind="shared", members=(ANN,)),
    "report to its owner": Place(kind="report", members=(ANN,)),
    "report to somebody else": Place(kind="report", members=(CAT,)),
}
ALL_OF_COACH = ["city", "key", "name", "note", "owner"]
EVERYTHING = ["city", "floor", "key", "name", "note", "owner"]
FOR_ANYBODY = ["city", "name"]
MATRIX = {
    # place: (fields that the coach says there, fields that the desk says there)
    "alone": (ALL_OF_COACH, EVERYTHING),
    "direct": (ALL_OF_COACH, EVERYTHING),
    "private, both sellers": (FOR_ANYBODY, FOR_ANYBODY),
    "private, with a stranger": (FOR_ANYBODY, FOR_ANYBODY),
    "private, nobody knows who": (FOR_ANYBODY, FOR_ANYBODY),
    "public": (FOR_ANYBODY, FOR_ANYBODY),
    "shared": (FOR_ANYBODY, FOR_ANYBODY),
    "report to its owner": (ALL_OF_COACH, EVERYTHING),
    "report to somebody else": (FOR_ANYBODY, FOR_ANYBODY),
}


async def test_what_is_read_is_what_everybody_in_the_place_may_read(opened: engine.Engine):
    found: dict[str, tuple[list[str], ...]] = {}
    for place, value in PLACES.items():
        fields: list[list[str]] = []
        for agent in ("coach", "desk"):
            steps: list[Step] = READ
            outcome, _, _ = await asked(opened, steps, agent=agent, place=value)
            assert outcome.status == "answered", outcome.text
            (call,) = [c for c in outcome.run.calls if c.tool == "read_record"]
            fields.append(sorted({f for i in call.items for f in _fields(i)}))
        found[place] = tuple(fields)

    assert found == MATRIX


def _fields(item: record.Item) -> set[str]:
    """The fields of the firm whose values stand in what was read; its key is in its handle anyway."""
    read = json.dumps([item.words, item.value])
    return {name for name, value in FIRM.items() if value in read}


async def test_who_may_ask_is_a_matter_of_the_caller_and_refusals_are_for_the_asker_alone(opened: engine.Engine):
    allowed, _, _ = await asked(opened, ["Fine."], place=Place(kind="public"))
    refused, seen, model = await asked(opened, [], who=CAT)

    assert (allowed.status, allowed.is_for_the_asker_alone) == ("answered", False)
    assert (refused.status, refused.is_for_the_asker_alone, model.asked) == ("refused", True, [])
    assert [e.kind for e in seen] == ["started", "refused", "ended"]
    assert "policies" not in refused.text


async def test_an_agent_is_served_on_its_channels_only(opened: engine.Engine):
    for surface, status in [("cli", "answered"), ("slack", "answered"), ("web", "refused"), ("eval", "answered")]:
        outcome, _, _ = await asked(opened, ["Fine."], surface=surface)
        assert outcome.status == status, surface


# Skills ---------------------------------------------------------------------------------------------------------------


async def test_skills_stand_in_the_prompt_by_name_until_one_is_used(opened: engine.Engine):
    outcome, _, model = await asked(opened, [Call("use_skill", {"name": "check"}), "One. Two. Three."])

    assert "- check: Checks a firm." in model.asked[0].instructions
    assert "three lines" not in str(model.asked[0].messages)
    assert "Answer in three lines." in str(model.asked[1].messages)
    assert [(c.tool, c.label) for c in outcome.run.calls] == [("use_skill", "data")]
    assert outcome.run.config.skill is None


@pytest.mark.parametrize("more", [{"question": "/check How is Alder?"}, {"skill": "check"}])
async def test_a_skill_that_is_named_is_in_the_prompt_at_once(opened: engine.Engine, more: dict[str, Any]):
    outcome, _, model = await asked(opened, ["Well."], **more)

    assert "Answer in three lines." in model.asked[0].instructions
    assert (outcome.run.question, outcome.run.config.skill) == ("How is Alder?", "check")


async def test_what_people_repeat_is_drafted_from_the_runs_that_say_so(
    opened: engine.Engine, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "SystemClock", lambda: FixedClock(NOW))
    for n in range(6):
        await asked(opened, ["Well."], question=f"Why has the rollout at Firm{n} stalled?", who=(ANN, BEN)[n % 2])
        later = replace(opened, clock=FixedClock(NOW + timedelta(days=n - 9)))
        await asked(later, ["Well."], question="/check How is Alder?", who=(ANN, BEN)[n % 2])

    everything = await promotion.suggest(root, principal=None, agent=None, days=30, write=True)
    own = await promotion.suggest(root, principal=BEN, agent=None, days=30)

    ((skill, drafted),), ((report, scheduled),) = everything.skills, everything.reports
    assert (len(skill.runs), skill.people, skill.prompt) == (6, 2, "Why has the rollout at stalled?")
    assert (report.skill, len(report.runs), report.people) == ("check", 6, 2)
    assert everything.written == (drafted.path, scheduled.path)
    assert (own.asked, own.skills) == (6, ()), "somebody else's prompts are theirs"
    loaded = catalog.load(root, provided=PROVIDED)
    assert skill.name in loaded.catalog.agents["coach"].skills
    assert "check" in loaded.catalog.reports["coach"]
    assert [f for f in loaded.findings if f.severity == "error"] == []
    assert "6 times by 2 people" in promotion.text(everything)


async def test_a_skill_that_is_not_there_is_told_with_a_suggestion(opened: engine.Engine):
    with pytest.raises(UnknownSkill, match="check"):
        await asked(opened, [], skill="chek")
    outcome, _, _ = await asked(opened, ["/usr is a folder."], question="/usr is what?")
    assert outcome.run.question == "/usr is what?"


# Rules ----------------------------------------------------------------------------------------------------------------


async def test_nothing_of_an_answer_that_a_rule_holds_back_leaves_in_any_form(opened: engine.Engine):
    mark = "MARK-" + "0123456789abcdef" * 2
    steps = [[Call("search_records", {"query": mark}), Call(mark, {"q": mark})], f"The key is {mark}, sadly."]

    outcome, seen, _ = await asked(opened, steps)

    everything = json.dumps([[str(e) for e in seen], outcome.text, outcome.as_json(), ask.shown(outcome)], default=str)
    assert outcome.status == "blocked"
    assert outcome.text == "The answer is held back by the rule 'no-keys': No keys."
    assert not any(mark[i : i + 8] in everything for i in range(len(mark) - 7))
    assert outcome.sources == ()
    assert [e.kind for e in seen if e.kind in ("held", "answer", "refused")] == ["held", "refused"]
    (firing,) = [f for f in outcome.run.firings if f.verdict == "block"]
    assert firing.held == f"The key is {mark}, sadly."


async def test_a_question_that_a_rule_stops_reaches_no_model(opened: engine.Engine):
    outcome, _, model = await asked(opened, [], question="What salary has Ben?")

    assert (outcome.status, model.asked) == ("blocked", [])
    assert outcome.text == "The question is not passed on by the rule 'no-pay': Not about pay."


async def test_an_agent_that_declares_no_lead_leaves_none_in_its_runs(opened: engine.Engine):
    outcome, _, _ = await asked(opened, ["Well."])

    assert "lead" not in outcome.as_json()["config"], "what was sealed before there was a lead still verifies"


async def test_addresses_of_the_answer_are_the_sources_or_the_workspaces(opened: engine.Engine):
    said = "See [wiki](https://wiki.x.example/a) or [this](https://evil.example/?d=77)."

    outcome, _, _ = await asked(opened, [said])

    assert outcome.text == "See [wiki](https://wiki.x.example/a) or this (address removed: evil[.]example)."


# Sources --------------------------------------------------------------------------------------------------------------


async def pulled(opened: engine.Engine, folder: Path, *keys: str, at: datetime) -> None:
    (folder / "firms.csv").write_text("key,name\n" + "".join(f"{k},{k.title()}\n" for k in keys))
    clock = FixedClock(at)
    bench = pull.Bench(db=opened.db, rights=gate.ALL, clock=clock, site=Site(root=folder, environ={}))
    (connector,) = opened.connectors
    assert (await pull.run(bench, connector)).counts["read"] == len(keys)


CITED = [Call("read_record", {"handle": "Firm#alder"}), "It waits for papers. [Firm#alder]"]
OLD = "Firm records have not been updated since 18 November 2026."
LATE = datetime(2026, 11, 18, 5, tzinfo=UTC)


async def test_an_answer_says_that_a_source_behind_it_stopped_updating(opened: engine.Engine, tmp_path: Path):
    await pulled(opened, tmp_path, "alder", at=LATE)

    outcome, _, _ = await asked(opened, CITED)

    assert outcome.text == f"It waits for papers. [Firm#alder]\n\n{OLD}"
    assert outcome.stale == (OLD,)
    call = outcome.as_json()["calls"][-1]
    assert (call["tool"], call["args_canonical"]) == ("source.age", '{"types":["Firm"]}')
    assert (call["items"][0]["text"], call["items"][0]["as_of"]) == (OLD, "2026-11-18T05:00:00Z")
    assert record.verify(outcome.run) == []
    score = measure.CHECKS["invented_figures"]().weigh(Reading(outcome.run))
    assert (score.counts["figures"], score.flags) == (1, ()), "its date stands in what was returned"


async def test_the_output_rules_read_what_is_said_of_a_source(opened: engine.Engine, tmp_path: Path):
    await pulled(opened, tmp_path, "alder", at=LATE)
    seen: list[str] = []
    rules = opened.catalog.guardrails["no-keys"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BY_CODE, rules.kind, lambda rule, text: seen.append(text.words) or Judged())
        await asked(opened, CITED)

    assert seen[-1].endswith(OLD)


async def test_a_source_counts_as_stopped_once_two_times_of_its_schedule_have_passed(
    opened: engine.Engine, tmp_path: Path
):
    await pulled(opened, tmp_path, "alder", at=datetime(2026, 11, 18, 7, tzinfo=UTC))
    six = datetime(2026, 11, 20, 6, tzinfo=UTC)

    before, _, _ = await asked(replace(opened, clock=FixedClock(six - timedelta(minutes=1))), CITED)
    since, _, _ = await asked(replace(opened, clock=FixedClock(six)), CITED)

    assert (before.stale, since.stale) == ((), (OLD,))


async def test_nothing_is_said_of_a_source_behind_nothing_that_is_cited_or_seen(opened: engine.Engine, tmp_path: Path):
    await pulled(opened, tmp_path, "alder", "birch", at=LATE)

    cites_nothing, _, _ = await asked(opened, [*CITED[:1], "It waits."])
    hers, others = _reader(opened), _reader(opened, Scope(globs=("others/**",)))
    unseen, seen = [
        await ask._ages(opened, r, NOW, ["Firm#alder/note", "Firm#birch", "tool:crm/1"]) for r in (others, hers)
    ]

    assert (cites_nothing.stale, unseen, [a.said for a in seen]) == ((), [], [OLD])


async def test_a_source_that_was_never_read_to_its_end_is_no_updated_one(opened: engine.Engine, tmp_path: Path):
    await pulled(opened, tmp_path, "alder", at=LATE)
    async with opened.db.transaction() as tx:
        await tx.execute("update pull set state = 'failed'")

    outcome, _, _ = await asked(opened, CITED)

    assert outcome.stale == (
        "Firm records have never been brought in completely: the first try was on 18 November 2026.",
    )


def _reader(opened: engine.Engine, scope: Scope | None = None) -> Reader:
    rights = opened.rights(opened.agent("coach"), ANN, "cli")
    return Reader(rights=rights, edges=(), scope=scope)


# Documents, credentials, the end --------------------------------------------------------------------------------------


async def test_an_agent_with_a_scope_reads_a_composed_document_first(opened: engine.Engine):
    outcome, seen, model = await asked(opened, ["It waits. [Firm#alder]"], agent="desk")

    assert outcome.status == "answered", outcome.text
    (call,) = outcome.run.calls
    assert (call.tool, call.label) == ("compose_context", "data")
    assert "Waits for papers." in str(model.asked[0].messages)
    assert outcome.run.config.lead == "heading: Next move"
    assert [s.key for s in outcome.sources] == ["Firm#alder"]
    assert len(outcome.run.compositions) == 1
    assert [e.kind for e in seen if e.kind != "status"][:2] == ["started", "composed"]


async def test_a_run_refers_to_every_document_that_was_composed_for_it(opened: engine.Engine):
    steps = [Call("compose_context", {"question": "What does Alder wait for?"}), "For papers. [Firm#alder]"]

    outcome, seen, _ = await asked(opened, steps, agent="desk")

    why = await run.why(opened, ANN, outcome.run.run_id)
    reports = [await context.explained(opened, id, None, principal=ANN, surface="web") for id in why["compositions"]]
    assert len(reports) == len(set(outcome.run.compositions)) == 2, "what the page of the run shows"
    assert [e.about for e in outcome.run.events if e.kind in ("composition", "call")] == [
        outcome.run.compositions[0],
        "call-1",
        outcome.run.compositions[1],
        "call-2",
    ]
    assert [e.data["composition"] for e in seen if e.kind == "composed"] == list(outcome.run.compositions)


async def test_a_composed_document_is_played_again_from_a_cassette_as_it_was(opened: engine.Engine, tmp_path: Path):
    cassette = Cassette(path=tmp_path / "c.jsonl", is_recording=True)
    tape = answering.Tape(asking=answering.Asking(opened=opened, parts={}, cassette=cassette), rep=1)
    reader = Reader(rights=opened.rights(opened.agent("desk"), ANN, "cli"), edges=())
    meter = Meter(purse=Purse(allowance=Allowance(iterations=1)))
    hand = tooling.Hand(principal=ANN, run_id="r", reader=reader, meter=meter)
    (tool,) = [
        b
        for b in tooling.bound(replace(opened, tape=tape), opened.agent("desk"), hand)
        if b.spec.name == "compose_context"
    ]

    first = await tool.call(question="What of Alder?")
    again = await tool.call(question="What of Alder?")

    assert isinstance(first, Document)
    assert (first.id, first.shown, list(first.items)) == (again.id, again.shown, list(again.items))


async def test_what_was_said_before_in_the_conversation_comes_first(opened: engine.Engine):
    earlier = [ask.Exchange(question="Who?", answer="Alder.")]

    _, _, model = await asked(opened, ["Well."], earlier=earlier)

    assert [p.content for m in model.asked[0].messages for p in m.parts] == ["Who?", "Alder.", "How is Alder?"]  # type: ignore[union-attr]


async def test_a_turn_is_given_what_only_an_earlier_turn_had_read_and_nothing_twice(opened: engine.Engine):
    """The second question of a thread found `already given above` in its document, and nothing above."""
    again = {"question": "How is Alder?"}
    steps: list[Step] = [Call("compose_context", again), "So it is."]

    turns = [await asked(opened, steps, agent="desk", conversation="thread-1") for _ in range(2)]

    for _, _, model in turns:
        first, second = (
            str(p.content) for m in model.asked[-1].messages for p in m.parts if p.part_kind == "tool-return"
        )  # the document that the turn begins with, and the one that the model asked for
        assert "Waits for papers." in first
        assert "Waits for papers." not in second
        assert "already given above: " in second
    async with opened.db.snapshot() as tx:
        assert await tx.value("select count(*) from given") == 0


async def test_a_tool_uses_the_credential_of_whoever_asks_or_none(opened: engine.Engine, root: Path):
    await opened.vault.keep(BEN, "coach/ask_crm", "bens")
    # Given to a tool that another team calls alike: this one never sees it.
    await opened.vault.keep(opened.principal(None), "desk/ask_crm", "for others")
    steps: list[Step] = [Call("ask_crm", {"firm": "Alder"}), "Fine."]

    ann, _, model = await asked(opened, steps)
    ben, _, _ = await asked(opened, steps, who=BEN)
    with pytest.raises(connect.NotATool, match="2 agents have a tool"):
        await connect.keep(root, "ask_crm", "anns", principal=None)
    await connect.keep(root, "coach/ask_crm", "anns", principal=None)
    await connect.keep(root, "ask_desk", "anns", principal=None)
    again, _, _ = await asked(opened, steps)

    assert ann.connect == ("ask_crm",)
    assert "`ukai connect coach/ask_crm`" in str(model.asked[1].messages)
    assert [c.items[0].text for c in (*ben.run.calls, *again.run.calls)] == [
        "crm says bens of Alder",
        "crm says anns of Alder",
    ]
    listed = await connect.listed(root, principal=None)
    assert [t["tool"] for t in listed["tools"]] == ["coach/ask_crm", "desk/ask_crm", "desk/ask_desk"]
    assert "anns" not in json.dumps(listed, default=str)


async def test_whoever_asked_can_stop_it_and_what_was_done_is_kept(opened: engine.Engine):
    stop, reached = asyncio.Event(), asyncio.Event()

    async def waits() -> None:
        reached.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(
        asked(opened, [Call("read_record", {"handle": "Firm#alder"}), Wait(waits, "late")], cancel=stop)
    )
    await reached.wait()
    stop.set()
    outcome, seen, _ = await task

    assert (outcome.status, outcome.text) == ("cancelled", "the turn was cancelled")
    assert [c.tool for c in outcome.run.calls] == ["read_record"]
    assert outcome.run.usage
    assert seen[-1].data["status"] == "cancelled"


async def test_a_model_that_only_loops_ends_at_its_budget_with_a_whole_record(opened: engine.Engine):
    def again(_: Asked) -> Step:
        return [Call("read_record", {"handle": "Firm#alder"}), Call("nowhere", {})]

    outcome, _, _ = await asked(opened, [again] * 30)

    assert outcome.status == "budget"
    assert outcome.text == "the run may ask its model 20 times"
    assert record.verify(outcome.run) == []
    assert [c.error_code for c in outcome.run.calls if c.tool == "read_record"][:4] == [
        None, None, "RepeatedCall", "RepeatedCall",
    ]  # fmt: skip
