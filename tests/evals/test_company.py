"""The planted changes of the sample company, each found and blamed: a model, a tool's description, a rule, a skill."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.context.world import Hashed
from tests.evals.actors import Actor
from tests.examples import sample
from tests.flows import company
from ukai.app import engine
from ukai.app.evals import answering, comparing, drawn, folder, gating, running
from ukai.app.evals.running import Wanted
from ukai.kit import document
from ukai.kit.errors import ToolFailed
from ukai.llm import models
from ukai.measure import bank, compare
from ukai.measure.evaluation import Evaluation, Kept
from ukai.runtime.tools import Bound, ToolSpec

TOOL = """
import json

def plan_of(account: str) -> str:
    return json.dumps({"items": [{"handle": "Plan#" + account, "text": "They are on the large plan."}]})

TOOLS = [{
    "name": "plan_of",
    "description": "What the account pays for. Hand its name in as `account`.",
    "input_schema": {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"]},
    "reads": True,
    "credential": "service",
}]
HANDLERS = {"plan_of": plan_of}
"""
RULE = """\
---
id: no-rivals
stage: output
verdict_type: block
kind: list
applies_to: [deal-coach]
words: [competitor-x]
examples: {pass: ["The rollout waits for legal."], fire: ["They try competitor-x."]}
---

Names of rivals stay out of answers.
"""
SELLERS = ("ann@harbor-apis.example", "ben@harbor-apis.example")
FILES = {
    "models.yaml": 'aliases: {"<medium-frontier-model>": actor, "<small-fast-model>": extractive}\n'
    'models: {actor: {use: "openai-chat:strong", base_url: "http://127.0.0.1:9/v1"}}\n',
    "guardrails/no-rivals.md": RULE,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample workspace, its coach played by an actor, with a tool and a rule of the tests' own."""
    root = company.workspace(tmp_path_factory.mktemp("planted"))
    for name, text in FILES.items():
        (root / name).write_text(text)
    cases = [c for c in sample.cases("evals/questions.yaml") if c["id"].startswith("word-") and c["as"] in SELLERS]
    planted = [{**c, "id": f"planted-{n}", "agent": "deal-coach"} for n, c in enumerate(cases[::2], 1)]
    (root / "evals" / "planted.yaml").write_text(json.dumps(planted))
    (
        root / "guardrails" / "no-price-advice.md"
    ).unlink()  # judged by examples, and the tests' embedder knows no meaning
    policies = root / "access" / "policies.yaml"
    policies.write_text(f"{policies.read_text()}  - {{id: evaluates, allow: impersonate, to: [{SELLERS[0]}]}}\n")
    tools = root / "agents" / "deal-coach" / "tools.py"
    tools.write_text(TOOL)
    manifest = root / "agents" / "deal-coach" / "SKILL.md"
    manifest.write_text(manifest.read_text().replace("budget: {", "tools: {exclude: [compose_context]}\nbudget: {"))
    return root


@pytest.fixture(scope="module")
def url(postgres_url: str, _template: str, home: Path) -> Iterator[str]:
    made = company.database(postgres_url, _template)
    company.loaded(made, home, engine.Engine.catch_up, embedder=Hashed(), accounts=10, density=0.2)
    yield made
    company.dropped(postgres_url, made)


BUILD = models.build


def unbuilt(spec: Any, **given: Any) -> Any:
    """Nobody may be asked."""
    if spec.use != "extractive":
        raise AssertionError(f"{spec.use} was built")
    return BUILD(spec, **given)


def played(spec: Any, **given: Any) -> Any:
    """`strong` and `weak` are actors; everything else is what it is."""
    ables = {"openai-chat:strong": 6, "openai-chat:weak": 1}
    return Actor(spec.name, able=ables[spec.use]) if spec.use in ables else BUILD(spec, **given)


Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def ask(url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """`ukai eval run` in the workspace as it is now, under a name; every reply is on the cassette."""
    monkeypatch.setattr(engine.models, "build", played)
    monkeypatch.setattr(engine.minilm, "default", Hashed)
    monkeypatch.setenv("UKAI_DATABASE_URL", url)

    async def evaluated(name: str, **more: Any) -> dict[str, Any]:
        wanted = {"only": "planted-*", "repeats": 1, "cassette": home / "tape.jsonl", "is_recording": True, **more}
        return await running.run(home, Wanted(name=name, **wanted), principal=None)

    return evaluated


@pytest.fixture
async def before(ask: Ask, home: Path) -> str:
    """The company as it is."""
    if "before" not in folder.names(home):
        await ask("before")
    return "before"


@contextmanager
def changed(home: Path, name: str, old: str, new: str) -> Iterator[None]:
    path = home / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    try:
        yield
    finally:
        path.write_text(text)


def held(home: Path, before: str, after: str) -> compare.Comparison:
    made, problems = comparing.compared(home, before, after)
    assert problems == []
    assert made is not None
    return made


def verdicts(made: compare.Comparison) -> dict[str, str]:
    return {row.quantity.name: row.word for row in made.rows if row.word in ("better", "worse")}


def news(made: compare.Comparison) -> list[tuple[str, str, str, str, str]]:
    return [(m.kind, m.name, m.measure, m.word, m.part) for m in made.moved if m.is_news]


async def test_a_weaker_model_is_worse_by_what_it_writes_and_by_nothing_that_its_tools_do(
    ask: Ask, before: str, home: Path
):
    with changed(home, "models.yaml", "openai-chat:strong", "openai-chat:weak"):
        await ask("weaker")
    made = held(home, before, "weaker")

    assert made.changed == {"model": ("agents/deal-coach",)}
    assert verdicts(made) == {"passed": "worse", "share": "worse", "relayed": "worse", "tokens": "better"}
    assert news(made) == []
    assert made.thinner.had_less == 0
    assert made.thinner.wrote_less > 30


async def test_a_description_that_misleads_makes_the_calls_of_that_tool_fail_and_changes_nothing_else(
    ask: Ask, before: str, home: Path
):
    with changed(home, "agents/deal-coach/tools.py", "as `account`", "as `name`"):
        await ask("misled")
    made = held(home, before, "misled")

    assert made.changed == {"prose": ("tool:plan_of",)}
    assert news(made) == [("tool", "plan_of", "errors", "more", "tool:plan_of")]
    assert verdicts(made) == {"evidence": "worse"}


async def test_a_rule_that_grew_wider_is_seen_on_the_answers_that_are_there(
    ask: Ask, before: str, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine.models, "build", unbuilt)
    await ask("narrow", answers_of=before)
    with changed(home, "guardrails/no-rivals.md", "[competitor-x]", "[competitor-x, waits, and]"):
        await ask("wide", answers_of=before)
    made = held(home, "narrow", "wide")

    assert made.changed == {"rules": ("no-rivals",)}
    assert verdicts(made) == {}
    assert news(made) == [("rule", "no-rivals", "fires", "more", "no-rivals")]
    gained = {row["rule"]: (row["gained"], row["lost"], row["flips"]) for row in made.collisions}
    assert gained.pop("no-rivals")[0] >= 8
    assert set(gained.values()) == {(0, 0, 0.0)}
    assert [(e["example"], e["before"], e["after"]) for e in made.examples] == [("no-rivals/pass-1", "pass", "fired")]


async def test_a_shortened_skill_makes_answers_leave_out_what_they_had(ask: Ask, before: str, home: Path):
    skill = "agents/deal-coach/skills/renewal-check/SKILL.md"
    text = (home / skill).read_text()
    with changed(home, skill, text[text.index("2. Does") : text.index("End with")], ""):
        await ask("short")
    made = held(home, before, "short")

    assert made.changed == {"prose": (skill,)}
    assert verdicts(made) == {"share": "worse", "relayed": "worse", "tokens": "better"}
    assert news(made) == []
    assert made.thinner.had_less == 0
    assert made.thinner.wrote_less > 30


async def test_what_is_on_the_cassette_replays_without_a_model_and_a_change_shows_its_line(
    ask: Ask, before: str, home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine.models, "build", unbuilt)
    played = await ask("again", is_recording=False)
    with changed(home, "agents/deal-coach/SKILL.md", "say how thin", "say that it is thin"):
        missed = await ask("other", is_recording=False)

    assert "findings" not in played
    first, second = (folder.read(home, name) for name in (before, "again"))
    assert [answer(k) for k in first.kept] == [answer(k) for k in sorted(second.kept, key=place(first))]
    assert {f["code"] for f in missed["findings"]} == {"cassette_miss"}
    assert "+instructions: 4. If the evidence is thin, say that it is thin." in missed["findings"][0]["received"]
    assert missed["runs"] == 0


@pytest.mark.parametrize("cut", [10, 3_000])
async def test_a_killed_evaluation_goes_on_where_it_stopped(ask: Ask, before: str, home: Path, cut: int):
    file = folder.path_of(home, f"killed-{cut}")
    file.write_bytes(folder.path_of(home, before).read_bytes()[:-cut])
    was = len(folder.read(home, f"killed-{cut}").kept)

    done = await ask(f"killed-{cut}", is_recording=False)

    assert was < 15 or cut == 10
    assert (done["runs"], done["missing"]) == (15, 0)
    assert len({(k.question, k.rep) for k in folder.read(home, f"killed-{cut}").kept}) == 15


async def test_an_evaluation_does_not_go_on_under_something_else(ask: Ask, before: str, home: Path):
    with (
        changed(home, "agents/deal-coach/SKILL.md", "say how thin", "say so"),
        pytest.raises(running.EvaluationBegun, match="prose: agents/deal-coach/SKILL"),
    ):
        await ask(before)


async def test_before_anything_is_spent_it_is_said_what_it_costs_and_what_it_could_show(
    ask: Ask, before: str, home: Path
):
    told = await running.forecast(home, Wanted(only="planted-*", repeats=5), principal=None)

    assert (told["cases"], told["runs"], told["usd"]) == (15, 75, 0.0)
    assert told["usd_at_most"] == pytest.approx(75 * 0.8)
    assert told["subjects"] >= 6
    assert 0 < told["power"]["0.05"] < told["power"]["0.20"] <= 1


async def test_the_gate_takes_a_bad_change_back_and_names_what_fell(ask: Ask, before: str, home: Path):
    with changed(home, "models.yaml", "openai-chat:strong", "openai-chat:weak"):
        wanted = Wanted(name="gated", only="planted-*", repeats=1, cassette=home / "tape.jsonl")
        decided, problems = await gating.gate(home, before, wanted, principal=None)

    assert problems == []
    assert decided["decision"] == "revert"
    assert [stage["stage"] for stage in decided["stages"]] == ["screen"]
    assert decided["stages"][0]["numbers"]["passed"]["fell"]


@pytest.mark.parametrize(("require", "decision"), [("not-worse", "keep"), ("better", "revert")])
async def test_what_is_the_baseline_itself_is_decided_without_asking(
    ask: Ask, before: str, home: Path, require: Any, decision: str
):
    wanted = Wanted(name="unchanged", only="planted-*", repeats=1)
    decided, problems = await gating.gate(home, before, wanted, principal=None, require=require)

    assert problems == []
    assert (decided["decision"], decided["stages"]) == (decision, [])


async def test_a_case_is_drawn_from_a_saved_run(ask: Ask, before: str, home: Path):
    kept = next(k for k in folder.read(home, before).kept if k.run.citations and k.run.principal.startswith("ann"))

    document, findings = await drawn.case(home, kept.run.run_id, principal=None, subject="Account#quillon")

    assert findings == []
    assert document["case"]["requires"]["items"] == list(dict.fromkeys(c.item_key for c in kept.run.citations))
    cases, wrong = bank.read(sample_doc(home / document["file"]))
    assert wrong == []
    assert [c.id for c in cases] == [document["case"]["id"]]


async def test_a_person_is_forgotten_in_evaluations_too(ask: Ask, before: str, home: Path):
    copy = folder.path_of(home, "forgetting")
    copy.write_bytes(folder.path_of(home, before).read_bytes())

    folder.forget(home, "ben@harbor-apis.example")

    rest = folder.read(home, "forgetting")
    assert 0 < len(rest.kept) < 15
    assert "ben@harbor-apis.example" not in copy.read_text()


async def test_an_evaluation_writes_nothing(url: str, home: Path):
    wrote: list[str] = []

    async def write(**arguments: Any) -> str:
        wrote.append(str(arguments))
        return "done"

    def bound(name: str, *, reads: bool) -> Bound:
        return Bound(
            spec=ToolSpec(name=name, description="x", input_schema={"type": "object"}, reads=reads), call=write
        )

    async with company.opened(url, home, Hashed()) as made:
        tape = answering.Tape(asking=answering.Asking(opened=made, parts={}), rep=1)
        with pytest.raises(ToolFailed, match="tools that write are not called"):
            await tape.tool("deal-coach", "ann", bound("send", reads=False)).call(to="x")
        await tape.tool("deal-coach", "ann", bound("propose_delta", reads=False)).call(delta={})
        await tape.tool("deal-coach", "ann", bound("read", reads=True)).call()

    assert wrote == ["{'delta': {}, 'dry_run': True}", "{}"]


def answer(kept: Kept) -> str:
    return kept.run.answer.markdown if kept.run.answer else ""


def place(of: Evaluation) -> Callable[[Kept], int]:
    order = [(k.question, k.rep) for k in of.kept]
    return lambda kept: order.index((kept.question, kept.rep))


def sample_doc(path: Path) -> document.Document:
    doc, findings = document.read(path.read_bytes(), name=path.name)
    assert doc is not None, findings
    return doc
