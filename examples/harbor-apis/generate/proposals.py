"""Records as proposals for the gate: compound deltas of upserts by natural key, with edges between them.

Every delta has an idempotency key made of its content, so a second run replays the commits of the first and changes
nothing. Deltas come in an order in which every edge finds its other end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from .records import DOMAINS, KEYS, Record, handle

ORDER = tuple(dict.fromkeys(DOMAINS.values()))
"""A domain refers only to itself and to those before it."""


def deltas(records: Iterable[Record], size: int = 200) -> Iterator[dict[str, Any]]:
    """Deltas of at most `size` records, each of one domain. Needs memory for `size` records of each domain."""
    waiting: dict[str, list[Record]] = {domain: [] for domain in ORDER}
    for made in records:
        batch = waiting[made["domain"]]
        batch.append(made)
        if len(batch) == size:
            yield from _emptied(waiting, last=made["domain"])
    yield from _emptied(waiting, last=ORDER[-1])


def _emptied(waiting: dict[str, list[Record]], *, last: str) -> Iterator[dict[str, Any]]:
    """The waiting records of `last` and of every domain that it may refer to."""
    for domain in ORDER[: ORDER.index(last) + 1]:
        if waiting[domain]:
            yield _delta(domain, waiting[domain])
            waiting[domain] = []


def _delta(domain: str, batch: list[Record]) -> dict[str, Any]:
    refs = {handle(made): f"$n{i}" for i, made in enumerate(batch)}
    ops: list[dict[str, Any]] = []
    for name, made in zip(refs, batch, strict=True):
        key, fields = KEYS[made["type"]], made["fields"]
        op: dict[str, Any] = {
            "kind": "upsert_node",
            "ref": refs[name],
            "node_type": made["type"],
            "match": {k: fields[k] for k in key},
            "set": {k: v for k, v in fields.items() if k not in key},
        }
        if "state" in made:
            op["to_state"] = made["state"]
        ops.append(op)
    for name, made in zip(refs, batch, strict=True):
        for edge in made["edges"]:
            to = edge["to"]
            target = {"ref": refs[to]} if to in refs else {"handle": to}
            ops.append({"kind": "create_edge", "edge_type": edge["edge"], "from": {"ref": refs[name]}, "to": target})
    content = json.dumps(ops, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return {"domain": domain, "key": f"harbor-apis:{hashlib.sha256(content.encode()).hexdigest()[:32]}", "ops": ops}
