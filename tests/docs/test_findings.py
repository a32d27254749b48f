"""Every code that a finding carries is in one table, and the table is a page."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import ukai
from ukai.gate.codes import CODES as REJECTIONS
from ukai.kit.codes import CODES

SRC = Path(ukai.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "findings.md"
HEAD = """\
# Findings

What `ukai lint`, uploads and imports tell an author: a code, a severity (`error`, `warning`, `note`), a place
(`file:line:column` or a JSON pointer), what was expected, what came, and what to do. Everything that is wrong is told
at once. Rejections of the gate have a page of their own, [rejections.md](rejections.md).

This page is written from `ukai/kit/codes.py` by `UKAI_WRITE_DOCS=1 pytest tests/docs/test_findings.py`.

| code | what it means |
|---|---|
"""


def page() -> str:
    return HEAD + "".join(f"| `{code}` | {meaning} |\n" for code, meaning in sorted(CODES.items()))


def literals(path: Path) -> Iterator[tuple[str, int]]:
    """Every literal given as `code=`, both sides of a conditional included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == "code":
                    yield from (
                        (part.value, part.lineno)
                        for part in _values(keyword.value)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    )


def _values(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from _values(node.body)
        yield from _values(node.orelse)
    else:
        yield node


def test_every_code_in_the_source_is_in_the_table():
    unknown = [
        f"{path.relative_to(SRC)}:{line} {code}"
        for path in sorted(SRC.rglob("*.py"))
        for code, line in literals(path)
        if code not in CODES and code not in REJECTIONS
    ]

    assert unknown == []


def test_every_code_of_the_table_is_in_the_source():
    text = "\n".join(p.read_text(encoding="utf-8") for p in SRC.rglob("*.py") if p != SRC / "kit" / "codes.py")
    # Codes of names are put together: unknown_ and the kind.
    told = {
        c for c in CODES if f'"{c}"' in text or (c.startswith("unknown_") and f'"{c[8:].replace("_", " ")}"' in text)
    }
    told |= {c for c in CODES if c.endswith("_missing") and f'"{c.removesuffix("_missing")}"' in text}

    assert sorted(CODES.keys() - told) == []


def test_the_page_is_the_table():
    if os.environ.get("UKAI_WRITE_DOCS"):
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()
