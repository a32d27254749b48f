from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from tests import shared
from tests.examples import sample
from tests.examples.held import problems
from tests.flows.workbench import mapping
from ukai import gate, store
from ukai.gate import author, domains
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue
from ukai.kit.clock import FixedClock

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


async def test_the_tables_enter_through_the_gate_and_enter_once(database: store.Database):
    domain, _ = domain_file.read(mapping.DOMAIN.read_bytes(), name="domain.yaml", others=[])
    assert domain is not None
    intake = author.Author(kind="connector", id="service:workbench")
    clock = FixedClock(datetime(2023, 12, 1, tzinfo=UTC))
    await domains.upload(database, domain, author=intake, at=clock.now())

    for replayed in (False, True):
        for delta in mapping.deltas():
            done = await gate.submit(database, delta, author=intake, rights=gate.ALL, clock=clock)
            assert isinstance(done, gate.Committed)
            assert done.replayed is replayed
