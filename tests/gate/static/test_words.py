"""The engine knows no domain: no word of a domain stands in its code (W1)."""

import ast
import re
from pathlib import Path

import ukai
from tests.gate.static import given

ROOMS = ("gate", "graph", "access", "store")
FOLDER = Path(ukai.__file__).parent


def words() -> set[str]:
    """Names of types and edges that tests, examples and the articles use."""
    found = {"PullRequest", "BomItem", "Account", "Opportunity", "Ticket", "Deal", "Order", "Customer", "Invoice"}
    found |= {n for n in (*given.CATALOGUE.types(), *given.CATALOGUE.edges()) if n not in ("Note", "Thing", "follows")}
    for path in (FOLDER.parents[1] / "examples").rglob("domains/*.yaml"):
        found |= set(re.findall(r"\b(?:type|edge): *([A-Za-z_]+)", path.read_text()))
    return found


def spoken(path: Path) -> list[str]:
    """The text constants of a module, docstrings left out: what is only explained is no code."""
    tree = ast.parse(path.read_text())
    explained = {
        id(node.value)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for node in owner.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        n.value
        for n in ast.walk(tree)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in explained
    ]


def test_no_domain_word_stands_in_the_code_of_the_engine():
    named = re.compile(rf"\b({'|'.join(sorted(words()))})\b")
    found = [
        f"{path.relative_to(FOLDER)}: {m[0]}"
        for room in ROOMS
        for path in (FOLDER / room).rglob("*.py")
        for text in spoken(path)
        for m in named.finditer(text)
    ]

    assert len(words()) > 10
    assert found == []
