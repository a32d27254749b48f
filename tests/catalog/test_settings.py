"""ukai.yaml, models.yaml, CODEOWNERS and the build stamp (P1.9, P2.2)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.catalog import build
from ukai.app import affected, codeowners, loading
from ukai.app import build as builds
from ukai.catalog import git

PINNED = "run_as: 'service:n', baseline: b.json"
OWNERS = 'owners: {agents: {coach: "@sales"}, guardrails: "@managers", access: "@org/it", platform: "@platform"}\n'


@pytest.mark.parametrize(
    ("text", "code", "where", "hint"),
    [
        ("compny: x\n", "unknown_key", "1:1", "did you mean 'company'?"),
        ("retention: {runs: 400}\n", "wrong_type", "1:19", "write text"),
        ("retention: {runs: 1y}\n", "invalid_duration", "1:19", "write a whole number of days and d"),
        (
            "local_principal: Ann\n",
            "invalid_principal",
            "1:18",
            "write the mail address of whoever works at this machine",
        ),
        (
            "database: postgres\n",
            "invalid_value",
            "1:11",
            "put the address into an environment variable and its name here",
        ),
        ("owners: {access: it}\n", "invalid_owner", "1:18", "write the team with its @, in quotes"),
        ("indexes: {a: {type: T}}\n", "missing_key", "1:14", "add `text:`"),
        ("context: {thresholds: {filtr: 9}}\n", "unknown_key", "1:24", "did you mean 'filter'?"),
        ("context: {thresholds: {rerank: 0}}\n", "invalid_value", "1:32", "correct the value"),
        ("context: {thresholds: {filter: 30}}\n", "invalid_value", "1:23", "lower fetch_all, or raise filter"),
        ("context: {thresholds: {in_memory: 9000}}\n", "invalid_value", "1:23", "lower exact, or raise in_memory"),
        (
            "context: {thresholds: {strategy_cap: 3000}}\n",
            "invalid_value",
            "1:23",
            "lower strategy_cap, or raise composition_cap",
        ),
        ("context: {thresholds: {near: 301}}\n", "invalid_value", "1:23", "lower near, or raise strategy_cap"),
        (
            "context: {thresholds: {fetch_all: 700, composition_cap: 600}}\n",
            "invalid_value",
            "1:23",
            "lower fetch_all, or raise composition_cap",
        ),
        (f"context: {{recall: {{nightly: '3:00', {PINNED}}}}}\n", "invalid_value", "1:29", "correct the value"),
        (
            "context: {recall: {nightly: '03:00', run_as: 'service:n', baseline: ../b.json}}\n",
            "invalid_value",
            "1:69",
            "keep it in the workspace, so that an image holds it too",
        ),
        (
            f"context: {{recall: {{nightly: '03:00', timezone: Europe/Berln, {PINNED}}}}}\n",
            "unknown_timezone",
            "1:48",
            "did you mean 'Europe/Berlin'?",
        ),
        ("context: {recall: {nightly: '03:00', baseline: b.json}}\n", "missing_key", "1:19", "add run_as"),
        (
            "context: {recall: {nightly: '03:00', baseline: b.json, run_as: 'group:all'}}\n",
            "invalid_principal",
            "1:64",
            "name a service or a person",
        ),
    ],
)
def test_what_is_wrong_with_ukai_yaml_is_told(tmp_path: Path, text: str, code: str, where: str, hint: str):
    found = build.only(build.load(build.workspace(tmp_path, {"ukai.yaml": text})), code)

    assert (found.where, found.hint) == (f"ukai.yaml:{where}", hint)


RANKING = """
aliases: {"<small>": extractive, "<judge>": big}
models: {big: {use: "anthropic:NAME"}}
rerankers: {quick: {use: NAME, base_url: "https://api.example.com/v1", key: RERANK_API_KEY}}
"""


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"),
    [
        ("context: {ranker: quik}\n", "1:19", "no chat model and no reranker is named 'quik'", "did you mean 'quick'?"),
        (
            "context: {rankers: [score, quick, '<small>']}\n",
            "1:35",
            "'<small>' stands for extractive, which",
            "use one of: <judge>",
        ),
    ],
)
def test_a_ranker_that_models_yaml_does_not_hold_is_told(
    tmp_path: Path, text: str, where: str, message: str, hint: str
):
    files = {"ukai.yaml": text, "models.yaml": RANKING}

    found = build.only(build.load(build.workspace(tmp_path, files)), "unknown_ranker")

    assert (found.where, found.hint[: len(hint)]) == (f"ukai.yaml:{where}", hint)
    assert found.message.startswith(message)
    assert "<judge>, big, quick, score" in found.expected


def test_a_baseline_that_is_not_there_is_told_before_the_night(tmp_path: Path):
    text = f"context: {{recall: {{nightly: '03:00', {PINNED}}}}}\n"
    root = build.workspace(tmp_path, {"ukai.yaml": text})

    found = [f for f in loading.load(root).findings if f.code == "no_baseline"]
    (root / "b.json").write_text("{}")

    assert [(f.severity, f.where) for f in found] == [("warning", "ukai.yaml:1:69")]
    assert "no_baseline" not in [f.code for f in loading.load(root).findings]


def test_thresholds_and_rankers_are_data_of_the_deployment(tmp_path: Path):
    text = (
        "context: {ranker: quick, rankers: [big, quick, 'openai:NAME'], thresholds: {filter: 900, ann_sample: 0.5}}\n"
    )

    loaded = build.load(build.workspace(tmp_path, {"ukai.yaml": text, "models.yaml": RANKING}))

    context = loaded.catalog.settings.context
    assert loaded.findings == ()
    assert context.choice == ("score", "quick", "big", "openai:NAME")
    assert (context.thresholds.filter, context.thresholds.ann_sample) == (900, 0.5)
    assert context.thresholds.fetch_all == 40


def test_an_address_with_a_password_is_refused_and_not_repeated(tmp_path: Path):
    text = "database: postgres://ann:hunter2@db/x\n"

    found = build.only(build.load(build.workspace(tmp_path, {"ukai.yaml": text})), "secret_in_file")

    assert "hunter2" not in "".join(found.as_json().values())


def test_a_key_in_models_yaml_is_refused_and_not_repeated(tmp_path: Path):
    text = 'models: {big: {use: "anthropic:x", key: sk-ant-abcdefghijklmnop1234}}\n'

    found = build.only(build.load(build.workspace(tmp_path, {"models.yaml": text})), "secret_in_file")

    assert "abcdefgh" not in "".join(found.as_json().values())


def test_with_a_broken_models_yaml_no_model_s_name_is_said_to_be_unknown(tmp_path: Path):
    files = {"models.yaml": "aliases: [\n", "agents/coach/SKILL.md": build.agent("coach", "model: <big>")}

    loaded = build.load(build.workspace(tmp_path, files))

    assert [f.code for f in loaded.findings] == ["yaml_syntax"]
    assert loaded.blocking("coach")


def test_owners_name_agents_that_are_there(tmp_path: Path):
    files = {"ukai.yaml": OWNERS, "agents/coahc/SKILL.md": build.agent("coahc")}

    found = build.only(build.load(build.workspace(tmp_path, files)), "unknown_agent")

    assert (found.where, found.hint) == ("ukai.yaml:1:19", "did you mean 'coahc'?")


# Owners -------------------------------------------------------------------------------------------------------------


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "-q", "-b", "main")
    return folder


def commit(folder: Path) -> str:
    _git(folder, "add", "-A")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x", "--allow-empty")
    return _git(folder, "rev-parse", "HEAD").strip()


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_codeowners_names_the_four_owners_and_the_general_comes_first(tmp_path: Path):
    top = repository(tmp_path)
    files = {"ukai.yaml": OWNERS, "agents/coach/SKILL.md": build.agent(), "agents/desk/SKILL.md": build.agent("desk")}
    build.workspace(top / "company", files)

    found = codeowners.codeowners(top / "company")

    assert found.text.splitlines()[1:] == [
        "/company/              @platform",
        "/company/agents/coach/ @sales",
        "/company/guardrails/   @managers",
        "/company/access/       @org/it",
        "/company/ukai.yaml     @org/it",
    ]
    assert found.file == top / "CODEOWNERS"
    assert found.without_owner == ("desk",)
    assert found.is_current is False


def test_codeowners_is_current_once_written_and_no_longer_when_owners_change(tmp_path: Path):
    top = repository(tmp_path)
    build.workspace(top, {"ukai.yaml": OWNERS, ".github/CODEOWNERS": "old\n"})

    codeowners.write(codeowners.codeowners(top))

    assert codeowners.codeowners(top).is_current
    assert codeowners.codeowners(top).file == top / ".github" / "CODEOWNERS"
    (top / "ukai.yaml").write_text(OWNERS.replace("@managers", "@bosses"))
    assert not codeowners.codeowners(top).is_current


# Affected agents ----------------------------------------------------------------------------------------------------

FILES = {
    "agents/coach/SKILL.md": build.agent(
        "coach", "family: calm", "model: <medium-frontier-model>", "field_policy: commercial_only"
    ),
    "agents/coach/tools.py": "def find(q: str) -> str:\n    '''Finds.'''\n    return q\n",
    "agents/desk/SKILL.md": build.agent("desk", "tools: {exclude: [send_note]}"),
    "families/calm/FAMILY.md": build.agent("calm", body="Be calm.\n"),
    "guardrails/mild.md": build.guardrail("mild", "applies_to: [desk]", "model: <small-fast-model>"),
    "tools/notes.py": "def send_note(t: str) -> str:\n    '''Sends.'''\n    return t\n",
    "access/groups.yaml": "groups: {}\n",
    "docs/readme.md": "x\n",
}


@pytest.fixture
def monorepo(tmp_path: Path) -> Path:
    top = repository(tmp_path / "repo")
    build.workspace(top / "company", FILES)
    commit(top)
    return top / "company"


def reached(root: Path, since: str = "HEAD", until: str | None = None) -> dict[str, list[tuple[str, str]]]:
    report = affected.affected(root, since=since, until=until)
    return {f"{a.agent} {a.status}": [(r.path, r.because) for r in a.reasons] for a in report.agents}


@pytest.mark.parametrize(
    ("path", "agents"),
    [
        ("agents/coach/SKILL.md", {"coach": "its own directory"}),
        ("agents/coach/tools.py", {"coach": "its own directory"}),
        ("agents/coach/cases/new.yaml", {"coach": "its own directory"}),
        ("families/calm/FAMILY.md", {"coach": "its family calm"}),
        ("guardrails/mild.md", {"desk": "the guardrail mild applies to it"}),
        ("tools/notes.py", {"coach": "it may use a tool of this file"}),
        ("access/groups.yaml", {"coach": "access decides about it", "desk": "access decides about it"}),
        ("access/field_policies/commercial_only.yaml", {"coach": "access decides about it"}),
        ("docs/readme.md", {}),
    ],
)
def test_a_change_reaches_the_agents_that_consist_of_the_file(monorepo: Path, path: str, agents: dict[str, str]):
    file = monorepo / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "[]") + "\n# more\n")

    assert reached(monorepo) == {f"{a} changed": [(path, because)] for a, because in agents.items()}


def test_a_model_s_new_meaning_reaches_those_who_use_its_name(monorepo: Path):
    models = monorepo / "models.yaml"
    models.write_text(
        models.read_text().replace('"<small-fast-model>": extractive', '"<small-fast-model>": "openai:x"')
    )

    assert reached(monorepo) == {"desk changed": [("models.yaml", "<small-fast-model> was extractive, is openai:x")]}


def test_what_was_deleted_counts_by_what_it_used_to_be(monorepo: Path):
    (monorepo / "guardrails/mild.md").unlink()
    (monorepo / "agents/coach/tools.py").unlink()

    assert reached(monorepo) == {
        "coach changed": [("agents/coach/tools.py", "its own directory")],
        "desk changed": [("guardrails/mild.md", "the guardrail mild applies to it")],
    }


def test_a_renamed_agent_is_one_removed_and_one_added(monorepo: Path):
    (monorepo / "agents/desk").rename(monorepo / "agents/counter")
    manifest = monorepo / "agents/counter/SKILL.md"
    manifest.write_text(manifest.read_text().replace("name: desk", "name: counter"))
    after = commit(monorepo.parent)

    found = reached(monorepo, "HEAD~1", after)

    assert found["counter added"] == [("agents/counter/SKILL.md", "its own directory")]
    assert found["desk removed"] == [("agents/desk/SKILL.md", "its own directory")]


def test_two_revisions_are_compared_whatever_stands_in_the_folder(monorepo: Path):
    (monorepo / "families/calm/FAMILY.md").write_text(build.agent("calm", body="Be very calm.\n"))
    commit(monorepo.parent)
    (monorepo / "guardrails/mild.md").unlink()

    found = reached(monorepo, "HEAD~1", "HEAD")

    assert found == {"coach changed": [("families/calm/FAMILY.md", "its family calm")]}


@pytest.mark.parametrize("revision", ["nope", "--show-toplevel", "HEAD; rm -rf x", ""])
def test_a_revision_that_is_none_is_refused(monorepo: Path, revision: str):
    with pytest.raises(git.GitError, match="no revision is named"):
        reached(monorepo, revision)


def test_the_stamp_of_a_build_is_commit_and_tree(monorepo: Path):
    clean = builds.stamp(monorepo, {})
    (monorepo / "ukai.yaml").write_text("company: other\n")
    changed = builds.stamp(monorepo, {})

    assert clean is not None
    assert changed is not None
    assert (len(clean.commit), len(clean.tree), clean.dirty, changed.dirty) == (40, 40, False, True)
    assert clean.tree == _git(monorepo, "rev-parse", "HEAD:company").strip()


def test_the_stamp_of_an_image_comes_from_its_environment(tmp_path: Path):
    assert builds.stamp(tmp_path, {}) is None
    assert builds.stamp(tmp_path, {builds.COMMIT: "c", builds.TREE: "t"}) == builds.Build(
        commit="c", tree="t", dirty=False
    )


LOGIN = 'login:\n  issuer: "https://id.x.example"\n  audience: ukai\n  keys: keys.json\n'


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        (LOGIN + "  algorithms: [HS256]\n", "not_allowed", "5:16"),
        (LOGIN + "  algorithms: [none]\n", "not_allowed", "5:16"),
        (LOGIN.replace("https://id.x.example", "http://id.x.example"), "invalid_value", "2:11"),
        (LOGIN.replace("https://id.x.example", "https://a:b@id.x.example"), "invalid_value", "2:11"),
        (LOGIN.replace("keys.json", "../keys.json"), "invalid_value", "4:9"),
        (LOGIN.replace("keys.json", '"ftp://x/keys"'), "invalid_value", "4:9"),
        (LOGIN + "  page: {client_id: x, secret: hunter2-secret, sessions: KEY}\n", "secret_in_file", "5:32"),
        (LOGIN + "  page: {client_id: x, secret: A, sessions: B}\n", "missing_key", "5:9"),
        (LOGIN + '  proxy: {from: ["0.0.0.0/0"], header: X-Mail, secret: A}\n', "invalid_value", "5:18"),
        (LOGIN + "  proxy: {from: [], header: X-Mail, secret: A}\n", "invalid_value", "5:17"),
        (LOGIN + '  proxy: {from: ["10.0.0.7"], header: "X Mail", secret: A}\n', "invalid_value", "5:39"),
        ("login: {issuer: x}\n", "missing_key", "1:8"),
        ('serve: {url: "http://ukai.x.example"}\n', "invalid_value", "1:14"),
        ('serve: {url: "https://ukai.x.example/below"}\n', "invalid_value", "1:14"),
        ("serve: {turns: 0}\n", "invalid_value", "1:16"),
    ],
)
def test_what_is_wrong_with_how_it_is_served_is_told(tmp_path: Path, text: str, code: str, where: str):
    found = build.load(build.workspace(tmp_path, {"ukai.yaml": text})).findings

    assert (code, f"ukai.yaml:{where}") in {(f.code, f.where) for f in found}
    assert "hunter2" not in "".join(v for f in found for v in f.as_json().values())
