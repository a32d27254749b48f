"""The graph as plain Python: what the gate should do, said without a database, a lock or a line of SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

TRANSITIONS = {("planned", "built"), ("built", "ruined")}


@dataclass
class Town:
    props: dict[str, Any]
    state: str = "planned"
    version: int = 1
    fields: dict[str, int] = field(default_factory=dict)


@dataclass
class World:
    """Towns by name, houses by (town of the key, number), edges as sets of pairs."""

    towns: dict[str, Town] = field(default_factory=dict)
    houses: dict[str, str] = field(default_factory=dict)
    """House key -> the town it stands in."""
    roads: set[tuple[str, str]] = field(default_factory=set)
    twins: set[tuple[str, str]] = field(default_factory=set)
    above: set[tuple[str, str]] = field(default_factory=set)

    def found(self, name: str, props: dict[str, Any]) -> str:
        """Create a town: "" or the code of the refusal."""
        if name in self.towns or self.seal_is_taken(props.get("seal"), name):
            return "unique_violation"
        self.towns[name] = Town(props={"name": name, **props})
        return ""

    def changed(self, name: str, given: dict[str, Any], state: str | None, base: int | None) -> set[str]:
        """Update a town; the codes of all refusals."""
        town = self.towns.get(name)
        codes: set[str] = set()
        if town is not None:
            names = [*given, *(["state"] if state else [])]
            late = base is not None and base < town.version and any(town.fields.get(n, 1) > base for n in names)
            if late or (base is not None and base > town.version):
                codes.add("conflict")
            if state and state != town.state and (town.state, state) not in TRANSITIONS:
                codes.add("invalid_transition")
        if self.seal_is_taken(given.get("seal"), name):
            codes.add("unique_violation")
        if town is None:
            return {"unknown_id"} | codes
        if codes:
            return codes
        differs = {k for k, v in given.items() if town.props.get(k) != v}
        differs |= {"state"} if state and state != town.state else set()
        if differs:
            town.version += 1
            town.fields |= dict.fromkeys(differs, town.version)
        town.props = {k: v for k, v in {**town.props, **given}.items() if v is not None}
        town.state = state or town.state
        return set()

    def built(self, town: str, number: int) -> str:
        """Create a house with the edge that it needs."""
        if town not in self.towns:
            return "unknown_id"
        if f"{town}:{number}" in self.houses:
            return "unique_violation"
        self.houses[f"{town}:{number}"] = town
        return ""

    def connected(self, kind: str, source: str, target: str) -> set[str]:
        """Create an edge between towns."""
        codes: set[str] = set()
        if not {source, target} <= self.towns.keys():
            return {"unknown_id"}
        edges: set[tuple[str, str]] = getattr(self, kind)
        if (source, target) in edges:
            codes.add("duplicate_edge")
        if kind == "roads" and sum(s == source for s, _ in edges) >= 2:
            codes.add("cardinality_max")
        if kind == "twins" and any(s == source or t == target for s, t in edges):
            codes.add("cardinality_max")
        if kind == "above" and self.leads(target, source):
            codes.add("edge_cycle")
        if not codes:
            edges.add((source, target))
        return codes

    def cut(self, kind: str, source: str, target: str) -> str:
        edges: set[tuple[str, str]] = getattr(self, kind)
        if (source, target) not in edges:
            return "unknown_id"
        edges.remove((source, target))
        return ""

    def removed(self, name: str) -> str:
        """Delete a town: its houses go with it, roads to it stand in the way, everything else is cut."""
        if name not in self.towns:
            return "unknown_id"
        if any(t == name and s != name for s, t in self.roads):
            return "restricted_delete"
        del self.towns[name]
        self.houses = {h: t for h, t in self.houses.items() if t != name}
        for kind in ("roads", "twins", "above"):
            setattr(self, kind, {(s, t) for s, t in getattr(self, kind) if name not in (s, t)})
        return ""

    def seal_is_taken(self, seal: Any, by: str) -> bool:
        return seal is not None and any(t.props.get("seal") == seal and n != by for n, t in self.towns.items())

    def leads(self, start: str, end: str) -> bool:
        seen, now = {start}, [start]
        while now:
            one = now.pop()
            if one == end:
                return True
            more = {t for s, t in self.above if s == one} - seen
            seen |= more
            now += more
        return False
