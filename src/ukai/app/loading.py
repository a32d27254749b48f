"""The catalog as every verb loads it: with the product's tools, and the readers of rooms that catalog does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from ukai import catalog
from ukai.app.provided import PROVIDED
from ukai.kit.document import Document
from ukai.kit.finding import Finding

READERS: Mapping[str, Callable[[Document], list[Finding]]] = MappingProxyType({})
"""Folder -> what its room says about one document, for `connectors`, `workflows`, `cases`, `evals`. One line each; a
reader that imports much does so inside itself, so that `ukai lint` stays light where there is no such file.
"""


def load(root: Path, *, only: str | None = None) -> catalog.Loaded:
    """The workspace or tree at `root`; `only` names the one agent that is served."""
    return catalog.load(root, provided=PROVIDED, readers=READERS, only=only)
