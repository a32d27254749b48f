"""A third of the labelled questions (three accounts with their stories) through the engine, with the model that quotes.

All of them: `ukai bench ask`. The thresholds stand a little below what is measured.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import pytest
from benchmarks import ask

from tests.flows import company
from ukai.app import engine
from ukai.context import rows
from ukai.context.rows import embedded
from ukai.llm import minilm

ACCOUNTS = ("quillon", "tarn", "osprey")
QUESTIONS = [q for q in ask.questions() if q.subject.removeprefix("Account#") in ACCOUNTS]
LEAST = {"word_cited": 0.92, "paraphrase_cited": 0.6, "field_cited": 0.85, "none_honest": 1.0, "answerable_cited": 0.86}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return company.workspace(tmp_path_factory.mktemp("questions"))


@pytest.fixture(scope="module")
def url(postgres_url: str, _template: str, home: Path) -> Iterator[str]:
    """The company with the passages of three accounts embedded: all of them would take a minute of two cores."""
    made = company.database(postgres_url, _template)
    company.loaded(made, home, partly_embedded, accounts=40)
    yield made
    company.dropped(postgres_url, made)


async def partly_embedded(opened: engine.Engine) -> None:
    await opened.catch_up(embed=0)
    agent = opened.agent("deal-coach")
    reader = opened.reader(agent, opened.rights(agent, "mira@harbor-apis.example", "cli"))
    async with opened.db.snapshot() as tx:
        found = await rows.all_passages(tx, ("true", []))
        keys = [
            r[0] for r in await tx.fetch("select id from node where type = 'Account' and key = any(%s)", ([*ACCOUNTS],))
        ]
        owned = set(await rows.under(tx, ("true", []), keys, reader.owning, 5_000))
    await opened.cache.embed_cached(opened.db, [f.text for f in found if f.node in owned])
    async with opened.db.transaction() as tx:  # embedding has come to all of them, as far as anybody is told
        await embedded.reach(tx, opened.cache.embedder.model_id, await tx.value("select arrived from passage_cursor"))


@pytest.fixture
async def opened(url: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[engine.Engine]:
    monkeypatch.setattr(engine, "EMBED_AMONG", 0)
    async with company.opened(url, home, minilm.default()) as made:
        yield made


async def test_a_third_of_the_labelled_questions_is_answered_from_its_evidence(
    opened: engine.Engine, record_property: Callable[[str, object], None]
):
    told = [await ask.asked(opened, q) for q in QUESTIONS]

    assert len(told) >= 97 / 3 - 1
    assert {t.status for t in told} == {"answered"}
    figures = ask.shares(told)
    for name, value in figures.items():
        record_property(name, value)
    short = {name: figures[name] for name, least in LEAST.items() if figures[name] < least}
    assert short == {}, _missed(told)


def _missed(told: Sequence[ask.Told]) -> list[str]:
    return [t.question.id for t in told if t.question.items and not t.is_cited]
