"""Records as proposals for the gate: compound deltas of upserts by natural key, with edges between them.

Every delta has an idempotency key made of its content, so a second run replays the commits of the first and changes
nothing. Deltas come in an order in which every edge finds its other end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .records import DOMAINS, KEYS, Record, handle

ORDER = tuple(dict.fromkeys(DOMAINS.values()))
"""A domain refers only to itself and to those before it."""

Keys = Mapping[str, tuple[str, ...]]


def deltas(
    records: Iterable[Record], size: int = 200, *, keys: Keys = KEYS, order: Sequence[str] = ORDER
) -> Iterator[dict[str, Any]]:
    """Deltas of at most `size` records, each of one domain. Needs memory for `size` records of each domain.

    `keys` (type -> fields of its natural key) and `order` (domains, referred to before referring) are this company's
    unless others are given.
    """
    waiting: dict[str, list[Record]] = {domain: [] for domain in order}
    for made in records:
        batch = waiting[made["domain"]]
        batch.append(made)
        if len(batch) == size:
            yield from _emptied(waiting, keys, last=made["domain"])
    yield from _emptied(waiting, keys, last=order[-1])


def _emptied(waiting: dict[str, list[Record]], keys: Keys, *, last: str) -> Iterator[dict[str, Any]]:
    """The waiting records of `last` and of every domain that it may refer to."""
    for domain, batch in waiting.items():
        if batch:
            yield _delta(domain, batch, keys)
            waiting[domain] = []
        if domain == last:
            return


def _delta(domain: str, batch: list[Record], keys: Keys) -> dict[str, Any]:
    refs = {handle(made, keys): f"$n{i}" for i, made in enumerate(batch)}
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for ref, made in zip(refs.values(), batch, strict=True):
        key, fields = keys[made["type"]], made["fields"]
        node: dict[str, Any] = {
            "kind": "upsert_node",
            "ref": ref,
            "node_type": made["type"],
            "match": {k: fields[k] for k in key},
            "set": {k: v for k, v in fields.items() if k not in key},
        }
        if "state" in made:
            node["to_state"] = made["state"]
        nodes.append(node)
        for edge in made["edges"]:
            to = {"ref": refs[edge["to"]]} if edge["to"] in refs else {"handle": edge["to"]}
            edges.append({"kind": "create_edge", "edge_type": edge["edge"], "from": {"ref": ref}, "to": to})
    ops = nodes + edges
    content = json.dumps(ops, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return {"domain": domain, "key": f"{domain}:{hashlib.sha256(content.encode()).hexdigest()[:32]}", "ops": ops}
