"""One delta through the desk: what goes in, and the three forms of what comes out (W3, W4, W11)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.app import build
from ukai import store
from ukai.app import propose

WRONG = """\
ops:
  - kind: create_node
    ref: $pr
    node_type: PullRequest
    set: {number: 42, repo: api, titel: Retry, classification: Small_Fix}
"""


async def test_a_yaml_file_is_told_its_problems_line_by_line(database: store.Database):
    desk = await build.opened(database)
    given, findings = propose.read(WRONG.encode(), name="change.yaml")
    assert given is not None
    assert findings == []

    outcome = await propose.submit(desk, given)

    assert [line.partition(" | ")[0] for line in outcome.text().splitlines()] == snapshot(
        [
            "rejected: 2 problems, nothing was written",
            "change.yaml:5:34 /ops/0/set/titel: error [unknown_field] "
            "PullRequest has no field 'titel'; it lacks 'title'",
            "change.yaml:5:64 /ops/0/set/classification: error [enum_mismatch] "
            "'Small_Fix' is not a value of PullRequest.classification",
        ]
    )
    assert outcome.text().endswith("fix: set 'classification' to 'small fix'")
    assert (outcome.is_refused, outcome.status) == (True, 422)
    assert outcome.as_json()["attempt"] == 1


async def test_json_text_goes_to_the_gate_as_it_is(database: store.Database):
    desk = await build.opened(database)
    twice = b'{"ops": [], "ops": []}'
    given, findings = propose.read(twice, name="change.json")

    outcome = await propose.submit(desk, given or propose.Given(value=None))

    assert findings == []
    assert [e["code"] for e in outcome.problem()["errors"]] == ["malformed_delta"]
    assert "twice" in outcome.text()


def test_a_file_that_is_neither_is_findings():
    given, findings = propose.read(b"ops: [\n", name="change.yaml")

    assert given is None
    assert findings[0].where.startswith("change.yaml:")


async def test_what_was_committed_is_told_by_handle(database: store.Database):
    desk = await build.opened(database)
    given = propose.Given(value=build.delta(build.pull(1), key="k"))

    dry = await propose.submit(desk, given, dry_run=True)
    done = await propose.submit(desk, given)
    again = await propose.submit(desk, given)

    assert dry.text() == "valid: nothing was written (dry run)\n  would create PullRequest#api:1"
    assert done.text().splitlines()[1] == "  $pr  PullRequest#api:1  version 1"
    assert again.text() == done.text().replace("committed:", "committed before:")


async def test_a_key_beside_the_delta_is_its_key(database: store.Database):
    desk = await build.opened(database)
    given = propose.Given(value=json.dumps(build.delta(build.pull(1))).encode())

    first, second = [await propose.submit(desk, given, key="once") for _ in range(2)]
    inside = await propose.submit(desk, propose.Given(value=build.delta(build.pull(1), key="once")), key="once")

    assert [o.as_json()["replayed"] for o in (first, second, inside)] == [False, True, True]


async def test_two_keys_are_one_too_many(database: store.Database):
    desk = await build.opened(database)

    outcome = await propose.submit(desk, propose.Given(value=build.delta(build.pull(1), key="a")), key="b")

    assert (outcome.status, outcome.problem()["errors"][0]["pointer"]) == (400, "#/key")


async def test_the_rights_are_those_of_whoever_stands_there(database: store.Database):
    await build.opened(database)
    given = propose.Given(value=build.delta(build.pull(1)))

    outcome = await propose.submit(build.desk(database, build.BEN), given)

    assert outcome.status == 403
    assert outcome.as_json()["findings"][0]["code"] in ("forbidden_row", "forbidden_type", "forbidden_field")


async def test_a_contract_is_held_against_the_delta(database: store.Database):
    desk = await build.opened(database)
    contract = propose.read_contract(
        b"produces: {deltas: [{kind: create_node, node_type: PullRequest, required_fields: [classification]}]}",
        name="contract.yaml",
    )

    outcome = await propose.submit(desk, propose.Given(value=build.delta(build.pull(1))), contract=contract)

    assert outcome.as_json()["findings"][0]["code"] == "contract_incomplete"


def test_a_contract_with_an_error_names_its_line():
    with pytest.raises(propose.NotFit, match=r"contract\.yaml:1:1"):
        propose.read_contract(b"produce: {}\n", name="contract.yaml")


def test_a_context_is_handles_and_ids():
    assert propose.read_context(["a=T#k", "b=0190b1de-0000-7000-8000-000000000000"]).keys() == {"a", "b"}
    for wrong in ("a", "=T#k", "a=", "a=hello"):
        with pytest.raises(ValueError, match=r"no name=value|neither a handle"):
            propose.read_context([wrong])


async def test_the_same_key_at_once_has_one_effect(database: store.Database):
    desk = await build.opened(database)
    given = propose.Given(value=build.delta(build.pull(1), key="k"))

    outcomes = await asyncio.gather(*(propose.submit(desk, given) for _ in range(6)))

    answers = [o.as_json() for o in outcomes]
    done = {a["commit"] for a in answers if a["status"] == "committed"}
    waiting = [o for o in outcomes if o.is_refused]
    assert len(done) == 1
    assert all(o.retry_after_s == 1 and o.status in (409, 503) for o in waiting)


async def test_a_whole_run_from_a_file(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    root = build.workspace(tmp_path)
    async with store.connect(database_url) as db:
        await build.opened(db)

    done = await propose.run(root, None, json.dumps(build.delta(build.pull(1))).encode(), named=None)

    assert isinstance(done, propose.Outcome)
    assert not done.is_refused
