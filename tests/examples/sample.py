"""The sample company for tests: its generator (a folder of the workspace, not an installed package) and its files."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ukai import access
from ukai.graph import domain_file, schema
from ukai.graph.catalogue import Catalogue
from ukai.kit import document

WORKSPACE = Path(__file__).parents[2] / "examples" / "harbor-apis"
PROGRAM = WORKSPACE / "generate"


@cache
def generator() -> Any:
    """The package `generate`, under a name of its own."""
    name = "harbor_apis_generate"
    spec = importlib.util.spec_from_file_location(
        name, PROGRAM / "__init__.py", submodule_search_locations=[str(PROGRAM)]
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@cache
def company() -> tuple[dict[str, Any], ...]:
    """All records with the defaults."""
    return tuple(generator().records())


@cache
def passages() -> Mapping[str, str]:
    """Handle of everything that is searched -> its text."""
    return {name: text for made in company() for name, text in generator().passages(made)}


@cache
def domains() -> tuple[schema.Domain, ...]:
    """The domains of the workspace; they load without a finding."""
    found: list[schema.Domain] = []
    files = {path.stem: path.read_bytes() for path in sorted((WORKSPACE / "domains").glob("*.yaml"))}
    for name in dict.fromkeys(generator().DOMAINS.values()):
        domain, findings = domain_file.read(
            files.pop(name), name=f"domains/{name}.yaml", others=list(generator().DOMAINS)
        )
        assert findings == []
        assert domain is not None
        found.append(domain)
    assert not files, "every domain has records"
    return tuple(found)


@cache
def catalogue() -> Catalogue:
    """The domains ready to judge."""
    return Catalogue(domains())


@cache
def rules_of_access() -> access.Access:
    """What `access/` says; it loads without a finding."""
    folder = WORKSPACE / "access"
    paths = sorted(folder.rglob("*.yaml"))
    files: dict[str, document.Document | None] = {path.relative_to(folder).as_posix(): yaml(path) for path in paths}
    types = {t.type: frozenset(t.by_key) for domain in domains() for t in domain.types}
    found, findings = access.read(files, types=types, agents=list(agents()))
    assert findings == []
    return found


@cache
def agents() -> Mapping[str, str]:
    """Agent -> the field policy it names."""
    found: dict[str, str] = {}
    for path in sorted((WORKSPACE / "agents").glob("*/SKILL.md")):
        doc, findings = document.read_front_matter(path.read_bytes(), name=path.parent.name)
        assert findings == []
        assert doc is not None
        found[path.parent.name] = doc.data["field_policy"]
    return found


def yaml(path: Path) -> document.Document:
    """A file of the workspace that reads without a finding."""
    doc, findings = document.read(path.read_bytes(), name=path.relative_to(WORKSPACE).as_posix())
    assert findings == []
    assert doc is not None
    return doc


def cases(*patterns: str) -> list[dict[str, Any]]:
    """The entries of case files, with the agent they belong to if they lie in its folder."""
    found: list[dict[str, Any]] = []
    for pattern in patterns:
        for path in sorted(WORKSPACE.glob(pattern)):
            agent = path.parts[-3] if path.parts[-2] == "cases" else ""
            found += [{**case, "agent": agent} for case in yaml(path).data]
    return found


def looked_up(handles: Mapping[str, dict[str, Any]], item: str) -> Any:
    """What an item names: a passage, a field's value or a record; KeyError when nothing does."""
    if item in passages():
        return passages()[item]
    whole, _, part = item.partition("/")
    made = handles[whole]
    return made if not part else made["state"] if part == "state" else made["fields"][part]
