"""The shop's files as records of `domain.yaml`, and the graph's records as the facts that both sides are compared by.

Source: tau2-bench (MIT), its retail data; read by path, never copied. An order is named without the `#` of the files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests import shared
from tests.gate.tau_retail import reading
from ukai import gate, store
from ukai.gate import domains
from ukai.gate.author import Author
from ukai.graph import domain_file, schema
from ukai.kit import handle
from ukai.kit.clock import SystemClock

FOLDER = shared.DATA / "gate" / "tau_retail"
CLOCK = SystemClock()
INTAKE = Author(kind="connector", id="service:intake")
SIZE = 200
"""Nodes of a loading delta."""

Row = dict[str, Any]
Facts = dict[str, dict[str, Any]]
"""`orders` and `users` by id."""


@cache
def table(name: str) -> tuple[Any, ...]:
    """One of users, orders, products, tasks."""
    return tuple(json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())


@cache
def tasks() -> Mapping[str, tuple[Any, ...]]:
    """Task -> its gold writes in order: `{"action_id", "name", "arguments"}`."""
    return {
        t["id"]: tuple(a for a in t["evaluation_criteria"]["actions"] if a["name"] in reading.WRITES)
        for t in table("tasks")
    }


@cache
def beginning() -> reading.State:
    """The second reading's state of the files."""
    return reading.initial(table("users"), table("orders"), table("products"))


@cache
def domain(without: str = "") -> schema.Domain:
    """The shop's rules, one of them replaced by one that always holds; they load without a finding."""
    source = (Path(__file__).parent / "domain.yaml").read_text(encoding="utf-8")
    if without:
        rule = rf"(- id: {re.escape(without)}\n\s+require: )(?:>-\n(?:\s{{10}}.*\n)+|\".*\"\n)"
        source, times = re.subn(rule, r'\1"true"\n', source)
        assert times == 1, without
    found, findings = domain_file.read(source.encode(), name="domain.yaml")
    assert findings == []
    assert found is not None
    return found


async def upload(db: store.Database, *, without: str = "") -> None:
    """Make the rules the current ones."""
    done = await domains.upload(db, domain(without), author=INTAKE, at=CLOCK.now())
    assert done.findings == ()


async def load(db: store.Database) -> None:
    """Upload the domain and let the whole shop in through the gate."""
    await upload(db)
    for delta in deltas():
        outcome = await gate.submit(db, delta, author=INTAKE, rights=gate.ALL, clock=CLOCK)
        assert isinstance(outcome, gate.Committed), [str(r) for r in outcome.rejections[:3]]


def deltas() -> Iterator[dict[str, Any]]:
    """What loads the shop, what is named before what names it."""
    for node_type, records in (
        ("Customer", _customers()),
        ("PaymentMethod", _methods()),
        ("Product", [{"set": {"product_id": p["product_id"], "name": p["name"]}} for p in table("products")]),
        ("Variant", _variants()),
        ("Offer", _offers()),
    ):
        rows = list(records)
        for i in range(0, len(rows), SIZE):
            batch = {"kind": "create_nodes_batch", "node_type": node_type, "items": rows[i : i + SIZE]}
            yield {"domain": "retail", "ops": [batch]}
    for i in range(0, len(table("orders")), SIZE):
        orders = table("orders")[i : i + SIZE]
        yield {
            "domain": "retail",
            "ops": [
                {
                    "kind": "create_nodes_batch",
                    "node_type": "Payment",
                    "items": [p for o in orders for p in _payments(o)],
                },
                {"kind": "create_nodes_batch", "node_type": "Order", "items": [_order(o) for o in orders]},
                {
                    "kind": "create_edges_batch",
                    "edge_type": "settles",
                    "items": [
                        {"from": {"handle": name(p["set"])}, "to": {"handle": f"Order#{order_id(o)}"}}
                        for o in orders
                        for p in _payments(o)
                    ],
                },
            ],
        }


def address(data: Mapping[str, Any]) -> dict[str, str]:
    """The files' address under the domain's names."""
    return {("region" if part == "state" else part): data[part] for part in reading.ADDRESS if part in data}


def order_id(data: Mapping[str, Any]) -> str:
    """An order's name in the graph."""
    return str(data["order_id"]).removeprefix("#")


def name(payment: Mapping[str, Any]) -> str:
    """The handle of a payment with these values."""
    key = ("order_id", "number", "user_id", "method_id", "kind", "cents")
    return f"Payment#{handle.key_of(payment[k] for k in key)}"


def cents(amount: Any) -> int:
    """An amount as it stands in keys."""
    return round(float(amount) * 100)


def money(amount: int) -> str:
    """An amount in cents as a number field holds it."""
    sign, whole = "-" if amount < 0 else "", abs(amount)
    return f"{sign}{whole // 100}.{whole % 100:02}"


def _customers() -> Iterator[Row]:
    for u in table("users"):
        yield {"set": {"user_id": u["user_id"], **u["name"], "email": u["email"], **address(u["address"])}}


def _methods() -> Iterator[Row]:
    for u in table("users"):
        for m in u["payment_methods"].values():
            balance = {"balance": money(cents(m["balance"]))} if "balance" in m else {}
            owner = {"user_id": u["user_id"], "owner": f"Customer#{u['user_id']}"}
            yield {"set": {**owner, "id": m["id"], "source": m["source"], **balance}}


def _variants() -> Iterator[Row]:
    for p in table("products"):
        for v in p["variants"].values():
            product = {"product_id": p["product_id"], "product": f"Product#{p['product_id']}"}
            yield {"set": {**product, "item_id": v["item_id"], "cents": cents(v["price"]), "options": v["options"]}}


def _offers() -> Iterator[Row]:
    for p in table("products"):
        for v in p["variants"].values():
            if v["available"]:
                key = {"product_id": p["product_id"], "item_id": v["item_id"], "cents": cents(v["price"])}
                yield {"set": {**key, "variant": f"Variant#{handle.key_of(key.values())}"}}


def _payments(order: Any) -> list[Row]:
    return [
        {
            "set": {
                "order_id": order_id(order),
                "number": i,
                "user_id": order["user_id"],
                "method_id": p["payment_method_id"],
                "kind": p["transaction_type"],
                "cents": cents(p["amount"]),
                "method": f"PaymentMethod#{order['user_id']}:{p['payment_method_id']}",
            },
        }
        for i, p in enumerate(order["payment_history"], 1)
    ]


def _order(o: Any) -> Row:
    fields = {
        "order_id": order_id(o),
        "user_id": o["user_id"],
        "customer": f"Customer#{o['user_id']}",
        "items": [f"Variant#{i['product_id']}:{i['item_id']}:{cents(i['price'])}" for i in o["items"]],
        "total": money(sum(cents(i["price"]) for i in o["items"])),
        "paid_with": o["payment_history"][0]["payment_method_id"],
        "payments": [name(p["set"]) for p in _payments(o)],
        **address(o["address"]),
    }
    return {"set": fields, "to_state": o["status"]}


# Facts.


async def facts(db: store.Database, users: Sequence[str] = ()) -> Facts:
    """What the graph says about all orders and users, or about those of `users`."""
    async with db.transaction() as tx:
        rows = await tx.fetch(
            "select type, props, state from node where alive and type in ('Order', 'Customer', 'PaymentMethod')"
            " and (%s::text[] is null or props->>'user_id' = any(%s::text[]))",
            (list(users) or None, list(users) or None),
        )
    found: Facts = {"orders": {}, "users": {}}
    for type, props, state in rows:
        user = found["users"].setdefault(props["user_id"], {"balances": {}})
        if type == "Order":
            found["orders"][f"#{props['order_id']}"] = _facts_of(props, state)
        elif type == "Customer":
            user["address"] = {part: props.get(part, "") for part in address(dict.fromkeys(reading.ADDRESS, ""))}
        elif "balance" in props:
            user["balances"][props["id"]] = cents(props["balance"])
    return found


def _facts_of(props: Mapping[str, Any], state: str) -> dict[str, Any]:
    payments = [_values(p) for p in props["payments"]]
    settled = _values(props["settlement"]) if "settlement" in props else payments[-1]
    changes = props.get("changes", [])
    return {
        "user": props["user_id"],
        "status": state,
        "address": {part: props.get(part, "") for part in address(dict.fromkeys(reading.ADDRESS, ""))},
        "items": [(product, item, int(price)) for product, item, price in map(_values, props["items"])],
        "payments": [(kind, int(amount), method) for _, _, _, method, kind, amount in payments],
        "paid_with": props["paid_with"],
        "cancel_reason": props.get("cancel_reason", ""),
        "returned": [_values(v)[1] for v in props.get("returned", [])],
        "refund_to": _values(props["refund_to"])[1] if "refund_to" in props else "",
        "changed": [(c["from"], c["to"]) for c in changes],
        "difference": cents(props["difference"]) if "difference" in props else None,
        "settled_with": settled[3] if changes else "",
        "called": sorted(t for t in ("address", "payment") if props.get(f"{t}_changed")),
    }


def _values(text: str) -> tuple[str, ...]:
    parsed = handle.parse(text)
    assert parsed is not None
    return parsed.values


def facts_of(state: reading.State, users: Sequence[str] = ()) -> Facts:
    """The same of the second reading's state."""
    return {
        "orders": {i: _order_facts(o) for i, o in state.orders.items() if not users or o.user_id in users},
        "users": {
            i: {"balances": {m: cents(b) for m, b in u.balances.items()}, "address": address(u.address)}
            for i, u in state.users.items()
            if not users or i in users
        },
    }


def _order_facts(o: reading.Order) -> dict[str, Any]:
    return {
        "user": o.user_id,
        "status": o.status,
        "address": address(o.address),
        "items": [(product, item, cents(price)) for product, item, price in o.items],
        "payments": [(kind, cents(amount), method) for kind, amount, method in o.payments],
        "paid_with": o.paid_with,
        "cancel_reason": o.cancel_reason,
        "returned": o.returned,
        "refund_to": o.refund_to,
        "changed": o.changed,
        "difference": None if o.difference is None else cents(o.difference),
        "settled_with": o.settled_with,
        "called": sorted(o.called & {"address", "payment"}),
    }
