"""The verbs around the gate as a person meets them: words, exit codes, one JSON document (W3, W10)."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app import build
from tests.surfaces import world
from ukai.app import checks
from ukai.surfaces import cli
from ukai.surfaces.cli import output

DELTA = """\
ops:
  - {kind: create_node, ref: $pr, node_type: PullRequest, set: {number: 42, repo: api, title: Retry}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build.workspace(tmp_path / "acme")


@pytest.fixture
def ukai(root: Path, database_url: str):
    def run(*words: str, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ukai", *words],
            cwd=root,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "UKAI_DATABASE_URL": database_url},
        )
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout if code != 2 else done.stderr

    return run


@pytest.fixture
def here(root: Path, database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The same in this process: quicker, for what need not be seen from outside."""
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    monkeypatch.chdir(root)

    def run(*words: str, given: str = "", code: int = 0) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        found = output.guarded(lambda: cli.app(list(words)))
        said = capsys.readouterr()
        assert found == code, (words, found, said.out, said.err)
        return said.out if code != 2 else said.err

    return run


def test_from_a_schema_to_the_history_of_what_it_let_in(ukai, root: Path):
    (root / "pr.yaml").write_text(DELTA)

    assert ukai("schema", "check") == "1 files, 1 domains without an error\n"
    assert ukai("schema", "upload") == "review version 1\n"
    assert "files: same" in ukai("schema", "list")
    assert ukai("propose", "pr.yaml", "--dry-run").startswith("valid: nothing was written")
    assert "PullRequest#api:42  version 1" in ukai("propose", "pr.yaml")
    assert "create PullRequest#api:42  version 1  by ann@example.com (human)" in ukai("history", "PullRequest#api:42")
    assert "human:ann@example.com" in ukai("history", "--authors")
    assert "nothing" in ukai("history", "--search", "unheard")


def test_a_rejection_ends_with_one_and_says_how_to_repair_it(ukai, root: Path):
    ukai("schema", "upload")

    text = ukai("propose", "-", given=DELTA.replace("title", "titel"), code=1)
    document = json.loads(ukai("propose", "-", "--json", given=DELTA.replace("title", "titel"), code=1))
    broken = json.loads(ukai("propose", "-", "--json", given="ops: [", code=1))

    assert text.splitlines()[0] == "rejected: 1 problem, nothing was written"
    assert "stdin:2:88 /ops/0/set/titel" in text
    assert "rename 'titel' to 'title'" in text
    assert document["findings"][0]["fix_hint"]["patch"][0]["op"] == "move"
    assert broken["findings"][0]["where"].startswith("stdin:1:")


def test_json_is_one_document_everywhere(here, root: Path):
    (root / "schema.json").write_text('{"type": "object", "properties": {"a": {"type": "string"}}}')
    (root / "deltas.jsonl").write_text(json.dumps({"id": 1, "author": "x", "delta": build.delta(build.pull(1))}))
    here("schema", "upload")
    here("propose", "-", given=DELTA)
    replay = ("gate", "replay", "--schema", "domains/review.yaml", "--deltas", "deltas.jsonl")

    for words in (
        ("schema", "check"),
        ("schema", "list"),
        ("schema", "show", "review"),
        ("schema", "import", "schema.json", "--type", "A", "--domain", "a"),
        ("history", "PullRequest#api:42"),
        ("history", "PullRequest#api:42", "--as-of", "2999-01-01"),
        ("history", "--feed"),
        ("history", "--authors"),
        replay,
    ):
        json.loads(here(*words, "--json"))


def test_runs_are_listed_with_what_was_asked(here, root: Path):
    world.written(root, world.FILES)
    here("schema", "upload")
    nothing = here("run", "list")
    asked = json.loads(here("ask", "helper", "What waits\nfor a review?", "--json"))

    listed = here("run", "list")
    page = json.loads(here("run", "list", "--json"))

    assert nothing == "no runs\n"
    assert [(r["run_id"], r["question"]) for r in page["runs"]] == [(asked["run_id"], "What waits\nfor a review?")]
    assert listed.startswith(asked["run_id"])
    assert listed.endswith("ann@example.com  What waits for a review?\n")
    assert "What waits" in here("run", "show", asked["run_id"])


def test_gone_is_said_in_json_too(here):
    assert json.loads(here("history", "--feed", "--after", "x", "--json", code=1))["error"] == "gone"


def test_as_somebody_else_needs_a_right_on_a_shared_database(here, root: Path):
    here("schema", "upload")
    here("propose", "-", "--as", build.BEN, given=DELTA, code=1)
    (root / "ukai.yaml").write_text("local_principal: cy@example.com\n")

    text = here("propose", "-", "--as", build.BEN, given=DELTA, code=1)

    assert "forbidden" in text


@pytest.mark.parametrize(
    "words",
    [
        ("propose",),
        ("propose", "-", "--context", "nonsense"),
        ("history",),
        ("history", "A#b", "--feed"),
        ("history", "--as-of", "2026-01-01", "--feed"),
        ("history", "A#b", "--as-of", "yesterday"),
        ("gate", "replay"),
        ("schema", "show"),
    ],
)
def test_wrong_usage_ends_with_two(here, words: tuple[str, ...]):
    here(*words, code=2)


def test_what_is_not_there_ends_with_one(here, root: Path):
    for words in (
        ("propose", "no.yaml"),
        ("history", "PullRequest#no:1"),
        ("history", "--commit", "x"),
        ("schema", "show", "nothing"),
    ):
        here(*words, code=1)


def test_a_json_schema_becomes_a_file_that_is_fine(here, root: Path):
    (root / "schema.json").write_text(
        '{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "n": {"minimum": 0.5}}}'
    )

    here("schema", "import", "schema.json", "--type", "Order", "--domain", "shop", "--key", "id", "--out", "shop.yaml")

    assert here("schema", "check", "shop.yaml").endswith("1 files, 1 domains without an error\n")


def test_a_fault_of_ours_is_one_document_too(here, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a wire is loose")

    monkeypatch.setattr(checks, "listed", broken)
    monkeypatch.setattr("sys.argv", ["ukai", "checks", "list", "--json"])

    document = json.loads(here("checks", "list", "--json", code=3))

    assert [(f["code"], f["severity"]) for f in document["findings"]] == [("internal_error", "error")]
    assert "a wire is loose" in document["findings"][0]["message"]


def test_a_log_is_told_how_far_something_is_every_half_minute(capsys: pytest.CaptureFixture[str]):
    now = [0.0]
    show = output.live(quiet=False, seconds=lambda: now[0])
    for at in (1, 20, 31, 40, 62):
        now[0] = at
        show(f"embedding: {at} of 70")

    assert capsys.readouterr().err == "embedding ...\nembedding: 31 of 70 ...\nembedding: 62 of 70 ...\n"


def test_what_steers_a_terminal_does_so_nowhere(capsys: pytest.CaptureFixture[str]):
    evil = "a\x1b]0;owned\x07b\x9b2Jc\u202ed"

    def broken() -> None:
        raise RuntimeError(evil)

    output.guarded(broken, [])
    output.live(quiet=False)(f"{evil}: 3")
    output.emit({"text": evil}, as_json=True, text="")

    said = capsys.readouterr()
    assert all(sign not in said.out + said.err for sign in "\x1b\x07\x9b\u202e")
    assert json.loads(said.out) == {"text": evil}
