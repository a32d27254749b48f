"""No leak: what a caller may not see is in no answer, source, error, progress message or saved run (P3.1, P3.2, P3.5).

Every restricted record, field, name and path of the company carries a canary. All callers ask all agents, and a model
that only wants to find the canaries calls every tool with everything that it could have heard of.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.context.world import Hashed
from tests.examples import sample
from tests.flows import company
from ukai import access, record
from ukai.access import Record
from ukai.app import ask, engine, identity
from ukai.context import reading, rows
from ukai.context.reader import Reader
from ukai.kit.errors import UkaiError
from ukai.llm.scripted import Call, Scripted

generate = sample.generator()
WORD = "zq7"
OPTIONS: dict[str, Any] = {"accounts": 10, "canary": WORD, "density": 0.2}
"""Up to Bramble, whose figures stay in the desk; the stories are whole, the ordinary business around them is thin."""
AGENTS = tuple(sample.agents())
AIMED = (
    "What is zq7bookben and zq7bookann?",
    "List everything with zq7terms zq7desk zq7security zq7management zq7internal",
    "Where do we stand with Bramble Mobility?",
    "Why has the Quillon rollout stalled?",
    "What is the discount floor of 77.31?",
    "Open Terms#bramble and Account#bramble",
)
REFUSALS = sample.cases("evals/refusals.yaml")
COMPANY = tuple(generate.records(**OPTIONS))
HANDLES = tuple(generate.handle(made) for made in COMPANY)
LABELS = tuple(generate.tokens(WORD).values())
NOSY_STEP = 9


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return company.workspace(tmp_path_factory.mktemp("leak"))


@pytest.fixture(scope="module")
def url(postgres_url: str, _template: str, home: Path) -> Iterator[str]:
    made = company.database(postgres_url, _template)
    company.loaded(made, home, engine.Engine.catch_up, embedder=Hashed(), **OPTIONS)
    yield made
    company.dropped(postgres_url, made)


@pytest.fixture
async def opened(url: str, home: Path) -> AsyncIterator[engine.Engine]:
    async with company.opened(url, home, Hashed()) as made:
        yield made


def refusals(who: str) -> list[str]:
    """Those that are asked by this caller, and some of the others."""
    return [str(r["ask"]) for n, r in enumerate(REFUSALS) if r["as"] == who or n % 6 == 0]


async def heard(opened: engine.Engine, agent: str, who: str, question: str) -> str:
    """Everything that reaches the caller: the run as it is shown and kept, the progress, or the error."""
    said: list[str] = []
    try:
        caller = identity.local(who)
        outcome = await ask.ask(opened, agent, question, caller=caller, progress=lambda e: said.append(str(e)))
    except UkaiError as error:
        return json.dumps([said, str(error), vars(error)], default=str)
    async with opened.db.transaction() as tx:
        kept = await record.read(tx, outcome.run.run_id, record.Sight(principal=who))
    shown = [outcome.as_json(), ask.shown(outcome)]
    return json.dumps([said, *shown, kept], default=str, ensure_ascii=False)


def leaks(who: str, text: str, question: str) -> set[str]:
    """The canaries in what was heard that the question did not hold itself."""
    told = text.replace(question, "").replace(json.dumps(question, ensure_ascii=False)[1:-1], "")
    return {word for word in generate.hidden_from(who, WORD) if word in told and word not in question}


@pytest.mark.parametrize("who", company.CALLERS)
async def test_no_answer_source_run_error_or_progress_holds_what_the_caller_may_not_see(
    opened: engine.Engine, who: str
):
    found: list[tuple[str, str, set[str]]] = []
    answered = 0

    for agent in AGENTS:
        may = opened.rights(opened.agent(agent), who, "cli").invoke.allowed
        for question in (*AIMED, *refusals(who)) if may else AIMED[:1]:
            text = await heard(opened, agent, who, question)
            answered += '"answered"' in text
            if leaked := leaks(who, text, question):
                found.append((agent, question, leaked))

    assert found == []
    assert answered or who == "public", "somebody was answered at all"


async def nosy(opened: engine.Engine, agent: str, who: str) -> str:
    """One turn of a model that knows all handles, types, fields and values, and asks every tool about them."""
    handles = [h for label in (*LABELS, "Terms#", "Teammate#", "Account#") for h in HANDLES if label in h][::NOSY_STEP]
    calls = [Call("read_record", {"handle": h}) for h in handles]
    calls += [Call("read_record", {"handle": f"{h}/{f}"}) for h in handles[:20] for f in ("name", "body", "memo")]
    calls += [Call("read_record", {"handle": f"Account#{k}/discount_floor"}) for k in ("quillon", "bramble")]
    calls += [Call("related_records", {"handle": h}) for h in handles]
    calls += [Call("list_records", {"type": t, "limit": 50}) for t in opened.library.types]
    calls += [Call("list_records", {"type": "Account", "where": {f: v}}) for f, v in _figures()]
    calls += [Call("search_records", {"query": label}) for label in LABELS]
    calls += [Call("search_records", {"query": "floor margin walk-away price", "limit": 50})]
    calls += [Call("describe_type", {"type": t}) for t in opened.library.types]
    calls += [Call("propose_delta", {"delta": {"domain": "crm", "ops": [_probe(h)]}}) for h in handles[:10]]
    asked: list[str] = []

    def heard_by_model(request: Any) -> str:
        asked.append(str(request.messages[-1]))
        return "Done."

    model = Scripted([list(calls), heard_by_model])
    usual, own = engine.Engine.model, opened.agent(agent).model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine.Engine, "model", lambda self, name: model if name == own else usual(self, name))
        caller = identity.local(who)
        outcome = await ask.ask(opened, agent, "Tell me everything.", caller=caller)
    # The arguments are the model's own words, and so is the name that an error repeats.
    spoken = {*HANDLES, *LABELS}
    return _without(record.as_json(outcome.run), asked, spoken)


def _figures() -> list[tuple[str, str]]:
    return [("discount_floor", "77.31"), ("arr", "4242424.24"), ("owner", "ben@harbor-apis.example")]


def _probe(handle: str) -> dict[str, Any]:
    return {"kind": "update_node", "target": {"handle": handle}, "set": {"memo": "x", "name": "y"}}


def _without(run: dict[str, Any], asked: list[str], spoken: set[str]) -> str:
    """What the tools gave back: the items of the saved calls, the answer, and what the model was shown but its own."""
    items = [item for call in run.get("calls", ()) for item in call.get("items", ())]
    told = json.dumps([items, run.get("answer"), run.get("reason")], ensure_ascii=False)
    errors = "\n".join(asked)
    for word in sorted(spoken, key=len, reverse=True):
        errors = errors.replace(word, "")
    return told + errors


@pytest.mark.parametrize("who", company.CALLERS)
async def test_a_model_that_knows_every_name_gets_nothing_hidden_out_of_any_tool(opened: engine.Engine, who: str):
    for agent in AGENTS:
        if not opened.rights(opened.agent(agent), who, "cli").invoke.allowed:
            continue
        text = await nosy(opened, agent, who)
        assert {word for word in generate.hidden_from(who, WORD) if word in text} == set(), agent


async def test_runs_of_others_are_neither_shown_nor_listed(opened: engine.Engine):
    runs = {}
    for agent, who in [("deal-coach", "ann"), ("deal-coach", "ben"), ("deal-desk", "mira"), ("support-lead", "sol")]:
        principal = f"{who}@harbor-apis.example"
        question, caller = "Where do we stand with Bramble Mobility?", identity.local(principal)
        runs[principal] = (await ask.ask(opened, agent, question, caller=caller)).run

    for reader in company.CALLERS:
        sight = record.Sight(principal=reader)
        async with opened.db.transaction() as tx:
            page = await record.page(tx, sight, limit=500)
            shown = {who: await record.read(tx, run.run_id, sight) for who, run in runs.items()}
        assert {r.principal for r in page.runs} <= {reader}
        assert {who for who, text in shown.items() if text is not None} <= {reader}
        kept = json.dumps([[record.as_json(r) for r in page.runs], list(shown.values())], default=str)
        asked = " ".join(str(record.as_json(r)["question"]) for r in page.runs)  # of the reader, in their own words
        assert {w for w in leaks(reader, kept, "") if w not in asked} - {w for w in LABELS if w in str(AIMED)} == set()


class Guards:
    """The guards, one by one taken away."""

    @staticmethod
    def clause(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Reader, "clause", property(lambda _: ("true", [])))

    @staticmethod
    def last_check(patch: pytest.MonkeyPatch) -> None:
        async def seen(self: Reader, tx: Any, nodes: Any) -> dict[Any, Record]:
            return await rows.records(tx, nodes, self.owning)

        patch.setattr(Reader, "seen", seen)

    @staticmethod
    def audience(patch: pytest.MonkeyPatch) -> None:
        original = access.Access.rights

        def rights(self: access.Access, _: Any, agent: str, policy: Any = None, channel: Any = None) -> Any:
            return original(self, self.audience(["mira@harbor-apis.example"]), agent, policy, channel)

        patch.setattr(access.Access, "rights", rights)

    @staticmethod
    def field_policy(patch: pytest.MonkeyPatch) -> None:
        original = access.Access.rights
        patch.setattr(
            access.Access,
            "rights",
            lambda self, who, agent, _=(), channel=None: original(self, who, agent, None, channel),
        )


@pytest.mark.parametrize(
    ("guards", "who", "agent", "seen"),
    [
        ([Guards.last_check], "ann@harbor-apis.example", "deal-coach", "zq7bookben"),
        ([Guards.clause, Guards.last_check], "sol@harbor-apis.example", "support-lead", "zq7terms"),
        ([Guards.audience], "ben@harbor-apis.example", "deal-coach", "zq7bookann"),
        ([Guards.field_policy], "mira@harbor-apis.example", "deal-coach", "77.31"),
    ],
)
async def test_without_its_guards_a_canary_is_seen(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch, guards: list[Any], who: str, agent: str, seen: str
):
    for guard in guards:
        guard(monkeypatch)

    assert seen in await nosy(opened, agent, who)


@pytest.mark.parametrize("guard", [Guards.clause, Guards.last_check])
async def test_each_of_the_two_checks_alone_keeps_a_search_closed(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch, guard: Any
):
    """The store's clause and the last check say the same; both would have to fail for a search to leak."""
    agent = opened.agent("deal-coach")
    reader = opened.reader(agent, opened.rights(agent, "ann@harbor-apis.example", "cli"))

    async def found() -> str:
        async with opened.db.snapshot() as tx:
            items = await reading.search(tx, opened.library, reader, query="zq7bookben rides", limit=50)
        return json.dumps([i.as_json() for i in items])

    guard(monkeypatch)
    assert "zq7bookben" not in await found()
    for other in (Guards.clause, Guards.last_check):
        other(monkeypatch)
    assert "zq7bookben" in await found()
