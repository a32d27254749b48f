"""The composer where people and agents meet it: at the command line, in a turn, in replies of bounded length (C46)."""

from __future__ import annotations

import io
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.app import build, test_ask
from tests.context.world import Hashed
from tests.surfaces import world
from ukai import gate
from ukai.app import context, engine, replies, telemetry
from ukai.app.telemetry import metrics, names
from ukai.context import cut, retrieval
from ukai.context.assembly import TRUNCATED
from ukai.context.report import Report
from ukai.kit import unicode
from ukai.llm.cache import Cache
from ukai.llm.scripted import Asked, Call, Step
from ukai.surfaces import cli
from ukai.surfaces.cli import output

root, opened = test_ask.root, test_ask.opened
QUESTION = "Which pull request is about a retry?"


@pytest.fixture
def ukai(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command line in this process, in a workspace with an agent and a model that costs nothing."""
    world.written(tmp_path, world.FILES)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "Cache", lambda _: Cache(Hashed()))

    def run(*words: str, given: str = "", code: int = 0) -> Any:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        found = output.guarded(lambda: cli.app([*words, "--json"]))
        said = capsys.readouterr()
        assert found == code, (words, found, said.out, said.err)
        return json.loads(said.out) if said.out else said.err

    return run


def test_a_document_is_composed_explained_and_composed_once_more(ukai: Any, monkeypatch: pytest.MonkeyPatch):
    ukai("schema", "upload")
    ukai("propose", "-", given=json.dumps(build.delta(build.pull(1), build.pull(2, "$two", title="Other"))))

    made = ukai("context", "compose", "helper", QUESTION, "--budget", "500")
    report = ukai("context", "explain", made["id"])
    why = ukai("context", "explain", made["id"], "PullRequest#api:1")
    same = ukai("context", "replay", made["id"])
    ukai("propose", "-", given=json.dumps(build.delta(build.change(1, title="Retry twice"))))
    changed = ukai("context", "replay", made["id"], code=output.REFUSED)
    nothing = ukai("context", "replay", "01a229cc-0000-7000-8000-000000000000", code=output.REFUSED)
    empty = [ukai(*verb.split(), " ", code=output.REFUSED) for verb in ("context compose helper", "ask helper")]

    monkeypatch.setattr(context, "SHOWN_IN", 1)
    asked = (["compose", "helper", QUESTION], ["explain", made["id"]])
    said = [[CliRunner().invoke(cli.app, ["context", *a, *more]).stdout for more in ((), ("--all",))] for a in asked]

    assert [["--all shows them" in text for text in both] for both in said] == [[True, False]] * 2
    assert "Retry" in made["text"]
    told = [[(r["section"], r["reason"]) for r in found["report"]["ranking"]] for found in (made, report)]
    assert told[0] == told[1] != []
    assert why["shown"]
    assert (same["same"], same["changed"], same["text"]) == (True, [], made["text"])
    assert "records in scope" in changed["changed"]
    assert "PullRequest#api:1 says something else" in changed["changed"]
    assert "Retry twice" in changed["text"]
    assert "that was made for you" in nothing
    assert all("the question is empty. Write what you want to know" in said for said in empty)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "templates.md"


def test_the_page_on_templates_makes_one_that_works(ukai: Any, tmp_path: Path):
    """Its files, its key, its events and its body (context req. 35, 36; E7)."""
    page = PAGE.read_text()
    files = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    domain, template, modes = files
    promise = {"id": "p-1", "account": "alder", "title": "The retry", "owner": "Kim", "due": "2026-12-01"}
    promise |= {"words": "We deliver the retry before the winter."}
    op = {"kind": "create_node", "ref": "$p", "node_type": "Promise", "set": promise}

    def composed() -> tuple[str, str]:
        made = ukai("context", "compose", "helper", "What of the retry?")
        return made["text"], "\n".join(context.lines(made["report"]))

    world.written(tmp_path, {domain: files[domain]})
    ukai("schema", "upload")
    ukai("propose", "-", given=json.dumps(build.delta(op)))
    key = ukai("schema", "show", "Promise")["templates"]
    plain = composed()
    world.written(tmp_path, {template: files[template], modes: files[modes]})
    findings = ukai("lint")["findings"]
    shadow = composed()
    world.written(tmp_path, {modes: files[modes].replace("shadow", "active")})
    active = composed()
    world.written(tmp_path, {domain: files[domain] + "      - {key: late, kind: boolean}\n"})
    ukai("schema", "upload")
    moved = composed()

    body = page[page.index("With `active`") :].split("```")[1].strip()
    assert key == [{"key": template[10:-6], "file": template, "mode": None}]
    assert [f for f in findings if f["where"].startswith("templates")] == []
    assert [plain[0], moved[0]] == [shadow[0]] * 2
    assert (
        f"  event: template_mismatch {template[10:-6]} Promise#p-1: the body differs from line 1 on: 2 lines"
        in shadow[1]
    )
    assert body not in plain[0]
    assert body in active[0]
    assert "event" not in plain[1] + active[1]
    assert f"  event: template_outdated {template[10:-6]}: Promise has the schema hash " in moved[1]
    assert [f["code"] for f in ukai("lint")["findings"] if f["where"].startswith("templates")] == ["template_outdated"]


@pytest.mark.parametrize("verb", ["context compose helper x", "history --feed", "ingest --all", "up --target compose"])
@pytest.mark.parametrize(
    ("file", "text", "where"),
    [
        ("ukai.yaml", "local_principal: ann@example.com\ncontext: {thresholds: {filter: -1}}\n", "ukai.yaml:2:32"),
        ("access/policies.yaml", "policies: [{id: x}]\n", "access/policies.yaml:1:12"),
    ],
)
def test_broken_configuration_is_told_before_anything_that_follows_from_it(
    ukai: Any, tmp_path: Path, verb: str, file: str, text: str, where: str
):
    (tmp_path / file).write_text(text)

    said = ukai(*verb.split(), code=output.REFUSED)

    assert said.startswith(f"error: {where}: error")
    assert "`ukai lint` shows everything" in said


async def test_what_a_reply_that_was_lost_had_given_is_given_again(opened: engine.Engine):
    """In a conversation it would count as given; whoever names what arrived gets everything that did not."""

    async def composed(question: str, who: str = test_ask.ANN, **more: Any) -> dict[str, Any]:
        return await context.composed(opened, "desk", question, principal=who, **more)

    change = {"kind": "update_node", "target": {"handle": "Firm#alder"}, "set": {"note": "Waits no more."}}
    delta = {"domain": "trade", "ops": [change]}
    first = await composed("How is Alder?")
    again = await composed("And Alder?", holds=first["id"])
    nothing = await composed("And?", holds=again["id"], budget_tokens=1)
    still = await composed("And Alder?", holds=nothing["id"])
    done = await gate.submit(opened.db, delta, author=test_ask.INTAKE, rights=gate.ALL, clock=opened.clock)
    lost = await composed("How is Alder now?", holds=again["id"])
    repeated = await composed("How is Alder now?", holds=again["id"])
    held = await composed("How is Alder now?", holds=repeated["id"])
    for id, who in (("x", test_ask.ANN), (first["id"], test_ask.BEN)):
        with pytest.raises(context.NoSuchComposition):
            await composed("?", who, holds=id)
    with pytest.raises(context.TwoMemories):
        await composed("?", holds=first["id"], conversation="c")

    assert isinstance(done, gate.Committed)
    assert "Waits for papers." in first["text"]
    assert "already given above: " in again["text"]
    assert "Waits for papers." not in again["text"]
    assert nothing["report"]["shown"] == {}
    assert "already given above: " in still["text"]
    assert "Waits no more." in lost["text"]
    assert repeated["text"] == lost["text"]
    assert "Waits no more." not in held["text"]
    async with opened.db.snapshot() as tx:
        assert await tx.value("select count(*) from given") == 0


async def test_a_question_or_a_name_with_what_no_database_holds_is_answered_like_any_other(opened: engine.Engine):
    odd = "How\0is \ud800it?"

    made = await context.composed(opened, "desk", odd, principal=test_ask.BEN, conversation=odd)
    told = [await context.explained(opened, made["id"], odd, principal=who) for who in (test_ask.BEN, test_ask.ANN)]

    assert made["text"]
    assert all(unicode.is_storable(found["handle"]) for found in told)


async def test_the_same_again_is_written_out_of_what_was_kept_at_every_door(opened: engine.Engine):
    """Ann holds audit: she is told what took how long, and strategies that did not run took nothing."""
    made = [await context.composed(opened, "desk", "How is it?", principal=test_ask.ANN) for _ in range(2)]

    assert ["strategies" in m["report"]["ms"] for m in made] == [True, False]
    assert made[1]["text"] == made[0]["text"]


async def test_times_which_say_whether_somebody_wrote_are_told_to_who_holds_audit_alone(opened: engine.Engine):
    made = [await context.composed(opened, "desk", "How is it?", principal=who) for who in (test_ask.BEN, test_ask.ANN)]
    explained = await context.explained(opened, made[0]["id"], None, principal=test_ask.BEN)
    audited = await context.explained(opened, made[0]["id"], None, principal=test_ask.ANN)

    theirs, own = [found["report"] for found in (made[0], explained)], [made[1]["report"], audited["report"]]
    assert all("ms" not in report and not any("ms" in step for step in report["graph"]) for report in theirs)
    assert all("ms" in report and all("ms" in step for step in report["graph"]) for report in own)
    assert "found" in "\n".join(context.lines(theirs[0]))


async def test_an_agent_fetches_page_by_page_what_its_document_only_names(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch
):
    long = "".join(f"street {n} " for n in range(6_000))
    change = {"kind": "update_node", "target": {"handle": "Firm#alder"}, "set": {"city": long}}
    author = test_ask.INTAKE
    done = await gate.submit(
        opened.db, {"domain": "trade", "ops": [change]}, author=author, rights=gate.ALL, clock=opened.clock
    )
    assert isinstance(done, gate.Committed)

    def fetch(after: int) -> Any:
        def step(asked: Asked) -> Step:
            found = re.search(r"fetch_offloaded (\w{32})", str(asked.messages))
            assert found, "the document names the reference"
            return [Call("fetch_offloaded", {"ref": found[1], "after": after})]

        return step

    outcome, _, _ = await test_ask.asked(opened, [fetch(0), fetch(40_000), "Long. [Firm#alder]"], agent="desk")
    made = await context.composed(opened, "desk", "How is Alder?", principal=test_ask.ANN)
    ref = re.findall(r"fetch_offloaded (\w{32})", made["text"])[0]
    monkeypatch.setattr(engine, "opened", lambda _: nullcontext(opened))
    whole = await context.fetch(opened.root, "desk", ref, principal=None)
    with pytest.raises(context.NothingPutAside):
        await context.fetch(opened.root, "desk", ref, principal=test_ask.BEN)
    with pytest.raises(context.NothingPutAside, match=r"'x{64}'"):
        await context.fetch(opened.root, "desk", "x" * 5_000, principal=None)

    assert (whole["handle"], whole["field"], whole["text"]) == ("Firm#alder", "city", long)
    first, second = (c for c in outcome.run.calls if c.tool == "fetch_offloaded")
    assert (first.label, second.label) == ("data", "data")
    assert [i.item_key for i in (*first.items, *second.items)] == ["Firm#alder", "Firm#alder"]
    assert long.startswith(first.items[0].text or "!")
    assert not first.truncated
    assert [s.key for s in outcome.sources] == ["Firm#alder"]


@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=300), most=st.integers(1, 40))
def test_pages_lose_nothing_and_each_fits(text: str, most: int):
    pages = [replies.page(text, after=0, fits=lambda t: len(t.encode()) <= most)]
    while (after := pages[-1].next) is not None:
        pages.append(replies.page(text, after=after, fits=lambda t: len(t.encode()) <= most))

    assert "".join(p.text for p in pages) == text
    assert all(len(p.text) == 1 or len(p.text.encode()) <= most for p in pages if p.text)


def test_of_a_report_that_is_too_long_the_best_lines_stay_and_the_others_are_counted():
    ranking = [{"section": f"Memo#{n}", "reason": "rank in full " * 5} for n in range(400)]
    found = {"id": "x", "report": {"ranking": ranking, "dropped": [], "found": {"a": ["b"]}, "shown": {}, "used": 1}}

    short = replies.fitting(found, fits=lambda t: len(t) < 9_000)

    assert replies.fitting(found, fits=lambda _: True) == found
    assert len(json.dumps(short)) < 9_000
    kept = len(short["report"]["ranking"])
    assert short["report"]["ranking"] == ranking[:kept]
    assert short["report"]["left_off"] == {"ranking": 400 - kept, "dropped": 0}
    assert short["report"]["used"] == 1


def test_a_report_says_once_how_its_ranks_and_turns_are_to_be_read():
    graph = {"strategy": "keyword", "fired": True, "candidates": 2, "capped": False, "timed_out": False}
    row = {"section": "Memo#a", "score": 1.0, "tokens_full": 9, "level": "none"}
    ranking = [{**row, "reason": f"rank {n} left out: the turn of rank 1 {cut.FIRST}"} for n in (2, 3)]
    report = {"scope": {"matched": 2}, "used": 1, "budget": 9, "graph": [graph], "events": [], "dropped": []}

    lines = [line.strip() for line in context.lines({**report, "ranking": ranking})]

    assert (lines.count(context.ORDER), lines.count(cut.TURNS)) == (1, 1)
    assert lines.index(context.ORDER) < next(n for n, line in enumerate(lines) if line.startswith("rank"))


def test_of_a_long_ranking_the_first_of_each_kind_are_shown_and_all_to_whoever_asks():
    row = {"score": 1.0, "tokens_full": 9, "reason": "rank in full"}
    ranking = [{**row, "section": f"Memo#{n}", "level": "full" if n < 30 else "none"} for n in range(45)]
    scope = {"matched": 45}
    report = {
        "scope": scope,
        "used": 1,
        "budget": 9,
        "graph": [],
        "events": ["x"] * 30,
        "dropped": [],
        "ranking": ranking,
    }

    short, whole = (list(context.lines(report, whole=w)) for w in (False, True))

    assert sum("Memo#" in line for line in short) == context.SHOWN_IN + context.SHOWN_OUT
    assert "      and 10 more in the document, 5 more left out: --all shows them" in short
    assert sum("Memo#" in line for line in whole) == 45
    assert [sum("event: x" in line for line in lines) for lines in (short, whole)] == [context.SHOWN_OUT, 30]
    assert "  and 20 more events: --all shows them" in short
    assert not any("--all" in line for line in whole)


def test_what_a_composition_had_to_do_without_is_counted_for_alerts():
    graph = tuple(retrieval.Step(strategy=s, fired=True, timed_out=s == "relations") for s in ("keyword", "relations"))
    events = (TRUNCATED, "ranker_failed RuntimeError")
    counted = metrics.Registry((metrics.Metric(name=names.COMPOSITION_EVENTS, help="x", labels=("event",)),))

    telemetry.composed(_report(graph=graph, events=events), counted)

    text = counted.exposition()
    for event in ("composer_final_summary_truncated", "ranker_failed", "timed_out relations"):
        assert f'{names.COMPOSITION_EVENTS}{{event="{event}"}} 1' in text


def _report(**more: Any) -> Report:
    usual: dict[str, Any] = {"skill": "", "principal_hash": "", "clause_hash": "", "matched": 0, "ranking": ()}
    return Report(**usual, dropped=(), budget=1, used=1, ceiling_hit=True, **more)
