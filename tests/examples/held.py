"""A generated record held against the domain that declares it, before any gate sees it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.examples import sample
from ukai.graph.catalogue import Catalogue, CompiledType


def problems(made: dict[str, Any], catalogue: Catalogue, *, keys: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Everything in which the record differs from what its domain allows, as `handle what ..`."""
    kind = catalogue.type(made["type"])
    assert kind is not None
    name = sample.generator().handle(made, keys)
    return [f"{name} {problem}" for problem in (*_values(made, kind), *_edges(made, catalogue))]


def _values(made: dict[str, Any], kind: CompiledType) -> Iterator[str]:
    fields: dict[str, Any] = {f.key: f.default for f in kind.filled} | made["fields"]
    yield from (f"{f.key} is missing" for f in kind.required if f.key not in fields)
    canonical: dict[str, Any] = {}
    for key, value in fields.items():
        wrong: list[Any] = []
        if key in kind.checks:
            canonical[key] = kind.checks[key](value, key, wrong)
        else:
            wrong.append("is unknown")
        yield from (f"{key} {problem}" for problem in wrong)
    if kind.type.states:
        canonical["state"] = made["state"]
        if made["state"] not in kind.type.states.initial:
            yield f"state {made['state']}"
    for rule, program in kind.rules:
        held = program.evaluate({"new": canonical, "old": None, "author": "service:intake"})
        if held is not True:
            yield f"{rule.id} {held}"


def _edges(made: dict[str, Any], catalogue: Catalogue) -> Iterator[str]:
    out = Counter(edge["edge"] for edge in made["edges"])
    for edge in made["edges"]:
        declared = catalogue.edge(edge["edge"])
        assert declared is not None
        if made["type"] not in declared.type.sources or edge["to"].partition("#")[0] not in declared.type.targets:
            yield f"{edge['edge']} joins the wrong types"
    for name in catalogue.edges():
        edge_type = catalogue.edge(name)
        assert edge_type is not None
        lowest, highest = edge_type.type.min_out, edge_type.type.max_out
        if made["type"] in edge_type.type.sources and not lowest <= out[name] <= (highest or out[name]):
            yield f"{name} {out[name]} times"
