"""Saved runs weighed by what their cases require (C43, P8.7)."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from tests.app import test_ask
from ukai.app import checks, engine
from ukai.kit import document

root, opened = test_ask.root, test_ask.opened
CASE = {"id": "q-1", "ask": "How is Alder?", "requires": {"items": ["Firm#alder/note", "Firm#zinc"]}}


async def test_a_run_is_weighed_by_what_its_case_requires_and_what_its_document_held(
    opened: engine.Engine, monkeypatch: pytest.MonkeyPatch
):
    doc, _ = document.read(json.dumps([CASE]).encode(), name="evals/q.yaml")
    documents = {**opened.catalog.documents, "evals/q.yaml": doc}
    loaded = replace(opened.loaded, catalog=replace(opened.catalog, documents=documents))  # type: ignore[arg-type]
    monkeypatch.setattr(engine, "opened", lambda _: nullcontext(replace(opened, loaded=loaded)))
    outcome, _, _ = await test_ask.asked(opened, ["Well. [Firm#alder]"], agent="desk", case_id="q-1", rep=1)

    async def weighed() -> dict[str, Any]:
        wanted = checks.wanted(since=None, until=None, ids=(outcome.run.run_id,))
        return (await checks.weighed(opened.root, "recall", wanted, principal=None))["scores"][0]

    score = await weighed()
    async with opened.db.transaction() as tx:
        await tx.execute("delete from composition")
    without = await weighed()

    (composition,) = outcome.run.compositions
    assert [(f["kind"], f["words"], f["looked"][0]["key"]) for f in score["flags"]] == [
        ("missing", "Firm#zinc", f"composition {composition}")
    ]
    assert score["counts"]["recall"] == 0.5
    assert without["unable"] == "the run has no composition here"
