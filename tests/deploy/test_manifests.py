"""Manifests are made from the agents' own files, are what their targets take, and hold no secret (P2.1)."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from tests.connect import world as connecting
from tests.deploy import schemas
from ukai.app import deploy
from ukai.app.deploy import dockerfile
from ukai.app.deploy.value import MARK
from ukai.surfaces.cli import app

ROOT = Path(__file__).parents[2]
COMPANY = ROOT / "examples" / "harbor-apis"


def documents(text: str) -> list[Any]:
    return list(YAML(typ="safe").load_all(text))


def schema_of(target: str, document: Any) -> Any:
    if target == "kubernetes":
        return schemas.KUBERNETES[document["kind"]]
    return {"compose": schemas.COMPOSE, "astropods": schemas.ASTROPODS, "slack": schemas.SLACK}[target]


@pytest.mark.parametrize("target", deploy.TARGETS)
def test_every_manifest_is_what_its_target_takes(target: str):
    plan = deploy.plan(COMPANY, target)

    made = {name: text for name, text in plan.files.items() if "/deploy/" in name}
    assert made
    for name, text in made.items():
        assert text.startswith(MARK), name
        for document in documents(text):
            jsonschema.validate(document, schema_of(target, document))


def test_a_schema_refuses_what_its_target_would_refuse():
    document = documents(deploy.plan(COMPANY, "compose").files["examples/harbor-apis/deploy/compose.yaml"])[0]
    document["services"]["deal-coach"]["enviroment"] = {}

    with pytest.raises(jsonschema.ValidationError, match="enviroment"):
        jsonschema.validate(document, schemas.COMPOSE)


@pytest.mark.parametrize("target", deploy.TARGETS)
def test_the_manifests_of_the_sample_company_are_those_that_are_made_now(target: str):
    assert deploy.plan(COMPANY, target).stale == [], f"ukai up --target {target} --write -w examples/harbor-apis"


def test_each_agent_is_a_process_of_its_own_that_the_pointer_picks():
    plan = deploy.plan(COMPANY, "kubernetes")
    pods = {name: documents(text)[0]["spec"]["template"]["spec"] for name, text in plan.files.items() if "kube" in name}

    picked = {v["value"] for pod in pods.values() for v in pod["containers"][0]["env"] if v["name"] == "SKILL_NAME"}
    assert picked == set(plan.agents)
    assert len(pods) == len(picked)
    assert len({pod["containers"][0]["image"] for pod in pods.values()}) == 1, "one image"


def test_a_process_gets_a_turn_s_time_to_end():
    service = documents(deploy.plan(COMPANY, "compose").files["examples/harbor-apis/deploy/compose.yaml"])[0]

    assert service["services"]["deal-coach"]["stop_grace_period"] == "75s"


SETTINGS = """\
company: acme
local_principal: ann@example.com
login: {issuer: "https://id.example.com", audience: ukai, keys: "https://id.example.com/keys", \
page: {client_id: x, secret: OIDC_SECRET, sessions: SESSION_KEY}}
serve: {url: "https://ukai.example.com", drain_s: 20}
"""
SKILL = "---\nname: helper\ndescription: Helps.\nmodel: big\nchannels: [web]\n---\nHelp.\n"


def workspace(folder: Path) -> Path:
    for name, text in {
        "ukai.yaml": SETTINGS,
        "models.yaml": 'models: {big: {use: "anthropic:claude-x", key: BIG_KEY}}\n',
        "agents/helper/SKILL.md": SKILL,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_what_an_agent_needs_is_found_in_its_files_and_named_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BIG_KEY", "the-key-itself")

    plan = deploy.plan(workspace(tmp_path), "compose")

    service = documents(plan.files["deploy/compose.yaml"])[0]["services"]["helper"]
    assert sorted(service["environment"]) == [
        "BIG_KEY",
        "OIDC_SECRET",
        "SESSION_KEY",
        "SKILL_NAME",
        "UKAI_DATABASE_URL",
    ]
    assert service["environment"]["BIG_KEY"] == "${BIG_KEY:?set it in .env}"
    assert "the-key-itself" not in "".join(plan.files.values())
    assert [f.code for f in plan.findings] == []


RANKED = """
models: {big: {use: "anthropic:claude-x", key: BIG_KEY}}
rerankers: {quick: {use: m, base_url: "https://api.example.com/v1", key: RERANK_KEY}}
"""
NIGHTLY = """\
context:
  ranker: quick
  recall: {nightly: "03:30", timezone: Europe/Berlin, baseline: b.json, run_as: "service:nightly"}
"""


def test_what_runs_every_night_is_a_job_of_its_own_which_servers_leave_alone(tmp_path: Path):
    root = workspace(tmp_path)
    (root / "ukai.yaml").write_text(SETTINGS + NIGHTLY)
    (root / "models.yaml").write_text(RANKED)

    made = deploy.plan(root, "kubernetes").files
    one = deploy.plan(root, "kubernetes", agents=["helper"]).files
    compose = documents(deploy.plan(root, "compose").files["deploy/compose.yaml"])[0]

    job = documents(made["deploy/kubernetes/nightly-recall.yaml"])[0]
    jsonschema.validate(job, schemas.KUBERNETES["CronJob"])
    assert (job["spec"]["schedule"], job["spec"]["timeZone"]) == ("30 3 * * *", "Europe/Berlin")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["ukai", "context", "nightly", "--run", "--quiet"]
    assert [v["name"] for v in pod["containers"][0]["env"]] == ["UKAI_DATABASE_URL", "RERANK_KEY"]
    server = documents(made["deploy/kubernetes/helper.yaml"])[0]["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "UKAI_SCHEDULES", "value": "off"} in server["env"]
    assert "RERANK_KEY" in [v["name"] for v in server["env"]]
    assert "deploy/kubernetes/nightly-recall.yaml" not in one
    assert "UKAI_SCHEDULES" not in compose["services"]["helper"]["environment"]
    assert "RERANK_KEY" in compose["services"]["helper"]["environment"]


def test_connectors_with_a_schedule_are_pulled_by_a_job_of_their_own(tmp_path: Path):
    root = workspace(tmp_path)
    source = {"kind": "sql", "url": "CRM_URL", "table": "accounts"}
    often, daily = {"source": source, "schedule": "*/15 * * * *"}, {"connector": "lists", "schedule": "0 3 * * *"}
    for name, more in {"crm": often, "lists": daily, "other": {"connector": "other"}}.items():
        (root / "connectors").mkdir(exist_ok=True)
        (root / f"connectors/{name}.yaml").write_text(json.dumps(connecting.BASE | more))

    made = deploy.plan(root, "kubernetes").files

    job = documents(made["deploy/kubernetes/connectors.yaml"])[0]
    jsonschema.validate(job, schemas.KUBERNETES["CronJob"])
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert (job["spec"]["concurrencyPolicy"], job["spec"]["jobTemplate"]["spec"]["backoffLimit"]) == ("Forbid", 0)
    assert pod["containers"][0]["args"] == ["ukai", "ingest", "--due", "--quiet"]
    assert [v["name"] for v in pod["containers"][0]["env"]] == ["UKAI_DATABASE_URL", "CRM_URL"]
    server = documents(made["deploy/kubernetes/helper.yaml"])[0]["spec"]["template"]["spec"]["containers"][0]
    assert {"name": "UKAI_SCHEDULES", "value": "off"} in server["env"]


def test_a_workspace_without_a_dockerfile_gets_one_that_installs_the_product(tmp_path: Path):
    plan = deploy.plan(workspace(tmp_path), "compose")

    assert "ARG WORKSPACE=.\n" in plan.files["Dockerfile"]
    assert 'pip install --no-cache-dir "ukai[' in plan.files["Dockerfile"]


def up(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["up", "--json", *arguments])
    return result.exit_code, json.loads(result.stdout) if result.stdout.startswith("{") else result.output


def test_writing_twice_changes_nothing_and_a_check_in_ci_notices_a_change(tmp_path: Path):
    here = ("--target", "kubernetes", "--workspace", str(workspace(tmp_path)))

    first, again = up(*here, "--write"), up(*here, "--write")
    fine = up(*here, "--check")
    (tmp_path / "agents/helper/SKILL.md").write_text(SKILL.replace("[web]", "[web, slack]"))
    stale = up(*here, "--check")

    assert first[1]["written"] == ["deploy/kubernetes/helper.yaml", "Dockerfile", ".dockerignore"]
    assert again[1]["written"] == []
    assert (fine[0], stale[0]) == (0, 1)
    assert stale[1]["stale"] == ["deploy/kubernetes/helper.yaml"]


@pytest.mark.parametrize("how", [(), ("--check",), ("--write",)])
def test_a_target_for_which_no_agent_has_anything_says_so(tmp_path: Path, how: tuple[str, ...]):
    here = ("--target", "slack", "--workspace", str(workspace(tmp_path)), *how)

    code, document = up(*here)
    said = CliRunner().invoke(app, ["up", *here]).output

    assert (code, document["files"], document["written"]) == (0, {}, [])
    assert [f["code"] for f in document["findings"] if f["severity"] == "note"] == ["nothing_to_make"]
    assert "none of the agents has anything to make for slack" in said
    assert "as it should be" not in said


def test_nothing_is_written_over_that_somebody_else_made(tmp_path: Path):
    workspace(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/compose.yaml").write_text("services: {}\n")

    code, found = up("--target", "compose", "--workspace", str(tmp_path), "--write")

    assert (code, [f["code"] for f in found["findings"]]) == (1, ["not_ours"])
    assert (tmp_path / "deploy/compose.yaml").read_text() == "services: {}\n"


def test_an_agent_that_is_not_there_is_said_with_a_suggestion(tmp_path: Path):
    code, _ = up("--target", "compose", "--workspace", str(workspace(tmp_path)), "--agent", "helpr")

    assert code != 0


# The image --------------------------------------------------------------------------------------------------------


def instructions(text: str) -> list[tuple[str, str]]:
    """Of a Dockerfile, with lines that go on joined."""
    joined = text.replace("\\\n", " ")
    return [(line.split()[0], line.split(None, 1)[1]) for line in joined.splitlines() if line and line[0] != "#"]


def test_the_repository_s_dockerfile_is_the_one_that_is_made():
    assert (ROOT / "Dockerfile").read_text() == dockerfile.of_source(workspace="examples/harbor-apis")
    assert (ROOT / ".dockerignore").read_text() == dockerfile.IGNORED


def test_an_image_holds_the_whole_tree_runs_as_nobody_and_says_whether_it_is_healthy():
    found = instructions((ROOT / "Dockerfile").read_text())

    names = [name for name, _ in found]
    known = "FROM ARG LABEL WORKDIR COPY RUN ENV USER EXPOSE STOPSIGNAL HEALTHCHECK CMD"
    assert set(names) <= set(known.split())
    assert ("COPY", ". /srv/tree") in found
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN"), "and never again as root"
    assert int(dict(found)["USER"]) > 0
    assert "HEALTHCHECK" in names
    assert not any(word in text.lower() for _, text in found for word in ("token", "secret", "password", "_key"))
    for name, text in found:
        if name == "COPY" and not text.startswith("--from"):
            *sources, _ = text.split()
            assert all((ROOT / source).exists() for source in sources), text


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (None, False)])
def test_the_image_s_check_says_what_the_server_says(status: int | None, healthy: bool):
    class Says(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status if status and self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    check = dict(instructions((ROOT / "Dockerfile").read_text()))["HEALTHCHECK"].partition("CMD ")[2]
    _, *arguments = json.loads(check)
    with http.server.HTTPServer(("127.0.0.1", 0), Says) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        port = str(server.server_port) if status else "1"
        done = subprocess.run([_python(), *arguments], env={"UKAI_PORT": port}, capture_output=True, check=False)

    assert (done.returncode == 0) is healthy


def test_what_belongs_to_one_machine_stays_out_of_the_image():
    assert {".git", "**/.ukai", "**/.env", "**/.venv"} <= set((ROOT / ".dockerignore").read_text().splitlines())


def test_the_package_holds_everything_that_the_image_runs(tmp_path: Path):
    """`pip install .` of the image, without a network: the wheel is built from what the Dockerfile copies."""
    for source in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / source, tmp_path / source)
    (tmp_path / "src").symlink_to(ROOT / "src")
    build = "from hatchling.build import build_wheel; print(build_wheel('out'))"
    subprocess.run([_python(), "-c", build], cwd=tmp_path, check=True, capture_output=True)

    wheel = next((tmp_path / "out").glob("*.whl"))
    listed = subprocess.run([_python(), "-m", "zipfile", "-l", str(wheel)], capture_output=True, text=True, check=True)

    for needed in ("serve.py", "store/migrations/versions/0010_slack.sql", "surfaces/slack/__init__.py"):
        assert f"ukai/{needed}" in listed.stdout


def _python() -> str:
    return sys.executable
