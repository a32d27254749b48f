"""A small domain, connectors written in a line, and what stands after a pull."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukai import gate, store
from ukai.connect import definition, pull, report, rows
from ukai.connect.source import Site
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import document
from ukai.kit.clock import SystemClock

DOMAIN = b"""
domain: crm
types:
  - type: Person
    key: name
    fields:
      - {key: name, kind: string, required: true}
      - {key: email, kind: string, unique: true}
  - type: Account
    key: id
    path: "crm/{id}"
    readers: {from: readers}
    fields:
      - {key: id, kind: string, required: true}
      - {key: name, kind: string, required: true}
      - {key: arr, kind: number, places: 2}
      - {key: seats, kind: integer}
      - {key: since, kind: date}
      - {key: tier, kind: enum, values: [standard, growth]}
      - {key: readers, kind: string, list: true}
    states:
      initial: [open, closed]
      values: [open, closed]
      transitions: [{from: open, to: closed}]
edges:
  - {edge: owned_by, from: Account, to: Person, max_out: 1, on_delete: {from: unset, to: reject}}
  - {edge: partner_of, from: Account, to: Account, on_delete: {from: unset, to: unset}}
"""
ANN = Author(kind="human", id="ann@example.com")
CLOCK = SystemClock()
BASE: dict[str, Any] = {
    "connector": "crm",
    "source": {"kind": "csv", "files": "*.csv"},
    "into": {"domain": "crm", "node_type": "Account"},
    "map": {"key": "row.id", "set": {"name": "row.name"}},
}


def domain(raw: bytes = DOMAIN) -> schema.Domain:
    found, findings = domain_file.read(raw, name="crm.yaml")
    assert found is not None, findings
    return found


async def upload(db: store.Database, raw: bytes = DOMAIN) -> None:
    done = await domains.upload(db, domain(raw), author=ANN, at=CLOCK.now())
    assert done.domain is not None, done.findings


def doc(values: Mapping[str, Any], name: str = "") -> document.Document:
    """The file of a connector: JSON is YAML."""
    file = name or f"connectors/{values.get('connector', 'crm')}.yaml"
    found, findings = document.read(json.dumps(values, indent=1).encode(), name=file)
    assert found is not None, findings
    return found


def connector(**changes: Any) -> definition.Connector:
    found, findings = definition.read(doc({**BASE, **changes}))
    assert found is not None, findings
    return found


def bench(
    db: store.Database, root: Path, rights: Any = gate.ALL, environ: Mapping[str, str] | None = None
) -> pull.Bench:
    return pull.Bench(db=db, rights=rights, clock=CLOCK, site=Site(root=root, environ=environ or {}))


async def pulled(
    db: store.Database, root: Path, made: definition.Connector | None = None, **more: Any
) -> report.Report:
    return await pull.run(bench(db, root), made or connector(), **more)


async def nodes(db: store.Database, type: str = "Account") -> dict[str, dict[str, Any]]:
    async with db.transaction() as tx:
        return dict(await tx.fetch("select key, props from node where type = %s and gone = 0 order by key", (type,)))  # type: ignore[arg-type]


async def edges(db: store.Database) -> list[str]:
    async with db.transaction() as tx:
        return [
            f"{a} -{e}-> {b}"
            for a, e, b in await tx.fetch(
                """select s.key, e.type, d.key from edge e join node s on s.id = e.src join node d on d.id = e.dst
                   where e.gone = 0 order by 1, 2, 3"""
            )
        ]


async def held(db: store.Database) -> list[rows.Held]:
    async with db.transaction() as tx:
        return await rows.held(tx, after=None, limit=1000)


async def changes(db: store.Database) -> int:
    async with db.transaction() as tx:
        return await tx.value("select count(*) from change")


def write(root: Path, text: str | bytes, name: str = "a.csv") -> None:
    root.joinpath(name).write_bytes(text.encode() if isinstance(text, str) else text)
