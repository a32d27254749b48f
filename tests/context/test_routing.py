"""Counts decide whether a model is asked; what it leaves out is accounted for; a replay asks nobody (C17, C25-C26)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.context import world
from tests.context.test_composing import compose
from tests.context.test_no_leak import CANARY, HIDDEN
from tests.context.world import MIRA
from ukai import context, store
from ukai.context import Scope, rank
from ukai.context.settings import DEFAULT

QUESTION = "Why did Alder Works stop the rollout?"
BUDGET = 300
MEMOS = 60


class Keen:
    """Keeps the memos whose number ends in 3, ranks what stands last first, and remembers what it was sent."""

    model_id = "keen:1"

    def __init__(self, filtering: str | Exception | None = None) -> None:
        self.filtering = filtering
        self.prompts: list[str] = []

    @property
    def asked_to_filter(self) -> list[str]:
        return [p for p in self.prompts if p.startswith("Which of these")]

    async def ask(self, prompt: str, *, seed: int) -> str:
        self.prompts.append(prompt)
        texts = re.findall(r"^\[(\d+)\] .*\n(.*)", prompt, re.MULTILINE)
        if not prompt.startswith("Which of these"):
            return json.dumps([int(n) for n, _ in texts][::-1])
        if isinstance(self.filtering, Exception):
            raise self.filtering
        return self.filtering or json.dumps([int(n) for n, text in texts if re.search(r"no\. \d*3\b", text)])


class Scores:
    """A reranker that likes the memo of one number."""

    model_id = "scores:1"

    def __init__(self, best: str) -> None:
        self.best, self.sizes = best, list[int]()

    async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        self.sizes.append(len(texts))
        return [float(self.best in text) for text in texts]


async def many(db: store.Database, memos: int = MEMOS) -> world.World:
    w = await world.opened(db)
    ops: list[dict[str, Any]] = [world.firm("alder", name="Alder Works")]
    for n in range(memos):
        body = f"The rollout report no. {n} of the works. " + f"Depot {n} waits for a gate. " * 8
        ops += world.memo(f"m{n}", "alder", body, title=f"Memo no. {n}")
    await w.write(*ops)
    await w.follow()
    return w


def steps(made: context.Composition) -> dict[str, dict[str, Any]]:
    return {s["strategy"]: s for s in made.report.as_json()["graph"] if s["strategy"] in ("filter", "rank")}


async def test_some_hundreds_are_filtered_then_ranked_and_what_was_left_out_says_by_whom(database: store.Database):
    w, model = await many(database), Keen()

    plain = await compose(w, budget_tokens=BUDGET)
    made = await compose(w, budget_tokens=BUDGET, ranker=model)
    replayed = await context.replay(database, made.id, library=w.library, reader=world.reader(), ranker=Keen())
    without = await context.replay(database, made.id, library=w.library, reader=world.reader())
    gone = await context.explain(database, made.id, "Memo#m4", library=w.library, reader=world.reader())

    assert steps(plain) == {}
    assert steps(made)["filter"]["way"] == "1 batch over 61 items"
    assert steps(made)["filter"]["candidates"] == 6
    assert steps(made)["rank"]["way"] == "6 of 6 sections in 2 views by keen:1"
    assert {r.section for r in made.report.ranking} == {f"Memo#m{n}3" for n in ("", 1, 2, 3, 4, 5)}
    assert "Memo no. 4\n" not in made.text
    out = {d.section: d.reason for d in made.report.dropped}
    assert out["Memo#m4"] == "judged not relevant by keen:1"
    assert len(out.keys() | {i for r in made.report.ranking for i in r.items}) == 61
    assert gone is not None
    assert (gone.is_shown, gone.lines) == (False, ("Memo#m4: judged not relevant by keen:1",))
    assert replayed is not None
    assert (replayed.same, replayed.text, replayed.changed) == (True, made.text, ())
    assert without is not None
    assert without.changed[:1] == ("the model that ranks",)


async def test_a_replay_asks_no_model_even_when_records_have_changed(database: store.Database):
    w, model = await many(database), Keen()
    made = await compose(w, budget_tokens=BUDGET, ranker=model)
    await w.write(world.change("Memo#m13", body="The rollout went on."))
    await w.follow()
    silent = Keen()

    replayed = await context.replay(database, made.id, library=w.library, reader=world.reader(), ranker=silent)

    assert silent.prompts == []
    assert replayed is not None
    assert (replayed.same, replayed.changed[0]) == (False, "records in scope")


async def test_what_a_model_cannot_say_leaves_out_nothing_and_is_told(database: store.Database):
    w = await many(database)
    plain = await compose(w, budget_tokens=BUDGET)
    mumbling, broken = Keen("most of them"), Keen(RuntimeError(CANARY))

    class Hanging(Keen):
        async def ask(self, prompt: str, *, seed: int) -> str:
            await asyncio.wait_for(asyncio.Event().wait(), 20)
            return ""

    said = [await compose(w, budget_tokens=BUDGET, ranker=m) for m in (mumbling, broken)]
    late = await compose(w, budget_tokens=BUDGET, ranker=Hanging(), settings=replace(DEFAULT, model_ms=1))
    replayed = await context.replay(
        database,
        late.id,
        library=w.library,
        reader=world.reader(),
        ranker=Keen(),
        settings=replace(DEFAULT, model_ms=1),
    )

    assert [m.report.events for m in said] == [("filter_failed Unreadable",), ("filter_failed RuntimeError",)]
    assert all(not [d for d in m.report.dropped if "judged" in d.reason] for m in said)
    assert CANARY not in said[1].report.text
    assert late.report.events == ("filter_failed TimeoutError", "ranker_failed TimeoutError")
    assert (steps(late)["filter"]["timed_out"], steps(late)["rank"]["timed_out"]) == (True, True)
    assert late.text == plain.text
    assert replayed is not None
    assert replayed.same


async def test_a_model_or_reranker_that_orders_nothing_leaves_the_document_of_the_scores_to_the_byte(
    database: store.Database,
):
    w = await many(database)

    class Mumbling(Keen):
        async def ask(self, prompt: str, *, seed: int) -> str:
            return "I cannot help with that."

    class Broken(Scores):
        async def score(self, question: str, texts: Sequence[str]) -> Sequence[float]:
            raise ConnectionError

    thousands = replace(DEFAULT, fetch_all=5, filter=10)
    for budget in (150, 600, 2_000):
        plain = await compose(w, budget_tokens=budget, settings=thousands)
        mumbled = await compose(w, budget_tokens=budget, settings=thousands, ranker=Mumbling())
        broken = await compose(w, budget_tokens=budget, settings=thousands, ranker=Broken(""))

        assert mumbled.report.events == ("ranker_failed Unreadable",)
        assert broken.report.events == ("ranker_failed ConnectionError",)
        assert mumbled.text == broken.text == plain.text
        assert mumbled.report.ranking == plain.report.ranking


async def test_where_everything_fits_or_little_is_in_scope_no_model_is_asked(database: store.Database):
    w, model = await many(database), Keen()
    few = Scope(globs=("memos/alder/m1*",))

    fits = await compose(w, ranker=model)
    scores = Scores("no. 9 ")
    also = await compose(w, ranker=scores)
    asked = list(model.prompts)
    little = await compose(w, scope=few, budget_tokens=BUDGET, ranker=model)

    assert asked == scores.sizes == []
    assert [s["way"] for s in steps(fits).values()] == ["not needed: everything fits"] * 2
    assert [s["way"] for s in steps(also).values()] == ["not needed: everything fits"]
    assert len(fits.items) == 61
    assert steps(little)["filter"]["way"] == "not needed: at most 40 items in scope"
    assert (model.asked_to_filter, len(model.prompts)) == ([], rank.VIEWS)


async def test_thousands_are_not_filtered_and_at_most_so_many_sections_are_ranked(database: store.Database):
    w, model, scores = await many(database), Keen(), Scores("no. 9 ")
    routes = replace(DEFAULT, fetch_all=10, filter=50, rerank=20)

    chat = await compose(w, budget_tokens=BUDGET, ranker=model, settings=routes)
    reranked = await compose(w, budget_tokens=BUDGET, ranker=Scores("no. 9 "))
    capped = await compose(w, budget_tokens=BUDGET, ranker=scores, settings=routes)

    assert steps(chat)["filter"]["way"] == "not asked: more than 50 items in scope"
    assert model.asked_to_filter == []
    assert scores.sizes == [20]
    assert re.fullmatch(r"20 of \d+ sections by scores:1", steps(capped)["rank"]["way"])
    assert steps(capped)["rank"]["capped"]
    assert reranked.report.ranking[0].section == "Memo#m9"


async def test_pinned_records_stay_whatever_a_model_says(database: store.Database):
    w, model = await many(database), Keen("[]")
    pinning = Scope(globs=("**",), static_ids=("Memo#m4",))

    made = await compose(w, scope=pinning, budget_tokens=BUDGET, ranker=model)

    assert [r.section for r in made.report.ranking] == ["Memo#m4"]
    assert "Memo no. 4\n" not in model.asked_to_filter[0]


async def test_nothing_hidden_reaches_a_prompt_or_moves_what_a_model_is_asked(database: store.Database):
    w = await many(database)
    await w.write(*world.memo("a2", "alder", "The gate."), *world.memo("a3", "alder", "x", readers=["group:managers"]))
    await w.write(world.firm("cedar", "ben@x.example", name="Cedar"))
    await w.follow()
    first = Keen()
    before = await compose(w, budget_tokens=BUDGET, ranker=first)
    for make in HIDDEN.values():
        await w.write(*make(1))
    await w.follow()
    second, manager = Keen(), Keen()

    after = await compose(w, budget_tokens=BUDGET, ranker=second)
    await compose(w, MIRA, budget_tokens=BUDGET, ranker=manager)

    assert first.asked_to_filter
    assert second.prompts == first.prompts
    assert CANARY not in "".join(second.prompts)
    assert (after.text, after.report.ranking, after.report.dropped) == (
        before.text,
        before.report.ranking,
        before.report.dropped,
    )
    assert CANARY in "".join(manager.prompts)
