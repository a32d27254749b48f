"""All connectors of a workspace: what is pointed at comes in before what points at it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.connect import world
from ukai.connect import definition, order


def made(name: str, type: str, *needs: str, side: str = "to") -> definition.Connector:
    links: list[dict[str, Any]] = [{"edge": "e", side: {"node_type": n, "match": {"id": "row.id"}}} for n in needs]
    return world.connector(connector=name, into={"domain": "crm", "node_type": type}, edges=links)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([made("a", "Column", "Table"), made("b", "Table", "Schema"), made("c", "Schema")], "cba"),
        ([made("a", "Column", "Table", side="from"), made("b", "Table"), made("c", "Table")], "bca"),
        ([made("b", "X"), made("a", "Y", "Elsewhere")], "ab"),
        ([made("a", "Page", "Page")], "a"),
        ([made("d", "X", "Y"), made("c", "Y", "X"), made("b", "Z", "X"), made("a", "W", "Z")], "cdba"),
    ],
)
def test_connectors_come_after_what_they_point_at(given: list[definition.Connector], expected: str):
    assert "".join(c.name for c in order.ordered(given)) == expected
