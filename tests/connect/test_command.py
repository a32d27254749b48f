"""`ukai ingest` and `ukai quarantine`: one document on stdout, exit codes, and who may (design §4)."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.connect import world
from ukai import store
from ukai.app import engine, following
from ukai.surfaces import cli

POLICIES = """
policies:
  - {id: pulls, allow: impersonate, to: [ann@example.com]}
  - {id: crm, allow: write, records: {types: [Account]}, fields: ["*"], to: ["service:crm"]}
"""


@pytest.fixture
async def root(database: store.Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    await world.upload(database)
    for folder in ("domains", "connectors", "access"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ukai.yaml").write_text("company: acme\nlocal_principal: ann@example.com\n")
    (tmp_path / "domains/crm.yaml").write_bytes(world.DOMAIN)
    (tmp_path / "access/policies.yaml").write_text(POLICIES)
    (tmp_path / "connectors/crm.yaml").write_text(json.dumps(world.BASE))
    world.write(tmp_path, "id,name\n1,A\n2,\n3,C,x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    return tmp_path


def said(*arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(cli.app, [*arguments, "--json"])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout) if done.stdout.strip() else None


def test_a_row_on_its_way_through_the_quarantine(root: Path):
    (planned,) = said("ingest", "crm", "--dry-run", code=1)["pulls"]
    assert planned["counts"] == {"read": 3, "valid": 1, "refused": 2, "nodes_created": 1}
    assert (
        "1 valid, 2 refused, 1 nodes to create (dry run)"
        in CliRunner().invoke(cli.app, ["ingest", "crm", "--dry-run"]).output
    )
    (report,) = said("ingest", "crm", code=1)["pulls"]
    assert (report["status"], report["counts"]["written"], report["counts"]["refused"]) == ("done", 1, 2)

    listed = said("quarantine", "list", "--connector", "crm")
    assert {(w["code"], w["rows"]) for w in listed["waiting"]} == {("null_not_allowed", 1), ("ragged_row", 1)}
    by_code = {r["codes"][0]: r["id"] for r in listed["rows"]}
    shown = said("quarantine", "show", by_code["ragged_row"])
    assert (json.loads(shown["source"]), shown["place"], shown["is_raw"]) == ("3,C,x\n", "a.csv:4", True)

    assert said("quarantine", "retry", "--all", code=1) == {
        "tried": 2,
        "written": 0,
        "left": 2,
        "unreadable": 1,
        "findings": [],
    }
    changed = world.BASE | {"map": {"key": "row.id", "set": {"name": "coalesce(row.name, 'nameless')"}}}
    (root / "connectors/crm.yaml").write_text(json.dumps(changed))
    assert said("quarantine", "retry", by_code["null_not_allowed"], "--no-embed")["written"] == 1
    assert said("quarantine", "drop", by_code["ragged_row"]) == {"dropped": 1}
    assert said("quarantine", "list") == {"rows": [], "waiting": []}


def test_rows_that_others_point_at_are_tried_again_before_those(root: Path):
    people = {"connector": "people", "source": {"kind": "csv", "files": "people.txt"}, "map": {"key": "row.name"}}
    people["into"] = {"domain": "crm", "node_type": "Person"}
    edges = [{"edge": "owned_by", "to": {"node_type": "Person", "match": {"name": "row.owner"}}}]
    connectors = {"crm": world.BASE | {"edges": edges}, "people": people}
    mended = {**connectors, "people": people | {"map": {"key": "coalesce(row.name, 'Kim')"}}}
    writes = POLICIES.replace("[Account]", "[Account, Person]").replace(
        '"service:crm"', '"service:crm", "service:people"'
    )
    (root / "access/policies.yaml").write_text(writes)
    world.write(root, "id,name,owner\n1,A,Kim\n")
    world.write(root, "name,mail\n,kim@example.com\n", name="people.txt")

    for files in (connectors, mended):
        for name, file in files.items():
            (root / f"connectors/{name}.yaml").write_text(json.dumps(file))
        if files is connectors:
            assert [p["counts"]["refused"] for p in said("ingest", "--all", code=1)["pulls"]] == [1, 1]

    assert said("quarantine", "retry", "--all", "--no-embed")["written"] == 2


def test_all_connectors_and_what_keeps_one_from_running(root: Path):
    (root / "connectors/broken.yaml").write_text(json.dumps(world.BASE | {"connector": "broken", "cursr": "x"}))

    done = said("ingest", "--all", code=1)

    assert [p["connector"] for p in done["pulls"]] == ["crm"]
    assert [f["code"] for f in done["findings"]] == ["unknown_key"]


def test_all_come_in_the_order_of_their_edges(root: Path):
    people = {"source": {"kind": "csv", "files": "b.csv"}, "into": {"domain": "crm", "node_type": "Person"}}
    owned: dict[str, Any] = {"source": {"kind": "csv", "files": "a.csv"}}
    owned |= {"edges": [{"edge": "owned_by", "to": {"node_type": "Person", "match": {"name": "row.name"}}}]}
    more = POLICIES.replace("[Account]", "['*']").replace('["service:crm"]', '["service:crm", "service:people"]')
    (root / "access/policies.yaml").write_text(more)
    (root / "connectors/people.yaml").write_text(
        json.dumps(world.BASE | people | {"connector": "people", "map": {"key": "row.name"}})
    )
    (root / "connectors/crm.yaml").write_text(json.dumps(world.BASE | owned))
    world.write(root, "id,name\n1,A\n")
    world.write(root, "name\nA\n", "b.csv")

    pulls = said("ingest", "--all", "--full")["pulls"]

    assert [(p["connector"], p["counts"]["refused"]) for p in pulls] == [("people", 0), ("crm", 0)]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("ingest",), 2, "name connectors, or say --all"),
        (("ingest", "crm", "--all"), 2, "name connectors, or say --all"),
        (("ingest", "cmr"), 1, "Did you mean 'crm'?"),
        (("quarantine", "retry"), 2, "name rows, a connector"),
        (("quarantine", "show", "01990000-0000-7000-8000-000000000000"), 1, "no row in quarantine"),
    ],
)
@pytest.mark.usefixtures("root")
def test_wrong_use_is_told(arguments: tuple[str, ...], code: int, told: str, capsys: pytest.CaptureFixture[str]):
    from ukai.surfaces.cli import output

    def run() -> None:
        cli.app(list(arguments), standalone_mode=False) if code == 1 else cli.app(list(arguments))

    assert output.guarded(run) == code
    assert told in " ".join(capsys.readouterr().err.split())


def test_whoever_may_not_act_as_the_connector_sees_nothing(root: Path):
    said("ingest", "crm", code=1)
    (root / "access/policies.yaml").write_text(POLICIES.replace("allow: impersonate", "deny: impersonate"))

    for arguments in (("ingest", "crm"), ("quarantine", "list"), ("quarantine", "retry", "--all")):
        done = CliRunner().invoke(cli.app, list(arguments))
        assert "may not act as service:crm" in str(done.exception)
        assert "A" not in done.stdout


def test_a_connector_without_a_policy_says_which_one_it_needs(root: Path):
    (root / "access/policies.yaml").write_text(POLICIES.replace('fields: ["*"]', "fields: [id]"))

    done = CliRunner().invoke(cli.app, ["ingest", "crm"])

    assert "service:crm may not write name of Account" in str(done.exception)
    assert "{id: crm-writes, allow: write" in str(done.exception)


def test_ingest_ends_by_embedding_what_came_in_or_leaves_it_to_a_server(root: Path, monkeypatch: pytest.MonkeyPatch):
    caught: list[Path] = []

    @asynccontextmanager
    async def opening(path: Path) -> AsyncGenerator[Any]:
        caught.append(path)

        class Opened:
            async def catch_up_alone(self, progress: engine.Progress) -> bool:
                progress("embedding passages: 1")
                return False

        yield Opened()

    monkeypatch.setattr(engine, "opened", opening)

    def ran(*words: str) -> Any:
        return CliRunner().invoke(cli.app, ["ingest", *words, "--json"])

    done = ran("crm")
    assert json.loads(done.stdout)["pulls"][0]["counts"]["written"] == 1  # nothing else is on stdout
    assert following.ELSEWHERE in done.stderr
    assert len(caught) == 1
    for words in (("crm", "--no-embed"), ("crm", "--dry-run"), ("--planned",)):
        ran(*words)
    assert len(caught) == 1
    ran("--due")
    assert len(caught) == 2
    said("quarantine", "retry", "--all", code=1)  # nothing came in
    assert len(caught) == 2
    changed = world.BASE | {"map": {"key": "row.id", "set": {"name": "coalesce(row.name, 'nameless')"}}}
    (root / "connectors/crm.yaml").write_text(json.dumps(changed))
    assert said("quarantine", "retry", "--all", code=1)["written"] == 1
    assert len(caught) == 3
    assert said("ingest", "--waiting") == {"said": following.ELSEWHERE}
    assert len(caught) == 4
