"""What a workspace is made of, by the five dimensions in which two evaluations may differ.

Every part has a hash of its own, so that a comparison can say which file, tool or rule was changed.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import ukai
from ukai.app import ask, engine
from ukai.graph import rows
from ukai.kit import canonical
from ukai.measure.evaluation import Parts

_SOFT = ("model", "description", "name", "license", "compatibility", "metadata")
"""Of a manifest, what is another dimension's, or nobody's."""


async def of(opened: engine.Engine, agents: Iterable[str]) -> Parts:
    """Of the agents that are asked: dimension -> part -> hash."""
    asked = sorted(set(agents))
    model: dict[str, str] = {}
    prose: dict[str, str] = {}
    rules: dict[str, str] = {}
    for name in asked:
        config = ask.config(opened, opened.agent(name), None)
        model[f"agents/{name}"] = config.model
        for part, value in config.prose.items():
            prose[part] = value if prose.get(part, value) == value else canonical.sha256([prose[part], value])
        for rule, value in config.guardrails.items():
            rules[rule] = f"{rules[rule]}, {name}" if rule in rules else f"{value} {name}"
            used = opened.catalog.guardrails[rule].model
            if used is not None:
                model[f"guardrails/{rule}"] = opened.catalog.models.resolve(used).spec.use
    async with opened.db.snapshot() as tx:
        corpus = {"records": await rows.digest(tx)}
    return {"model": model, "prose": prose, "rules": rules, "code": _code(opened, asked), "corpus": corpus}


def _code(opened: engine.Engine, agents: Iterable[str]) -> dict[str, str]:
    """The product, tools without their descriptions, settings and rights."""
    root = opened.root
    found = {"ukai": product()}
    tools = [*root.glob("tools/*.py"), *(root / "agents" / name / "tools.py" for name in agents)]
    for path in sorted(p for p in tools if p.is_file()):
        found[path.relative_to(root).as_posix()] = without_prose(path.read_bytes())
    for path in sorted([*root.glob("access/**/*.yaml"), *root.glob("domains/*.yaml"), root / "ukai.yaml"]):
        if path.is_file():
            found[path.relative_to(root).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    for name in agents:
        settings = asdict(opened.catalog.agents[name].manifest)
        found[f"agents/{name}: settings"] = _hash({k: v for k, v in settings.items() if k not in _SOFT})
    return found


def _hash(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=1)
def product() -> str:
    """The source that runs: a change of one line of it is another product."""
    folder = Path(ukai.__file__).parent
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()


def without_prose(source: bytes) -> str:
    """The hash of Python code without docstrings and descriptions: those are prose, and change what a model reads."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).hexdigest()
    return hashlib.sha256(ast.dump(_Bare().visit(tree)).encode()).hexdigest()


class _Bare(ast.NodeTransformer):
    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        node.values = [
            ast.Constant("") if isinstance(key, ast.Constant) and key.value == "description" else value
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node
