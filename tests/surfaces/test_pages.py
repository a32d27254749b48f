"""What the page about serving shows is a ukai.yaml without a finding, and names everything that can be set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ukai.catalog import serving, settings
from ukai.kit import document
from ukai.surfaces.mcp.server import TABLE

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def page(name: str) -> str:
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


def test_the_settings_on_the_page_are_read_without_a_finding():
    [block] = re.findall(r"```yaml\n(.*?)```", page("serving"), re.DOTALL)

    doc, findings = document.read(block.encode(), name="ukai.yaml")
    assert doc is not None
    found, more = settings.read(doc)

    assert [*findings, *more] == []
    assert found is not None
    assert found.login is not None
    assert found.login.proxy is not None


@pytest.mark.parametrize("value", [serving.Login, serving.Page, serving.Proxy, serving.Serve])
def test_everything_that_can_be_set_stands_on_the_page(value: type):
    text = page("serving")
    names = {"peers": "from", **{f: f for f in value.__dataclass_fields__ if f != "peers"}}

    assert [n for f, n in names.items() if f in value.__dataclass_fields__ and f"{n}:" not in text] == []


def test_every_tool_stands_on_the_page_about_mcp():
    text = page("mcp")

    assert [tool.name for tool in TABLE if f"`{tool.name}`" not in text] == []
