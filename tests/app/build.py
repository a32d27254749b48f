"""A small company with one domain, and somebody at its desk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ukai import access, store
from ukai.app import desk as desks
from ukai.app import identity
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import document
from ukai.kit.clock import SystemClock

DOMAIN = """\
domain: review
types:
  - type: Repo
    key: name
    fields: [{key: name, kind: string, required: true}, {key: stars, kind: integer, min: 0}]
  - type: PullRequest
    key: [repo, number]
    path: "github/{repo}/pulls/{number}"
    fields:
      - {key: number, kind: integer, required: true}
      - {key: repo, kind: string, required: true}
      - {key: title, kind: string, required: true, max_length: 300, description: What it is about.}
      - {key: classification, kind: enum, values: [small fix, feature, refactor]}
      - {key: cost, kind: number, places: 2}
      - {key: opened_by, kind: string, server_set: author}
      - {key: due, kind: date}
      - {key: parent, kind: ref, to: PullRequest}
    states:
      values: [open, ready, merged]
      transitions: [{from: open, to: ready}, {from: ready, to: merged}]
    rules:
      - {id: merged-is-classified, require: "new.state != 'merged' || has(new.classification)", message: classify it}
      - {id: stays-small, require: "!has(new.cost) || dec(new.cost) * 3 < 3000000", message: it costs too much}
edges:
  - {edge: in_repo, from: PullRequest, to: Repo, max_out: 1, fields: [{key: since, kind: date}]}
"""
POLICIES = """\
policies:
  - {id: ann-reads, allow: read, records: {types: ["*"]}, to: [ann@example.com]}
  - {id: ann-writes, allow: write, records: {types: ["*"]}, fields: ["*"], transitions: ["*"], to: [ann@example.com]}
  - {id: ann-uploads, allow: upload, to: [ann@example.com]}
  - {id: ann-audits, allow: audit, to: [ann@example.com]}
  - id: ben-reads
    allow: read
    records: {types: [PullRequest]}
    fields: [number, repo, title, state]
    to: [ben@example.com]
  - id: ben-writes
    allow: write
    records: {types: [PullRequest]}
    where: {opened_by: caller.email}
    fields: [title]
    transitions: ["open->ready"]
    to: [ben@example.com]
  - {id: cy-impersonates, allow: impersonate, to: [cy@example.com]}
"""
FILES = {
    "ukai.yaml": "company: acme\nlocal_principal: ann@example.com\n",
    "access/policies.yaml": POLICIES,
    "domains/review.yaml": DOMAIN,
}
ANN, BEN = "ann@example.com", "ben@example.com"

Op = dict[str, Any]


def workspace(folder: Path) -> Path:
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def domain() -> schema.Domain:
    found, findings = domain_file.read(DOMAIN.encode(), name="review.yaml")
    assert found is not None, findings
    return found


def files() -> access.Access:
    doc, findings = document.read(POLICIES.encode(), name="policies.yaml")
    found, more = access.read({"policies.yaml": doc}, types={t.type: frozenset(t.by_key) for t in domain().types})
    assert [*findings, *more] == []
    return found


def desk(db: store.Database, who: str = ANN) -> desks.Desk:
    """Somebody at the desk, the schema not yet uploaded."""
    standing = identity.Standing(principal=who, access=files(), channel="cli")
    return desks.Desk(root=Path(), db=db, standing=standing, clock=SystemClock(), domains={"review": domain()})


async def opened(db: store.Database, who: str = ANN) -> desks.Desk:
    """Somebody at the desk, the schema uploaded."""
    done = await domains.upload(db, domain(), author=Author(kind="human", id=ANN), at=SystemClock().now())
    assert not done.findings
    return desk(db, who)


def pull(number: int, ref: str = "$pr", **values: Any) -> Op:
    fields = {"number": number, "repo": "api", "title": "Retry", **values}
    return {"kind": "create_node", "ref": ref, "node_type": "PullRequest", "set": fields}


def change(number: int, to_state: str = "", **values: Any) -> Op:
    op = {"kind": "update_node", "target": {"handle": f"PullRequest#api:{number}"}, "set": values}
    return op | ({"to_state": to_state} if to_state else {})


def delta(*ops: Op, key: str = "") -> dict[str, Any]:
    return {"ops": list(ops)} | ({"key": key} if key else {})
