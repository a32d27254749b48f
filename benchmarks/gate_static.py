"""Layers 1 and 2 alone: one compound of five parts, from bytes to verdict, with no database (W8).

The reference is a plain validator of the same five parts in the same run: `jsonschema` with a compiled schema for each.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import jsonschema

from ukai.app.bench import Report
from ukai.gate import contract, door, shape
from ukai.gate.author import Author
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue

DOMAIN = b"""
domain: bench
types:
  - type: Pull
    key: [repo, number]
    fields:
      - {key: number, kind: integer, required: true, min: 1}
      - {key: repo, kind: string, required: true}
      - {key: title, kind: string, required: true, max_length: 300}
      - {key: author, kind: string, required: true}
      - {key: classification, kind: enum, values: [small fix, feature, refactor]}
      - {key: cost, kind: number, places: 2}
    states: {values: [open, ready, merged], transitions: [{from: open, to: ready}, {from: ready, to: merged}]}
    rules:
      - {id: classified, require: "new.state != 'merged' || has(new.classification)", message: classified}
  - {type: Issue, key: number, fields: [{key: number, kind: integer, required: true}, {key: title, kind: string}]}
  - {type: Repo, key: name, fields: [{key: name, kind: string, required: true}]}
edges:
  - {edge: closes, from: Pull, to: Issue, max_in: 1}
  - {edge: in_repo, from: Pull, to: Repo, min_out: 1, max_out: 1, fields: [{key: since, kind: date}]}
"""
PULL = {"number": 42, "repo": "api", "title": "Retry", "author": "kim", "classification": "feature", "cost": "12.50"}
OPS: list[dict[str, Any]] = [
    {"kind": "create_node", "ref": "$pull", "node_type": "Pull", "set": PULL},
    {"kind": "create_node", "ref": "$issue", "node_type": "Issue", "set": {"number": 7, "title": "Slow"}},
    {
        "kind": "update_node",
        "target": {"context_ref": "subject"},
        "set": {"classification": "feature"},
        "to_state": "ready",
    },
    {"kind": "create_edge", "edge_type": "in_repo", "from": {"ref": "$pull"}, "to": {"handle": "Repo#api"}},
    {"kind": "create_edge", "edge_type": "closes", "from": {"ref": "$pull"}, "to": {"ref": "$issue"}},
]
CONTRACT = {
    "produces": {
        "deltas": [
            {
                "kind": "update_node",
                "node_type": "Pull",
                "target": {"context_ref": "subject"},
                "required_fields": ["classification"],
            },
            {"kind": "create_node", "node_type": "Pull"},
            {"kind": "create_node", "node_type": "Issue"},
            {"kind": "create_edge", "edge_type": "in_repo"},
            {"kind": "create_edge", "edge_type": "closes"},
        ]
    }
}


def run(options: Mapping[str, str]) -> Report:
    """Microseconds of processor time, median and p99 over `--rounds` (default 2,000) of each part."""
    rounds = int(options.get("rounds", "2000"))
    domain, findings = domain_file.read(DOMAIN, name="bench.yaml")
    promised, more = contract.read(CONTRACT)
    if domain is None or promised is None:
        raise ValueError([*findings, *more])
    catalogue = Catalogue([domain])
    raw = json.dumps({"ops": OPS}).encode()
    context, author, now = (
        {"subject": "Pull#api:41"},
        Author(kind="agent", id="bench"),
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    delta, _ = door.read(raw)
    if delta is None:
        raise ValueError("the compound is not well formed")

    def layer_1() -> shape.Checked:
        return shape.check(delta, catalogue, author=author, now=now, context=context)

    scene = layer_1().scene

    def layers() -> None:
        verdict = layer_1()
        if verdict.plan is None or contract.compare(promised, verdict.scene):
            raise ValueError("the compound is fine")

    timed = {
        "door": _timed(lambda: door.read(raw), rounds),
        "layer_1": _timed(layer_1, rounds),
        "layer_2": _timed(lambda: contract.compare(promised, scene), rounds),
        "layers_1_and_2": _timed(layers, rounds),
        "jsonschema": _timed(_second(), rounds),
    }
    figures = {
        f"{name}_{q}_us": value for name, pair in timed.items() for q, value in zip(("p50", "p99"), pair, strict=True)
    }
    return Report(
        figures=figures,
        ratios={"layers_against_jsonschema": figures["layers_1_and_2_p50_us"] / figures["jsonschema_p50_us"]},
        notes=("processor time, so that other work on the machine counts less",),
    )


def _second() -> Callable[[], None]:
    values = {"type": "object", "required": ["number"], "additionalProperties": {"type": ["string", "integer", "null"]}}
    schema = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "set": values}}
    validator = jsonschema.Draft202012Validator({"type": "array", "items": schema})
    return lambda: validator.validate(OPS[:2] + [{"kind": o["kind"]} for o in OPS[2:]])


def _timed(act: Callable[[], Any], rounds: int) -> tuple[float, float]:
    for _ in range(max(1, rounds // 10)):
        act()
    taken: list[int] = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        act()
        taken.append(time.process_time_ns() - begin)
    ordered = sorted(taken)
    return round(statistics.median(ordered) / 1000, 1), round(ordered[int(len(ordered) * 0.99)] / 1000, 1)
