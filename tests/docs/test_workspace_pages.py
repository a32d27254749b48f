"""The files shown on the pages about a workspace are files of one workspace, and it lints without an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.catalog import build
from ukai.app import init, lint
from ukai.app.provided import PROVIDED
from ukai.catalog import dialect, settings
from ukai.runtime import agent, guardrail, tools
from ukai.study import report

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "reference" / f"{n}.md" for n in ("workspace", "skill", "guardrail", "report", "tools")]
PAGES.append(DOCS / "howto" / "add-an-agent.md")
BLOCK = re.compile(r"^( *)```\w+ file=(\S+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def shown() -> dict[str, str]:
    found: dict[str, str] = {}
    for page in PAGES:
        for indent, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            found[name] = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
    return found


def test_the_files_on_the_pages_make_a_workspace_without_an_error(tmp_path: Path):
    init.init(tmp_path)
    files = shown()
    build.tree(tmp_path, files)

    findings = lint.lint(tmp_path).findings

    assert len(files) == 9
    assert [str(f) for f in findings if f.severity == "error"] == []


@pytest.mark.parametrize(
    ("page", "value"),
    [
        ("skill", agent.Manifest),
        ("guardrail", guardrail.Guardrail),
        ("report", report.Report),
        ("tools", tools.ToolSpec),
        ("workspace", settings.Settings),
    ],
)
def test_every_field_has_its_place_on_its_page(page: str, value: type):
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    ours = {"prose", "question", "description"} if value is report.Report else {"prose"}

    missing = [
        f
        for f in value.__dataclass_fields__
        if f not in ours and f.replace("_tools", "-tools") not in text and f not in text
    ]

    assert missing == []


def test_every_portable_field_is_one_of_the_manifest():
    assert {f.partition(".")[0] for f in dialect.FIELDS} <= set(agent.Manifest.__dataclass_fields__)


def test_every_output_is_on_the_page():
    text = (DOCS / "reference" / "report.md").read_text(encoding="utf-8")

    for name, kind in report.OUTPUTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name}`"))
        assert all(f"`{n}`" in row for n in (*kind.takes, *(n for g in kind.needs for n in g)))


def test_the_product_s_own_tools_are_declared_like_any_other():
    assert len(PROVIDED) == 8
    assert all(spec.input_schema["type"] == "object" and spec.description for spec in PROVIDED.values())


def test_the_page_of_the_sample_company_names_its_guardrails():
    company = DOCS.parent / "examples" / "harbor-apis"
    rules = {path.stem for path in (company / "guardrails").glob("*.md")}

    named = re.search(r"Five guardrails: (.*?)\.\n", (company / "README.md").read_text(encoding="utf-8"), re.DOTALL)

    assert named is not None
    assert set(re.findall(r"`([\w-]+)`", named[1])) == rules
    assert len(rules) == 5
