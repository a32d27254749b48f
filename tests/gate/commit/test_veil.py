"""What a refusal names follows the writer's rights on fields, whatever is refused and whyever (P3.1, P3.5, W4, W5)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gate import world
from ukai import access, gate, store
from ukai.gate import contract, describe, domains
from ukai.kit import document

DOMAIN = b"""
domain: world
types:
  - type: Shop
    key: name
    path: "shops/{name}"
    fields:
      - {key: name, kind: string, required: true}
      - {key: size, kind: integer, min: 0}
      - {key: kind, kind: enum, values: [small, large]}
      - {key: opened, kind: date, immutable: true}
      - {key: seal, kind: string, unique: true}
      - {key: near, kind: ref, to: Shop}
      - {key: canary_floor, kind: number, places: 2}
      - {key: canary_seal, kind: string, unique: true}
      - {key: canary_day, kind: date, immutable: true}
      - {key: canary_grade, kind: enum, values: [canary_one, canary_two], default: canary_one}
    states:
      initial: [canary_open]
      values: [canary_open, canary_shut, canary_gone]
      transitions: [{from: canary_open, to: canary_shut}, {from: canary_shut, to: canary_gone}]
    rules:
      - {id: floor, require: "new.size < 100 || dec(new.canary_floor) > 10000"}
      - {id: graded, require: "new.size != 50 || new.canary_grade == 'canary_two'"}
      - {id: grows, require: "old == null || new.size >= 0 && (new.size < 60 || old.canary_grade == 'canary_two')"}
  - type: Order
    key: number
    fields:
      - {key: number, kind: integer, required: true}
      - {key: note, kind: string}
      - {key: canary_price, kind: number, required: true}
  - {type: Keeper, key: name, fields: [{key: name, kind: string, required: true}, {key: canary_pay, kind: integer}]}
  - type: CanaryFile
    key: name
    fields: [{key: name, kind: string, required: true}]
edges:
  - {edge: beside, from: Shop, to: Shop, max_out: 1, fields: [{key: since, kind: date, required: true}]}
  - {edge: canary_filed, from: Shop, to: CanaryFile}
  - {edge: kept_by, from: Shop, to: Keeper}
"""
FIELDS = "[name, size, kind, opened, seal, near, beside, kept_by]"
POLICIES = f"""
policies:
  - {{id: reads, allow: read, records: {{types: [Shop, Order]}}, to: [ben@example.com]}}
  - {{id: not-all, deny: read, records: {{types: [Shop]}}, to: [ben@example.com],
      fields: [canary_floor, canary_seal, canary_grade, canary_day, state]}}
  - {{id: no-price, deny: read, records: {{types: [Order]}}, fields: [canary_price], to: [ben@example.com]}}
  - {{id: writes, allow: write, records: {{types: [Shop]}}, fields: {FIELDS}, to: [ben@example.com]}}
  - {{id: cal-reads, allow: read, records: {{types: [Shop]}}, to: [cal@example.com]}}
  - {{id: cal-not-all, deny: read, records: {{types: [Shop]}}, to: [cal@example.com],
      fields: [canary_floor, canary_day, state]}}
  - {{id: cal-writes, allow: write, records: {{types: [Shop]}}, fields: ["*"], transitions: ["*->*"],
      to: [cal@example.com]}}
  - {{id: orders, allow: write, records: {{types: [Order]}}, fields: [number, note], to: [ben@example.com]}}
""".encode()
HIDDEN = ("canary_floor", "canary_seal", "canary_grade", "canary_filed", "CanaryFile", "canary_pay", "canary_price")
CONTRACT = {"kind": "update_node", "node_type": "Shop", "required_fields": ["kind"]}


def rights(who: str = "ben@example.com") -> access.Rights:
    files, findings = access.read({"policies.yaml": document.read(POLICIES, name="policies.yaml")[0]})
    assert findings == [], findings
    return files.rights(files.audience([who]), "(direct)", channel="cli")


def shop(name: str = "new", **values: Any) -> world.Op:
    return {"kind": "create_node", "node_type": "Shop", "set": {"name": name, "size": 1, **values}}


def order(**values: Any) -> world.Op:
    return {"kind": "create_node", "node_type": "Order", "set": {"number": 1, **values}}


def change(**values: Any) -> world.Op:
    return world.change("Shop#a", **values)


def upsert(match: dict[str, Any], **values: Any) -> world.Op:
    return {"kind": "upsert_node", "node_type": "Shop", "match": match, "set": values}


def beside(to: str, **values: Any) -> world.Op:
    return world.edge("beside", "Shop#a", to, **({"set": values} if values else {}))


CASES: dict[str, list[world.Op]] = {
    "a field that is near a hidden one": [change(canary_flor=1)],
    "a field that is near nothing": [change(zzz=1)],
    "a field of another type": [order(zzz=1)],
    "a hidden field that is required": [order()],
    "a value of a wrong kind": [change(size="x"), shop("n", kind="medium")],
    "a value out of its bounds": [change(size=-1)],
    "an unknown state": [change(to_state="closed")],
    "a type that is near a hidden one": [{"kind": "create_node", "node_type": "CanaryFil", "set": {}}],
    "an edge that is near a hidden one": [world.edge("canary_file", "Shop#a", "Shop#b")],
    "a match that names nothing": [upsert({"size": 1})],
    "a match by a field that is near a hidden one": [upsert({"canary_sea": "s"})],
    "a rule over what is hidden": [shop("n", size=200)],
    "a rule over a hidden default": [shop("n", size=50)],
    "a rule over a hidden default, of what is there": [change(size=50)],
    "a rule over a hidden default, of an upsert": [upsert({"name": "n"}, size=50)],
    "a rule over what was hidden": [change(size=70)],
    "a rule over a node that is changed in the same delta": [
        {**shop("n"), "ref": "$n"},
        {"kind": "update_node", "target": {"ref": "$n"}, "set": {"size": 50}},
    ],
    "a test of a field that is near a hidden one": [{**change(size=1), "test": {"canary_grad": "x"}}],
    "a version that is old": [{**change(size=3), "if_version": 1}],
    "a value that is set once": [change(opened="2026-01-02")],
    "a value that is taken": [change(seal="of b")],
    "an edge too many": [beside("Shop#a", since="2026-01-01")],
    "an edge without what it needs": [beside("Shop#a")],
    "a target that is not there": [world.change("Shop#bb", size=1)],
    "a reference to a type that is near a hidden one": [change(near="CanaryFil#x")],
    "a field that may be read and not written": [order(note="n"), world.change("Order#7", number=8)],
    "a deletion": [world.remove("Shop#b")],
}


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database, DOMAIN)
    await world.done(
        database,
        shop("a", size=1, opened="2026-01-01", canary_floor="7", canary_day="2026-01-01"),
        shop("b", seal="of b"),
        order(canary_price=3),
        world.edge("beside", "Shop#a", "Shop#b", set={"since": "2026-01-01"}),
    )
    await world.done(database, change(canary_floor="8", size=2))
    return database


async def refused(db: store.Database, *ops: world.Op, who: str = "ben@example.com", **more: Any) -> gate.Rejected:
    outcome = await world.propose(db, *ops, rights=rights(who), **more)
    assert isinstance(outcome, gate.Rejected), outcome
    assert outcome.rejections, "refused without a reason"
    return outcome


async def test_no_refusal_names_what_its_writer_sees_nothing_of(db: store.Database):
    told: dict[str, str] = {}
    seen: set[str] = set()
    for name, ops in CASES.items():
        outcome = await refused(db, *ops, dry_run=True)
        seen |= {r.code for r in outcome.rejections}
        said = json.dumps([r.as_json() for r in outcome.rejections])
        for given in ("canary_flor", "CanaryFil#x", '"CanaryFil"', "'CanaryFil'", "'canary_file'", '"canary_file"'):
            said = said.replace(given, "")
        told[name] = said

    leaks = {name: said for name, said in told.items() if any(h in said for h in (*HIDDEN, "canary_o", "canary_t"))}
    assert leaks == {}
    assert len(seen) >= 14, sorted(seen)


async def test_a_hidden_name_is_answered_like_one_that_does_not_exist(db: store.Database):
    ways = [
        lambda name: change(**{name: 1}),
        lambda name: change(size=4, **{name: 1}),
        lambda name: shop("n", **{name: 1}),
        lambda name: {**change(size=4), "test": {name: 1}},
        lambda name: upsert({name: "x"}, size=1),
        lambda name: upsert({"name": "a"}, **{name: "x"}),
    ]
    for hidden, absent in (("canary_floor", "banana_floor"), ("canary_seal", "banana_seal")):
        for way in ways:
            of_hidden, of_absent = [await refused(db, way(n), dry_run=True) for n in (hidden, absent)]
            said = json.dumps(of_hidden.as_json()).replace(hidden, absent)
            assert [r["code"] for r in json.loads(said)["findings"]] == [r.code for r in of_absent.rejections]
            assert _without_prints(said) == _without_prints(json.dumps(of_absent.as_json()))


async def test_a_node_named_by_its_id_tells_no_more_than_one_named_by_its_handle(db: store.Database):
    async with db.transaction() as tx:
        id = await tx.value("select id from node where type = 'Shop' and key = 'a'")
    op = {"kind": "update_node", "target": {"id": str(id)}, "set": {"canary_flor": 1}}

    (found,) = (await refused(db, op, dry_run=True)).rejections

    assert found.code == "unknown_field"
    assert "canary_floor" not in json.dumps(found.as_json())


async def test_an_edge_that_may_be_written_is_there_whatever_else_is_wrong(db: store.Database):
    kept = {"kind": "create_edge", "edge_type": "kept_by", "from": {"handle": "Shop#a"}, "to": {"handle": "Keeper#k"}}

    outcome = await refused(db, change(size="x"), kept, dry_run=True)

    assert [r.code for r in outcome.rejections] == ["type_mismatch"]


async def test_a_contract_is_compared_with_what_is_seen(db: store.Database):
    promised, found = contract.read({"produces": {"deltas": [CONTRACT]}})
    assert promised is not None, found

    outcome = await refused(db, change(canary_flor=1), contract=promised, dry_run=True)

    assert {r.code for r in outcome.rejections} == {"unknown_field", "contract_incomplete"}
    assert not any(h in json.dumps(outcome.as_json()) for h in HIDDEN)


@pytest.mark.parametrize(
    ("op", "untold"),
    [
        pytest.param(world.remove("Shop#a", if_version=1), "canary_floor by", id="who changed it"),
        pytest.param(upsert({"name": "a"}, canary_day="2026-01-02"), "2026-01-01", id="the value it keeps"),
        pytest.param(change(to_state="canary_gone"), "is canary_open", id="the state it is in"),
    ],
)
async def test_of_a_field_that_may_only_be_written_a_refusal_tells_no_value(
    db: store.Database, op: world.Op, untold: str
):
    of_cal = await refused(db, op, who="cal@example.com", dry_run=True)
    of_all = await world.propose(db, op, dry_run=True)

    assert untold in str(of_all.as_json())
    assert untold not in str([r.as_json() | {"values": {}} for r in of_cal.rejections])


async def test_whoever_sees_everything_is_told_everything(db: store.Database):
    outcome = await world.propose(db, change(canary_flor=1), order(note="n"))

    assert isinstance(outcome, gate.Rejected)
    assert "canary_floor" in str(outcome.rejections[0])
    assert "canary_price" in str(outcome.rejections[1])


async def test_what_is_told_is_what_the_page_of_the_type_shows(db: store.Database):
    catalogue = await domains.known(db)
    page = describe.of(catalogue, "Shop", rights())
    assert page is not None

    (found,) = (await refused(db, change(zzz=1), dry_run=True)).rejections

    assert found.expected_value == {"fields": [f.key for f in page.fields]}
    assert "canary" not in json.dumps(page.as_json())


def _without_prints(said: str) -> Any:
    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: clean(v) for k, v in value.items() if k != "fingerprint"}
        return [clean(v) for v in value] if isinstance(value, list) else value

    return clean(json.loads(said))
