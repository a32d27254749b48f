"""`ukai gate replay`: strangers' deltas under a stranger's schema, on an empty database that is thrown away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app import build
from tests.gate.tau_retail import driver, shop
from tests.gate.tau_retail.conftest import Open, fresh, loaded  # noqa: F401
from ukai import gate
from ukai.app import propose, replay
from ukai.gate.author import Author

Line = dict[str, Any]


@pytest.fixture(autouse=True)
def _database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)


def line(id: str, *ops: build.Op, key: str = "", **more: Any) -> Line:
    return {"id": id, "author": build.ANN, "delta": build.delta(*ops, key=key), **more}


def run(folder: Path, *lines: Line | str, dry_run: bool = False, domain: str = build.DOMAIN) -> replay.Report:
    (folder / "domain.yaml").write_text(domain)
    text = "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in lines)
    (folder / "deltas.jsonl").write_text(text)
    return replay.replay(folder, schema=folder / "domain.yaml", deltas=folder / "deltas.jsonl", dry_run=dry_run)


def test_lines_follow_one_another_and_are_held_against_what_they_expect(tmp_path: Path):
    report = run(
        tmp_path,
        line("made", build.pull(1), expect="committed"),
        line("moved", build.change(1, to_state="ready"), expect="committed", author="agent:reviewer"),
        line("again", build.pull(1), expect="rejected", codes=["unique_violation"]),
        line("wrong", build.pull(2, cost="x"), expect="committed"),
        line("other", build.pull(3, cost="x"), expect="rejected", codes=["enum_mismatch"]),
        line("open", build.pull(4, cost="x")),
    )

    found = report.as_json()
    assert {k: found[k] for k in ("lines", "committed", "rejected", "unreadable", "differ")} == {
        "lines": 6,
        "committed": 2,
        "rejected": 4,
        "unreadable": 0,
        "differ": ["wrong", "other"],
    }
    assert found["codes"] == {"type_mismatch": 3, "unique_violation": 1}
    assert found["results"][1]["nodes"]
    assert found["results"][3]["findings"][0]["where"] == "/ops/0/set/cost"
    assert report.failed
    assert "wrong: rejected type_mismatch (expected committed)" in report.text()


def test_each_replay_begins_with_nothing(tmp_path: Path):
    first, second = [run(tmp_path, line("a", build.pull(1), expect="committed")) for _ in range(2)]

    assert (first.failed, second.failed) == (False, False)


def test_a_dry_run_keeps_nothing_for_the_next_line(tmp_path: Path):
    report = run(tmp_path, line("a", build.pull(1)), line("b", build.change(1, title="x")), dry_run=True)

    assert [(r.status, r.codes) for r in report.results] == [("committed", ()), ("rejected", ("unknown_id",))]
    assert "would_change" in report.as_json()["results"][0]


def test_contract_context_and_author_come_with_the_line(tmp_path: Path):
    contract = {"produces": {"deltas": [{"kind": "update_node", "required_fields": ["classification"]}]}}
    op = {"kind": "update_node", "target": {"context_ref": "it"}, "set": {"classification": "feature"}}
    author = {"kind": "workflow", "id": "classify", "run": "r", "step": "s"}

    report = run(
        tmp_path,
        line("a", build.pull(1)),
        line("b", {**op, "set": {"title": "x"}}, contract=contract, context={"it": "PullRequest#api:1"}, author=author),
        line("c", op, contract=contract, context={"it": "PullRequest#api:1"}, author=author),
    )

    assert [(r.status, r.codes) for r in report.results] == [
        ("committed", ()),
        ("rejected", ("contract_incomplete",)),
        ("committed", ()),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "{",
        "[]",
        '{"id": "x"}',
        '{"id": "x", "author": "a", "delta": {}, "expects": "committed"}',
        '{"id": "x", "author": "a", "delta": {}, "expect": "maybe"}',
        '{"id": "x", "author": "a", "delta": {"ops": [], "ops": []}}',
        '{"id": "x", "author": "a", "delta": {}, "context": {"it": "hello"}}',
        '{"id": "x", "author": "a", "delta": {}, "contract": {"produce": {}}}',
        '{"id": "x", "author": {"kind": "ghost", "id": "a"}, "delta": {}}',
    ],
)
def test_a_line_that_cannot_be_read_is_told_and_the_others_go_on(tmp_path: Path, entry: str):
    report = run(tmp_path, entry, line("fine", build.pull(1)))

    assert [r.status for r in report.results] == ["unreadable", "committed"]
    assert report.as_json()["differ"] == ["line 1"]
    assert report.results[0].body["findings"]


def test_a_delta_may_be_anything_at_all(tmp_path: Path):
    deltas: list[Any] = [None, 7, "prose", [], {}, {"ops": [{}]}, '{"ops": [], "ops": []}']

    report = run(tmp_path, *({"id": n, "author": "a", "delta": d, "expect": "rejected"} for n, d in enumerate(deltas)))

    assert not report.failed


def test_a_schema_with_an_error_is_told_and_nothing_is_replayed(tmp_path: Path):
    report = run(tmp_path, line("a", build.pull(1)), domain=build.DOMAIN.replace("kind: date", "kind: dat"))

    assert (report.failed, report.results) == (True, ())
    assert report.findings[0].where.startswith("domain.yaml:")


def test_a_file_that_is_not_there_is_said(tmp_path: Path):
    with pytest.raises(propose.Unreadable):
        replay.replay(tmp_path, schema=tmp_path / "a", deltas=tmp_path / "b")


def test_without_workspace_and_variable_it_brings_its_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("UKAI_DATABASE_URL")

    assert not run(tmp_path, line("a", build.pull(1), expect="committed")).failed


async def test_the_shop_s_writes_come_out_as_they_did_when_they_were_proposed(
    tmp_path: Path,
    fresh: Open,  # noqa: F811
):
    """Loading deltas and the first tasks of tau-retail, recorded while they are proposed, then replayed."""
    intake = f"{shop.INTAKE.kind}:{shop.INTAKE.id}"
    lines: list[Line] = [
        {"id": f"load-{n}", "author": intake, "delta": d, "expect": "committed"} for n, d in enumerate(shop.deltas())
    ]
    async with fresh() as db:
        for task, calls in list(shop.tasks().items())[:40]:
            for call in calls:
                made = await driver.propose(db, call["name"], call["arguments"], key=f"{task}:{call['action_id']}")
                author = Author(kind="agent", id="clerk", run=task, step=call["action_id"])
                outcome = await gate.submit(
                    db, made.delta, author=author, rights=gate.ALL, clock=shop.CLOCK, contract=made.contract
                )
                refused = isinstance(outcome, gate.Rejected)
                entry = {"id": f"{task}/{call['action_id']}", "author": author.as_json(), "delta": made.delta}
                entry |= {"contract": driver.contract_of(made.delta["ops"])}
                entry |= {"expect": "rejected" if refused else "committed"}
                lines.append(entry | ({"codes": [r.code for r in outcome.rejections]} if refused else {}))
    domain = (Path(shop.__file__).parent / "domain.yaml").read_text(encoding="utf-8")

    report = await _in_thread(tmp_path, lines, domain)

    assert report.as_json()["differ"] == []
    assert len(report.results) > 50


async def _in_thread(folder: Path, lines: list[Line], domain: str) -> replay.Report:
    import asyncio

    return await asyncio.to_thread(run, folder, *lines, domain=domain)
