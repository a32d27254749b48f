from __future__ import annotations

from collections import Counter

from tests import shared
from tests.examples import sample
from tests.examples.held import problems
from tests.flows.workbench import mapping
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue

pytestmark = shared.needs("enterprise", "workbench")


def test_every_row_becomes_one_record_that_keeps_the_rules_of_the_domain():
    domain, findings = domain_file.read(mapping.DOMAIN.read_bytes(), name="domain.yaml", others=[])
    assert findings == []
    assert domain is not None

    made = list(mapping.records())

    assert Counter(m["type"] for m in made) == {
        "Colleague": 20,
        "Customer": 200,
        "Message": 500,
        "Event": 300,
        "Task": 300,
        "Visit": 1_000,
    }
    handles = [sample.generator().handle(m, mapping.KEYS) for m in made]
    assert len(set(handles)) == len(handles)
    assert [p for m in made for p in problems(m, Catalogue([domain]), keys=mapping.KEYS)] == []


def test_the_deltas_hold_every_record_and_are_the_same_every_time():
    first = list(mapping.deltas())

    assert sum(op["kind"] == "upsert_node" for delta in first for op in delta["ops"]) == 2_320
    assert list(mapping.deltas()) == first
