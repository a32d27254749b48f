"""The pages on Slack, deploying and observing say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ukai.app.deploy.value import SLACK
from ukai.app.telemetry import METRICS, names
from ukai.catalog import settings
from ukai.kit import document
from ukai.surfaces.cli import VERBS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [DOCS / "howto" / f"{name}.md" for name in ("slack", "deploy", "observe")] + [DOCS / "reference" / "a2a.md"]


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return [re.sub(r"^ {3}", "", b, flags=re.M) for b in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)]


def test_the_manifest_on_the_page_is_part_of_the_one_that_is_made():
    made = iter((ROOT / "examples/harbor-apis/deploy/kubernetes/deal-coach.yaml").read_text().splitlines())

    for line in re.findall(r"```yaml\n(.*?)```", (DOCS / "howto/deploy.md").read_text(), re.DOTALL)[0].splitlines():
        assert any(line == other for other in made), line


def test_the_settings_on_the_page_are_read():
    doc, findings = document.read(blocks("howto/slack.md", "yaml")[0].encode(), name="ukai.yaml")
    assert doc is not None, findings

    found, findings = settings.read(doc)

    assert (findings, found and found.slack and found.slack.everybody) == ([], ("group:employees",))


def test_every_metric_and_every_attribute_stands_on_the_page_and_no_other():
    text = (DOCS / "howto/observe.md").read_text()
    said = set(re.findall(r"\b(ukai_[a-z_]+|(?:ukai|gen_ai|error)\.[a-z_.]+[a-z])\b", text))
    metrics = {line.split()[2] for line in METRICS.exposition().splitlines() if line.startswith("# HELP")}

    known = {v for v in vars(names).values() if isinstance(v, str)} | {f"{names.TURN_SECONDS}_count"}
    said -= {"ukai.yaml", "ukai.requests"}  # a file, and what the log calls its lines
    assert said <= known, said - known
    assert metrics - said == {"ukai_tokens_total", "ukai_usd_total"} - said


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_verb_and_every_link_on_the_pages_is_there(page: Path):
    text = page.read_text()

    assert {v for v in re.findall(r"\bukai ([a-z]+)\b", text) if v not in ("access",)} <= set(VERBS)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (page.parent / target).exists(), target


def test_the_page_on_slack_names_every_key():
    assert all(key in (DOCS / "howto/slack.md").read_text() for key in SLACK)
