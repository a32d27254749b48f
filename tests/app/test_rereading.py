"""The report of a composition is read under the rights of today: who lost some gets less, and never more (P3.3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_ask import ANN, BEN, FILES, FIRM, INTAKE, NOW, asked
from tests.context.world import Hashed
from ukai import gate, store
from ukai.app import context, engine
from ukai.app.context import NoSuchComposition
from ukai.gate import domains
from ukai.kit.clock import FixedClock
from ukai.llm.cache import Cache

USE = '  - {id: use, allow: invoke, agents: ["*"], to: ["group:sellers"]}\n'
READ = '  - {id: all, allow: read, records: {types: [Firm]}, to: ["group:sellers"]}\n'
NO_ALDER = '  - {id: not-alder, deny: read, records: {types: [Firm]}, where: {key: alder}, to: ["group:sellers"]}\n'
NO_NAMES = READ.replace("to:", "fields: [key, note], to:")
AUDIT = f"  - {{id: audits, allow: audit, to: [{BEN}]}}\n"


@asynccontextmanager
async def under(root: Path, policies: str) -> AsyncIterator[engine.Engine]:
    files = FILES | {"access/policies.yaml": f"policies:\n{policies}"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    async with engine.opened(root, clock=FixedClock(NOW), environ={}) as made:
        assert [f for f in made.loaded.findings if f.severity == "error"] == []
        yield replace(made, cache=Cache(Hashed()))


@pytest.fixture
async def composed(database: store.Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two firms in a document that Ann could read whole."""
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    async with under(tmp_path, USE + READ + AUDIT) as opened:
        for domain in opened.catalog.domains.values():
            await domains.upload(opened.db, domain, author=INTAKE, at=NOW)
        firms = [FIRM, FIRM | {"key": "birch", "name": "Birch"}]
        ops = [{"kind": "create_node", "ref": f"$f{n}", "node_type": "Firm", "set": f} for n, f in enumerate(firms)]
        done = await gate.submit(opened.db, {"ops": ops}, author=INTAKE, rights=gate.ALL, clock=opened.clock)
        assert isinstance(done, gate.Committed), done
        outcome, _, _ = await asked(opened, ["Well."], question="What do Alder and Birch wait for?", agent="desk")
        (id,) = outcome.run.compositions
    return id


async def report(root: Path, policies: str, id: str, who: str = ANN) -> dict[str, Any]:
    async with under(root, policies) as opened:
        return (await context.explained(opened, id, None, principal=who, surface="web"))["report"]


async def test_with_the_same_rights_it_says_the_same(composed: str, tmp_path: Path):
    mine = await report(tmp_path, USE + READ + AUDIT, composed)
    all_of_it = await report(tmp_path, USE + READ + AUDIT, composed, BEN)

    assert all_of_it.pop("ms") is not None
    assert all(step.pop("ms") is not None for step in all_of_it["graph"]), "times are for auditors alone"
    assert mine | {"ranking": [r.pop("title") and r for r in deepcopy(mine["ranking"])]} == all_of_it, "ids, no names"
    assert {r["section"]: r["title"] for r in mine["ranking"]} == {"Firm#alder": "Alder", "Firm#birch": "Birch"}


async def test_a_record_that_may_not_be_read_any_more_stands_nowhere_in_it(composed: str, tmp_path: Path):
    mine = await report(tmp_path, USE + READ + NO_ALDER + AUDIT, composed)
    all_of_it = await report(tmp_path, USE + READ + NO_ALDER + AUDIT, composed, BEN)

    assert [(r["section"], r["reason"][:6]) for r in mine["ranking"]] == [
        ("Firm#birch", f"rank {mine['ranking'][0]['rank']}")
    ]
    assert "alder" not in str(mine).casefold()
    assert "Firm#alder" in str(all_of_it), "whoever audits sees what was composed"


async def test_whoever_audits_is_told_what_the_report_says_of_a_record(composed: str, tmp_path: Path):
    """Without the right to use the agent, and without one of its reader's."""
    async with under(tmp_path, USE.replace("group:sellers", ANN) + READ + AUDIT) as opened:

        async def why(name: str, who: str = BEN) -> dict[str, Any]:
            return await context.explained(opened, composed, name, principal=who, surface="web")

        shown, own = await why("Firm#alder"), await why("Firm#alder", ANN)
        hidden, unheard = await why("Firm#cedar"), await why("nonsense")
        with pytest.raises(NoSuchComposition) as refused:
            await context.replayed(opened, composed, principal=BEN, surface="web")

    assert shown["shown"]
    assert shown == own
    assert hidden["why"] == unheard["why"]
    assert "its report says nothing of it" in hidden["why"][0]
    assert "audit" in str(refused.value.hint)


async def test_a_name_that_may_not_be_read_any_more_is_no_title(composed: str, tmp_path: Path):
    mine = await report(tmp_path, USE + NO_NAMES, composed)

    assert {r["section"] for r in mine["ranking"]} == {"Firm#alder", "Firm#birch"}
    assert "Alder" not in str(mine)


async def test_without_a_right_to_any_record_nothing_of_it_is_left(composed: str, tmp_path: Path):
    mine = await report(tmp_path, USE, composed)

    assert (mine["ranking"], mine["dropped"], mine["found"], mine["shown"]) == ([], [], {}, {})


async def test_without_the_right_to_use_the_agent_it_is_not_there(composed: str, tmp_path: Path):
    with pytest.raises(NoSuchComposition):
        await report(tmp_path, READ, composed)
