"""The catalog as every verb loads it: with the product's tools, and the readers of rooms that catalog does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ukai import catalog
from ukai.app import workspace
from ukai.app.provided import PROVIDED
from ukai.catalog import kinds
from ukai.catalog.parts import ACCESS_FOR_ALL
from ukai.catalog.value import ordered, path_of
from ukai.graph import shipped
from ukai.kit import document
from ukai.kit.document import Document
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors

if TYPE_CHECKING:
    from ukai.connect import definition
    from ukai.context.render import templates


def _cases(doc: Document) -> list[Finding]:
    from ukai.measure import bank

    return bank.lint(doc)


def _at_the_top(doc: Document) -> list[Finding]:
    if doc.name != "templates.yaml":
        return []
    from ukai.context.render import templates

    return templates.findings(doc)


READERS: Mapping[str, Callable[[Document], list[Finding]]] = MappingProxyType(
    {"cases": _cases, "evals": _cases, "": _at_the_top}
)
"""Folder -> what its room says about one document, for `workflows`, `cases`, `evals` and the top. One line each; a
reader that imports much does so inside itself, so that `ukai lint` stays light where there is no such file.
"""


DECIDING = (workspace.MARKER, *ACCESS_FOR_ALL)


def load(root: Path, *, only: str | None = None) -> catalog.Loaded:
    """The workspace or tree at `root`; `only` names the one agent that is served."""
    loaded = catalog.load(root, provided=PROVIDED, readers=READERS, only=only)
    found = [f for doc in _connectors(loaded.catalog) for f in connector(doc, loaded.catalog)[1]]
    found += _baseline(root, loaded)
    found += _templates(loaded)
    found += _required(loaded)
    return replace(loaded, findings=ordered([*loaded.findings, *found])) if found else loaded


def _types(loaded: catalog.Loaded) -> dict[str, str]:
    """Every type with its hash; none where a domain cannot be read or none is here: theirs would seem undeclared."""
    known = loaded.catalog.domains
    if not known or any(path_of(f).startswith("domains/") for f in errors(loaded.findings)):
        return {}
    return {t.type: t.content_hash for d in (*known.values(), *shipped.domains().values()) for t in d.types}


def _required(loaded: catalog.Loaded) -> list[Finding]:
    documents = ((kinds.in_workspace(path), doc) for path, doc in loaded.catalog.documents.items())
    files = [doc for place, doc in documents if place is not None and place.kind == "case"]
    types = _types(loaded) if files else {}
    if not types:
        return []
    from ukai.measure import bank

    return [f for doc in files for f in bank.undeclared(doc, types)]


def _templates(loaded: catalog.Loaded) -> list[Finding]:
    known, modes = loaded.catalog, loaded.catalog.documents.get("templates.yaml")
    if not known.templates and modes is None:
        return []
    from ukai.context.render import templates

    return [*templates.too_long(known.templates), *templates.unused(shelf(known), modes, _types(loaded))]


class BrokenConfiguration(PermanentError):
    """The files that say who acts and who may do what have errors: whatever else would be said rests on guesses."""

    def __init__(self, first: Finding) -> None:
        super().__init__(str(first), hint="`ukai lint` shows everything that is wrong")
        self.first = first


def whole(root: Path, *, only: str | None = None) -> catalog.Loaded:
    """The workspace for whoever works in it. Raises BrokenConfiguration where ukai.yaml or the rights have errors.

    What is wrong with anything else keeps away what needs it, and nothing more.
    """
    loaded = load(root, only=only)
    broken = [f for f in errors(loaded.findings) if path_of(f) in DECIDING]
    if broken:
        raise BrokenConfiguration(broken[0])
    return loaded


def connector(doc: Document, known: catalog.Catalog) -> tuple[definition.Connector | None, list[Finding]]:
    """A connector's file, held against the domains of the workspace: they are why it is no reader of one document."""
    from ukai.connect import definition

    found, findings = definition.read(doc)
    return found, findings + (definition.check(doc, found, known.domains) if found is not None else [])


def shelf(known: catalog.Catalog) -> templates.Shelf:
    """The templates of the workspace with their modes."""
    from ukai.context.render import templates

    modes = known.documents.get("templates.yaml")
    return templates.shelf(known.templates, modes.data if modes else None)


def connectors(known: catalog.Catalog) -> dict[str, Document]:
    """Name of its file -> document."""
    return {doc.name.rpartition("/")[2].removesuffix(".yaml"): doc for doc in _connectors(known)}


def _connectors(known: catalog.Catalog) -> list[Document]:
    return [doc for path, doc in known.documents.items() if path.startswith("connectors/")]


def _baseline(root: Path, loaded: catalog.Loaded) -> list[Finding]:
    """Whether the pinned figures are there that the nightly recall is held against: only the folder knows."""
    recall = loaded.catalog.settings.context.recall
    if recall is None or (root / recall.baseline).is_file():
        return []
    doc, _ = document.read((root / workspace.MARKER).read_bytes(), name=workspace.MARKER)
    return [
        Finding(
            code="no_baseline",
            severity="warning",
            where=doc.where("/context/recall/baseline") if doc else f"{workspace.MARKER}:1:1",
            message=f"there is no file {recall.baseline!r}",
            expected=recall.baseline,
            hint=f"make it: `ukai context recall --set {recall.name} --baseline {recall.baseline} --pin`",
        )
    ]
