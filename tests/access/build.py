"""Small builders for the tests of access."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

from ukai import access
from ukai.kit import document

COMPANY = Path(__file__).parent / "company"
TYPES = {
    "Account": frozenset({"name", "industry", "owner", "margin", "renewal_date", "embargoed"}),
    "Deal": frozenset({"name", "stage", "amount", "close_date", "next_step", "discount"}),
    "Call": frozenset({"turns", "mood"}),
    "Document": frozenset({"text"}),
    "Page": frozenset({"title", "audience", "team"}),
    "PullRequest": frozenset({"title", "author", "cost", "classification"}),
}


def document_of(text: str, name: str) -> document.Document | None:
    doc, _ = document.read(dedent(text).encode(), name=name)
    return doc


def read(types: Any = None, agents: Any = None, **files: str):
    """Access and findings from texts: `groups=`, `policies=`, `budgets=`, and any other name for a field policy."""
    named = {"groups": "groups.yaml", "policies": "policies.yaml", "budgets": "budgets.yaml"}
    docs = {}
    for key, text in files.items():
        name = named.get(key, f"field_policies/{key}.yaml")
        docs[name] = document_of(text, name)
    return access.read(docs, types=types, agents=agents)


def company() -> access.Access:
    docs = {}
    for path in sorted(COMPANY.rglob("*.yaml")):
        name = path.relative_to(COMPANY).as_posix()
        if name not in ("records.yaml", "agents.yaml"):
            docs[name], findings = document.read(path.read_bytes(), name=name)
            assert findings == [], list(map(str, findings))
    folder, findings = access.read(docs, types=TYPES)
    assert findings == [], list(map(str, findings))
    return folder


def record(handle: str, path: str | None = None, readers: Any = None, owners: Any = (), **fields: Any) -> access.Record:
    type, key = handle.split("#")
    named = None if readers is None else frozenset(readers)
    return access.Record(type=type, key=key, path=path, fields=fields, readers=named, owners=tuple(owners))


def records() -> dict[str, access.Record]:
    """Those of `company/records.yaml`."""
    doc, _ = document.read((COMPANY / "records.yaml").read_bytes(), name="records.yaml")
    assert doc
    found: dict[str, access.Record] = {}
    for handle, row in doc.data.items():
        owners = [found[o] for o in row.get("owners", ())]
        found[handle] = record(handle, row["path"], row.get("readers"), owners, **row["fields"])
    return found
