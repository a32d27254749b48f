"""An agent written in the portable dialect, without loss: what is read back resolves to the same agent (P1.10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ukai.catalog import dialect, kinds, walk, writing
from ukai.catalog.value import Catalog
from ukai.kit import document
from ukai.kit.document import Document


def skill_md(doc: Document, *, description: str) -> str:
    """A SKILL.md in the portable dialect from one in either. `description` stands in when none is written."""
    normal, _ = dialect.native(doc)
    data = cast("dict[str, Any]", normal.data)
    if not data.get("description"):
        data = {**data, "description": description}
    return writing.front_matter(dialect.portable(data), doc.body)


def files(root: Path, catalog: Catalog, agent: str) -> dict[str, bytes]:
    """Everything in the agent's folder, path inside it -> content: manifest and skills portable, the rest as it is.

    The agent must be in the catalog.
    """
    prefix = f"agents/{agent}"
    found: dict[str, bytes] = {}
    for file in walk.walk(root, enter=lambda p: p == "agents" or p == prefix or p.startswith(prefix + "/")).files:
        if not file.path.startswith(prefix + "/") or (raw := walk.read(file)[0]) is None:
            continue
        inner = file.path.removeprefix(prefix + "/")
        place = kinds.in_workspace(file.path)
        if place is not None and place.kind in ("agent", "skill"):
            raw = _portable(raw, file.path, catalog, place)
        found[inner] = raw
    return found


def _portable(raw: bytes, path: str, catalog: Catalog, place: kinds.Place) -> bytes:
    doc, _ = document.read_front_matter(raw, name=path)
    if doc is None:
        return raw
    if place.kind == "agent":
        return skill_md(doc, description=catalog.agents[place.owner].description).encode()
    ours = {f.partition(".")[0] for f in dialect.FIELDS} & cast("dict[str, Any]", doc.data).keys()
    # Strangers' files stay as they are: their keys are theirs, and they are portable as far as they were.
    return skill_md(doc, description="").encode() if ours & {"scope", "budget"} else raw
