"""In which order connectors pull: what edges lead to has to be there before what they lead from."""

from __future__ import annotations

from collections.abc import Iterable

from ukai.connect.definition import Connector


def ordered(connectors: Iterable[Connector]) -> list[Connector]:
    """By name, but each behind those that make the types its edges match; in a circle the first one waits."""
    given = sorted(connectors, key=lambda c: c.name)
    found: dict[str, Connector] = {}
    met = set[str]()

    def take(connector: Connector) -> None:
        met.add(connector.name)
        needs = {link.end.node_type for link in connector.file.edges}
        for other in given:
            if other.file.into.node_type in needs and other.name not in met:
                take(other)
        found[connector.name] = connector

    for connector in given:
        if connector.name not in met:
            take(connector)
    return list(found.values())
