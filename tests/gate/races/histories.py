"""A checker of histories of lists that are read and appended to, after Elle (Kingsbury & Alvaro 2020).

From what committed transactions read it infers who followed whom (ww, wr, rw, and real time) and looks for circles:
G0 (writes alone), G1c (writes and reads), G2 (with what a read did not see), and any circle against real time. It also
counts reads of what was never committed (G1a), lists with repetitions, and lists that are no prefix of one another.
It agreed with Elle on four of its public histories; it looks for no smallest counterexample.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import networkx as nx

Op = tuple[Literal["append", "read"], str, object]
"""("append", key, value) or ("read", key, list of values)."""


@dataclass(frozen=True, kw_only=True)
class Txn:
    """One transaction as its client saw it."""

    id: int
    ops: Sequence[Op]
    start: float
    end: float
    ok: bool | None = True
    """None: the client never heard."""


def anomalies(history: Sequence[Txn], *, realtime: bool = True) -> Mapping[str, int]:
    """Kind of anomaly -> how many; empty for a history that some order of whole transactions explains."""
    found: Counter[str] = Counter()
    committed = [t for t in history if t.ok is True]
    writer = {(op[1], op[2]): t for t in history for op in t.ops if op[0] == "append"}
    longest = _longest(committed)
    for txn in committed:
        found["internal"] += _contradicts_itself(txn)
        for _, key, values in _reads(txn):
            found["G1a"] += sum(1 for v in values if (key, v) not in writer or writer[key, v].ok is False)
            found["repetition"] += len(set(values)) != len(values)
            found["no prefix"] += longest[key][: len(values)] != values
    graph = _followed(committed, writer, longest)
    if realtime:
        graph.add_edges_from((a, b, {"kind": "rt"}) for a, b in _realtime(committed))
    for name, kinds in (
        ("G0", {"ww"}),
        ("G1c", {"ww", "wr"}),
        ("G2", {"ww", "wr", "rw"}),
        ("against real time", {"ww", "wr", "rw", "rt"}),
    ):
        part = nx.DiGraph((a, b) for a, b, kind in graph.edges(data="kind") if kind in kinds)
        found[name] += sum(1 for c in nx.strongly_connected_components(part) if len(c) > 1)
    return {name: n for name, n in found.items() if n}


def _reads(txn: Txn) -> list[tuple[str, str, list[object]]]:
    return [("read", key, list(value)) for kind, key, value in txn.ops if kind == "read"]  # type: ignore[call-overload]


def _longest(committed: Sequence[Txn]) -> defaultdict[str, list[object]]:
    found: defaultdict[str, list[object]] = defaultdict(list)
    for txn in committed:
        for _, key, values in _reads(txn):
            if len(values) > len(found[key]):
                found[key] = values
    return found


def _contradicts_itself(txn: Txn) -> int:
    """A transaction that does not see its own appends, or reads two values of one list."""
    found = 0
    seen: dict[str, list[object]] = {}
    own: defaultdict[str, list[object]] = defaultdict(list)
    for kind, key, value in txn.ops:
        if kind == "append":
            own[key].append(value)
            if key in seen:
                seen[key] = [*seen[key], value]
        else:
            values = list(value)  # type: ignore[call-overload]
            found += (key in seen and seen[key] != values) or (
                key not in seen and bool(own[key]) and values[-len(own[key]) :] != own[key]
            )
            seen[key] = values
    return found


def _followed(
    committed: Sequence[Txn], writer: Mapping[tuple[str, object], Txn], longest: Mapping[str, list[object]]
) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    ids = {t.id for t in committed}
    unseen: defaultdict[str, list[tuple[object, int]]] = defaultdict(list)
    for (key, value), txn in writer.items():
        if txn.id in ids and value not in longest.get(key, []):
            unseen[key].append((value, txn.id))
    for key, values in longest.items():
        for before, after in pairwise(values):
            if (key, before) in writer and (key, after) in writer:
                _follows(graph, writer[key, before].id, writer[key, after].id, "ww")
    for txn in committed:
        for _, key, values in _reads(txn):
            foreign = [v for v in values if (key, v) in writer and writer[key, v].id != txn.id]
            if foreign:
                _follows(graph, writer[key, foreign[-1]].id, txn.id, "wr")
            for value, other in unseen[key]:
                if value not in values:
                    _follows(graph, txn.id, other, "rw")
            rest = longest[key][len(values) :]
            if rest and (key, rest[0]) in writer:
                _follows(graph, txn.id, writer[key, rest[0]].id, "rw")
    return graph


def _follows(graph: nx.MultiDiGraph, before: int, after: int, kind: str) -> None:
    if before != after:
        graph.add_edge(before, after, kind=kind)


def _realtime(committed: Sequence[Txn]) -> list[tuple[int, int]]:
    """Who had ended before whom began, without what follows from others."""
    events = sorted([(t.end, 0, t) for t in committed] + [(t.start, 1, t) for t in committed], key=lambda e: e[:2])
    found: list[tuple[int, int]] = []
    frontier: list[Txn] = []
    for _, begins, txn in events:
        if begins:
            found += [(other.id, txn.id) for other in frontier]
        else:
            frontier = [o for o in frontier if o.end >= txn.start] + [txn]
    return found
