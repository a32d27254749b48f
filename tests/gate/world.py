"""A small domain with every rule that only the database can hold, and short ways to write into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ukai import gate, store
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit.clock import Clock, SystemClock

DOMAIN = b"""
domain: world
types:
  - type: Town
    key: name
    path: "map/{name}"
    readers: {from: readers}
    fields:
      - {key: name, kind: string, required: true}
      - {key: readers, kind: string, list: true}
      - {key: size, kind: integer}
      - {key: motto, kind: string}
      - {key: seal, kind: string, unique: true}
      - {key: log, kind: string, list: true}
    states:
      initial: [planned]
      values: [planned, built, ruined]
      transitions: [{from: planned, to: built}, {from: built, to: ruined}]
  - type: House
    key: [town, number]
    path: "map/{town}/{number}"
    readers: {edge: stands_in}
    fields:
      - {key: town, kind: string, required: true}
      - {key: number, kind: integer, required: true}
      - {key: owner, kind: string}
      - {key: secret, kind: string, sensitive: true}
    rules:
      - {id: owned, require: "new.number < 1000 || has(new.owner)", message: "a house above 999 has an owner"}
  - type: Sign
    fields: [{key: text, kind: string}]
edges:
  - {edge: stands_in, from: House, to: Town, min_out: 1, max_out: 1, on_delete: {from: unset, to: cascade}}
  - edge: road
    from: Town
    to: Town
    max_out: 2
    on_delete: {from: unset, to: reject}
    fields: [{key: width, kind: integer}, {key: name, kind: string}]
  - {edge: twin, from: Town, to: Town, max_out: 1, max_in: 1, on_delete: {from: unset, to: unset}}
  - {edge: above, from: Town, to: Town, acyclic: true, on_delete: {from: unset, to: unset}}
"""

ANN = Author(kind="human", id="ann@example.com")
BOT = Author(kind="agent", id="surveyor", run="run-1", step="step-1")
CLOCK = SystemClock()

Op = dict[str, Any]


def domain(source: bytes = DOMAIN) -> schema.Domain:
    found, findings = domain_file.read(source, name="world.yaml")
    assert found is not None, findings
    return found


async def upload(db: store.Database, source: bytes = DOMAIN) -> domains.Uploaded:
    return await domains.upload(db, domain(source), author=ANN, at=CLOCK.now())


def town(name: str, ref: str = "", **values: Any) -> Op:
    return {"kind": "create_node", "node_type": "Town", "set": {"name": name, **values}} | ({"ref": ref} if ref else {})


def house(number: int, *, town: str = "a", ref: str = "$h", **values: Any) -> list[Op]:
    """A house and the edge that it needs."""
    return [
        {"kind": "create_node", "ref": ref, "node_type": "House", "set": {"town": town, "number": number, **values}},
        {"kind": "create_edge", "edge_type": "stands_in", "from": {"ref": ref}, "to": {"handle": f"Town#{town}"}},
    ]


def change(
    handle: str, to_state: str | None = None, *, if_version: int | None = None, test: Any = None, **values: Any
) -> Op:
    op: Op = {"kind": "update_node", "target": {"handle": handle}, "set": values}
    op |= {"to_state": to_state} if to_state else {}
    op |= {"if_version": if_version} if if_version is not None else {}
    return op | ({"test": test} if test else {})


def remove(handle: str, **more: Any) -> Op:
    return {"kind": "delete_node", "target": {"handle": handle}, **more}


def edge(type: str, source: str, target: str, kind: str = "create_edge", **more: Any) -> Op:
    ends = {"from": {"handle": source}, "to": {"handle": target}}
    return {"kind": kind, "edge_type": type, **ends, **more}


def delta(ops: Iterable[Op], key: str = "") -> dict[str, Any]:
    return {"domain": "world", "ops": list(ops)} | ({"key": key} if key else {})


async def propose(
    db: store.Database, *ops: Op, key: str = "", author: Author = ANN, clock: Clock = CLOCK, **more: Any
) -> gate.Committed | gate.Rejected:
    more.setdefault("rights", gate.ALL)
    return await gate.submit(db, delta(ops, key), author=author, clock=clock, **more)


async def done(db: store.Database, *ops: Op, **more: Any) -> gate.Committed:
    outcome = await propose(db, *ops, **more)
    assert isinstance(outcome, gate.Committed), [str(r) for r in outcome.rejections]
    return outcome


async def refused(db: store.Database, *ops: Op, **more: Any) -> list[str]:
    """The codes of the errors."""
    outcome = await propose(db, *ops, **more)
    assert isinstance(outcome, gate.Rejected), outcome
    return [r.code for r in outcome.rejections if r.severity == "error"]
