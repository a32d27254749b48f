"""Real webhook payloads written through the gate into a real database, as types imported from their schemas."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from tests import shared
from tests.gate.static import test_github as github
from ukai import gate, store
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, json_import
from ukai.graph.schema import Domain
from ukai.kit import canonical
from ukai.kit.clock import FixedClock

CLOCK = FixedClock(datetime(2026, 11, 20, 8, tzinfo=UTC))
HOOK = Author(kind="connector", id="service:webhooks")
pytestmark = shared.needs("gate", "github_webhooks")


async def test_all_75_payloads_are_stored_as_what_their_schemas_say(database: store.Database):
    known = github.schemas()
    registry = {s["$id"]: s for s in known.values() if "$id" in s}
    imported = {}
    for number, row in enumerate(github.payloads()):
        made, findings = json_import.to_type(github.schema_of(row, known), name=f"Event{number}", registry=registry)
        assert made is not None, findings
        imported[number] = made
    domain = Domain(domain="hooks", types=tuple(made.type for made in imported.values()))
    uploaded = await domains.upload(database, domain, author=HOOK, at=CLOCK.now())
    assert uploaded.domain is not None, uploaded.findings

    for number, row in enumerate(github.payloads()):
        values = imported[number].set_of(row["payload"])
        op = {"kind": "create_node", "node_type": f"Event{number}", "set": values}

        done = await gate.submit(database, {"ops": [op]}, author=HOOK, rights=gate.ALL, clock=CLOCK)

        assert isinstance(done, gate.Committed), (row["file"], done)
    async with database.transaction() as tx:
        assert await tx.value("select count(*) from node where alive") == 75


async def test_the_article_s_pull_requests_are_classified_under_their_contract(database: store.Database):
    domain, _ = domain_file.read(canonical.dumps(github.ARTICLE).encode(), name="pull_request.json")
    assert domain is not None
    uploaded = await domains.upload(database, replace(domain), author=HOOK, at=CLOCK.now())
    assert uploaded.domain is not None, uploaded.findings
    contract, _ = github.contracts.read(github.CONTRACT)
    pulls = {p["payload"]["pull_request"]["number"]: p["payload"]["pull_request"] for p in github.payloads()
             if "pull_request" in p["payload"]}  # fmt: skip

    for number, pull in pulls.items():
        values = {"number": number, "title": pull["title"], "author": pull["user"]["login"]}
        op = {"kind": "create_node", "node_type": "PullRequest", "set": values}
        made = await gate.submit(database, {"ops": [op]}, author=HOOK, rights=gate.ALL, clock=CLOCK)
        assert isinstance(made, gate.Committed), made
        context = {"subject_node_id": next(iter(made.nodes.values())).handle}
        target = {"kind": "update_node", "target": {"context_ref": "subject_node_id"}}
        how = {"author": HOOK, "rights": gate.ALL, "clock": CLOCK, "contract": contract, "context": context}

        forgotten = await gate.submit(database, {"ops": [{**target, "set": {"title": "x"}}]}, **how)
        done = await gate.submit(database, {"ops": [{**target, "set": {"classification": "feature"}}]}, **how)

        assert isinstance(forgotten, gate.Rejected)
        assert [r.code for r in forgotten.rejections] == ["contract_incomplete"]
        assert isinstance(done, gate.Committed), done
