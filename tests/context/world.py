"""A small company for the reading tests: firms in books of sellers, what hangs on them, and who may read what."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from ukai import access, gate, store
from ukai.context import index
from ukai.context.reader import Reader
from ukai.context.reading import Library
from ukai.context.scope import Scope
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import document, words
from ukai.kit.clock import FixedClock
from ukai.llm.cache import Cache

DOMAIN = b"""
domain: trade
types:
  - type: Firm
    key: key
    path: "firms/{key}"
    text: [name, description]
    fields:
      - {key: key, kind: string, required: true}
      - {key: name, kind: string}
      - {key: owner, kind: string}
      - {key: floor, kind: string}
      - {key: tier, kind: string}
      - {key: tags, kind: string, list: true}
      - {key: description, kind: text}
  - type: Memo
    key: id
    path: "memos/{firm}/{id}"
    readers: {from: readers}
    text: [title, body]
    fields:
      - {key: id, kind: string, required: true}
      - {key: firm, kind: string, required: true}
      - {key: title, kind: string}
      - {key: body, kind: text}
      - {key: secret, kind: text}
      - {key: at, kind: datetime}
      - {key: readers, kind: string, list: true, required: true}
  - type: Talk
    key: id
    path: "talks/{firm}/{id}"
    passages: {from: turns, text: text, speaker: who, at: at}
    fields:
      - {key: id, kind: string, required: true}
      - {key: firm, kind: string, required: true}
      - {key: name, kind: string}
      - {key: title, kind: string}
      - {key: turns, kind: json}
  - type: Month
    key: [firm, month]
    path: "months/{firm}/{month}"
    fields:
      - {key: firm, kind: string, required: true}
      - {key: month, kind: string, required: true}
      - {key: calls, kind: integer}
  - type: Table
    key: [schema, name]
    path: "shop/{schema}/{name}"
    readers: {from: readers}
    text: [comment]
    fields:
      - {key: schema, kind: string, required: true}
      - {key: name, kind: string, required: true}
      - {key: comment, kind: text}
      - {key: readers, kind: string, list: true, required: true}
  - type: Column
    key: [schema, table, name]
    path: "shop/{schema}/{table}/{name}"
    readers: {from: readers}
    text: [comment]
    fields:
      - {key: schema, kind: string, required: true}
      - {key: table, kind: string, required: true}
      - {key: name, kind: string, required: true}
      - {key: data_type, kind: string}
      - {key: nullable, kind: boolean}
      - {key: comment, kind: text}
      - {key: readers, kind: string, list: true, required: true}
edges:
  - {edge: memo_of, from: Memo, to: Firm, max_out: 1, owns: to, on_delete: {from: unset, to: cascade}}
  - {edge: talk_of, from: Talk, to: Firm, max_out: 1, owns: to, on_delete: {from: unset, to: cascade}}
  - {edge: month_of, from: Month, to: Firm, max_out: 1, owns: to, on_delete: {from: unset, to: cascade}}
  - {edge: about, from: Talk, to: Memo, max_out: 1, owns: to, on_delete: {from: unset, to: unset}}
  - {edge: rival, from: Firm, to: Firm, on_delete: {from: unset, to: unset}}
"""
ACCESS = {
    "groups.yaml": """
groups:
  sellers: {members: [ann@x.example, ben@x.example]}
  analysts: {members: [tess@x.example]}
  managers: {members: [mira@x.example]}
""",
    "policies.yaml": """
policies:
  - {id: use, allow: invoke, agents: ["*"], to: ["group:sellers", "group:analysts", "group:managers", vera@x.example]}
  - id: book
    allow: read
    records: {types: [Firm]}
    to: ["group:sellers"]
    where: {owner: caller.email}
    and_owned: true
  - {id: owner-told, tell: [owner], records: {types: [Firm]}, to: ["group:sellers"], where: {tier: told}}
  - {id: figures, allow: read, records: {types: [Firm]}, to: ["group:analysts"], fields: [key, name, tier]}
  - {id: months, allow: read, records: {types: [Month]}, to: ["group:analysts"]}
  - {id: outline, allow: read, records: {types: [Firm, Talk]}, to: [vera@x.example]}
  - {id: shop, allow: read, records: {types: [Table, Column]}, to: ["group:sellers"]}
  - {id: all, allow: read, records: {types: ["*"]}, to: ["group:managers"]}
  - {id: floor, deny: read, records: {types: [Firm]}, fields: [floor], to: ["group:sellers", "group:analysts"]}
""",
    "field_policies/memos.yaml": """
version: 1
allow: {Memo: ["*"]}
""",
    "field_policies/plain.yaml": """
version: 1
allow:
  Firm: ["*"]
  Memo: [id, firm, title, body, at, readers]
  Talk: ["*"]
  Month: ["*"]
  Table: [schema, name, comment]
  Column: [schema, table, name, data_type, nullable, comment]
""",
}
APPROXIMATE = """
  - {id: near, allow: approximate, to: ["group:sellers"]}
"""
ANN, BEN, TESS, MIRA, VERA = (f"{n}@x.example" for n in ("ann", "ben", "tess", "mira", "vera"))
STAFF = ["group:sellers", "group:managers"]
INTAKE = Author(kind="connector", id="service:intake")
CLOCK = FixedClock(datetime(2026, 11, 20, 8, tzinfo=UTC))


@cache
def domain() -> schema.Domain:
    found, findings = domain_file.read(DOMAIN, name="trade.yaml")
    assert found is not None, findings
    return found


@cache
def rules(more: str = "") -> access.Access:
    docs: dict[str, document.Document | None] = {}
    for name, text in (ACCESS | {"policies.yaml": ACCESS["policies.yaml"] + more}).items():
        docs[name], findings = document.read(text.encode(), name=name)
        assert findings == []
    types = {t.type: frozenset(t.by_key) for t in domain().types}
    found, findings = access.read(docs, types=types)
    assert findings == []
    return found


def reader(
    who: str = ANN, scope: Scope | None = None, policy: str | None = "plain", more: str = "", agent: str = "coach"
) -> Reader:
    """`more`: policies beside those above."""
    rights = rules(more).rights(rules(more).caller(who), agent, policy, "cli")
    return Reader(rights=rights, edges=domain().edges, scope=scope)


class Hashed:
    """An embedder without a model: the stems of a text, hashed into 32 directions."""

    model_id = "hashed"
    dimensions = 32

    def embed(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0] = 0.1
            for term in words.terms(text):
                digest = hashlib.sha256(term.encode()).digest()
                row[1 + digest[0] % 31] += 1 if digest[1] % 2 else -1
            row /= np.linalg.norm(row)
        return rows


@dataclass(kw_only=True)
class World:
    """A database with the domain, and short ways to write and to ask."""

    db: store.Database
    cache: Cache = field(default_factory=lambda: Cache(Hashed()))

    @property
    def types(self) -> Mapping[str, schema.Type]:
        return {t.type: t for t in domain().types}

    @property
    def library(self) -> Library:
        return Library(types=self.types, cache=self.cache)

    async def write(self, *ops: dict[str, Any], days: int = 0) -> None:
        """Through the gate, so many days later."""
        delta = {"domain": "trade", "ops": list(ops)}
        clock = FixedClock(CLOCK.now() + timedelta(days=days))
        done = await gate.submit(self.db, delta, author=INTAKE, rights=gate.ALL, clock=clock)
        assert isinstance(done, gate.Committed), [str(r) for r in done.rejections]

    async def follow(self) -> index.Followed:
        """Passages, names and vectors of everything."""
        done = await index.catch_up(self.db, self.types)
        await index.embed(self.db, self.cache)
        return done


async def opened(db: store.Database) -> World:
    await domains.upload(db, domain(), author=INTAKE, at=CLOCK.now())
    return World(db=db)


def firm(key: str, owner: str = ANN, **values: Any) -> dict[str, Any]:
    return _node("Firm", {"key": key}, {"owner": owner, **values}, f"$firm-{key}")


def memo(id: str, of: str, body: str = "", *, readers: Sequence[str] = STAFF, **values: Any) -> list[dict[str, Any]]:
    made = {"firm": of, "readers": list(readers), **({"body": body} if body else {}), **values}
    return _owned("Memo", {"id": id}, made, of)


def talk(id: str, of: str, *said: str | tuple[str, str], **values: Any) -> list[dict[str, Any]]:
    turns = [{"who": s[0], "text": s[1]} if isinstance(s, tuple) else {"who": "Ada", "text": s} for s in said]
    return _owned("Talk", {"id": id}, {"firm": of, "turns": turns, **values}, of)


def month(of: str, when: str, calls: int) -> list[dict[str, Any]]:
    return _owned("Month", {"firm": of, "month": when}, {"calls": calls}, of)


def table(name: str, *columns: str, readers: Sequence[str] = STAFF, comment: str = "") -> list[dict[str, Any]]:
    """With its columns, `name`, `name TYPE` or `name TYPE what it says`."""
    made = {"comment": comment, "readers": list(readers)}
    return [
        _node("Table", {"schema": "main", "name": name}, made, f"$table-{name}"),
        *(op for c in columns for op in column(name, c, readers=readers)),
    ]


def column(table: str, said: str, *, readers: Sequence[str] = STAFF) -> list[dict[str, Any]]:
    name, kind, comment = (*said.split(" ", 2), "", "")[:3]
    made = {"data_type": kind, "comment": comment, "nullable": False, "readers": list(readers)}
    return [_node("Column", {"schema": "main", "table": table, "name": name}, made, f"$column-{table}-{name}")]


def remove(handle: str) -> dict[str, Any]:
    return {"kind": "delete_node", "target": {"handle": handle}}


def change(handle: str, **values: Any) -> dict[str, Any]:
    return {"kind": "update_node", "target": {"handle": handle}, "set": values}


def edge(kind: str, source: str, target: str) -> dict[str, Any]:
    return {"kind": "create_edge", "edge_type": kind, "from": {"handle": source}, "to": {"handle": target}}


def _node(kind: str, match: dict[str, Any], made: dict[str, Any], ref: str) -> dict[str, Any]:
    return {"kind": "upsert_node", "node_type": kind, "ref": ref, "match": match, "set": made}


def _owned(kind: str, match: dict[str, Any], made: dict[str, Any], of: str) -> list[dict[str, Any]]:
    ref = f"$own-{kind}-{'-'.join(match.values())}"
    tie = {"kind": "create_edge", "edge_type": f"{kind.lower()}_of", "from": {"ref": ref}}
    return [_node(kind, match, made, ref), tie | {"to": {"handle": f"Firm#{of}"}}]
