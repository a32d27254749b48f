"""The global tool set: what the product brings and what the workspace's `tools/` adds."""

from __future__ import annotations

from collections.abc import Mapping

from ukai.catalog.naming import Naming
from ukai.catalog.shelf import Shelf
from ukai.catalog.source import Declared
from ukai.catalog.value import Tool
from ukai.kit.finding import Finding
from ukai.runtime.tools import ToolSpec

PRODUCT = "product"


def toolbox(shelf: Shelf, provided: Mapping[str, ToolSpec], naming: Naming) -> tuple[dict[str, Tool], list[Finding]]:
    """Name -> tool, and names that are declared twice. Indexes that any tool asks for are looked up as well."""
    found = {name: Tool(spec=spec, where=PRODUCT) for name, spec in provided.items()}
    findings: list[Finding] = []
    for declared in shelf.shared_tools.values():
        _add(found, declared, findings)
        _indexes(declared, shelf, naming)
    for _, declared in shelf.own_tools.values():
        for name in declared.specs.keys() & found.keys():
            findings.append(_twice(name, declared.places[name], found[name].where))
        _indexes(declared, shelf, naming)
    return found, findings


def _add(found: dict[str, Tool], declared: Declared, findings: list[Finding]) -> None:
    for name, spec in declared.specs.items():
        if name in found:
            findings.append(_twice(name, declared.places[name], found[name].where))
        else:
            found[name] = Tool(spec=spec, where=declared.places[name])


def _twice(name: str, where: str, first: str) -> Finding:
    return Finding(
        code="duplicate_name",
        where=where,
        message=f"a tool named {name!r} is there already",
        received=name,
        hint="rename this one; " + ("Ukai brings the other" if first == PRODUCT else f"the other stands at {first}"),
    )


def _indexes(declared: Declared, shelf: Shelf, naming: Naming) -> None:
    if ("settings", "") in shelf.broken:
        return  # ukai.yaml has findings of its own, and which indexes it declares is not known
    for name, where in declared.indexes:
        naming.known("index", name, shelf.settings.indexes.keys(), where=where)
