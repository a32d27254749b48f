"""A tool call of the shop as a proposal: what the graph holds goes in, a delta and the step's contract come out.

The driver knows how the domain writes things down and no rule of the policy. It refuses nothing: an order, an item or a
means of payment that is not there is named all the same, and what may not be done is proposed all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tests.gate.tau_retail import shop
from ukai import store
from ukai.gate import contract as contracts

Op = dict[str, Any]
NO_PRODUCT = "0000000000"
"""Stands for the product of an item that no product has."""


@dataclass(frozen=True, kw_only=True)
class Held:
    """What the graph holds when the call comes."""

    order: Mapping[str, Any]
    """Its fields; empty when there is none."""
    order_version: int
    customer_version: int
    methods: Mapping[str, tuple[Mapping[str, Any], int]]
    """Means of payment of the order's user -> fields and version."""
    variants: Mapping[str, tuple[str, int]]
    """Item -> product and cents."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One write."""

    delta: dict[str, Any]
    contract: contracts.Contract


async def propose(db: store.Database, name: str, arguments: Mapping[str, Any], *, key: str = "") -> Proposal:
    """The proposal for a call of the tool `name`."""
    held = await _held(db, arguments)
    ops = _TOOLS[name](held, arguments)
    contract, findings = contracts.read(contract_of(ops))
    assert contract is not None, findings
    return Proposal(delta={"domain": "retail", "ops": ops} | ({"key": key} if key else {}), contract=contract)


def contract_of(ops: Iterable[Op]) -> dict[str, Any]:
    """What a step that writes `ops` promises: every operation, on its node, with all of its fields."""
    return {"produces": {"deltas": [_produced(op) for op in ops]}, "unexpected": "reject"}


def _produced(op: Op) -> dict[str, Any]:
    if op["kind"] == "create_edge":
        return {"kind": "create_edge", "edge_type": op["edge_type"], "from": op["from"], "to": op["to"], "count": 1}
    required = [*op["set"], *(["to_state"] if "to_state" in op else [])]
    target = op["target"] if "target" in op else {"ref": op["ref"]}
    return {
        "kind": op["kind"],
        "node_type": op["node_type"],
        "target": target,
        "required_fields": required,
        "count": 1,
    }


async def _held(db: store.Database, arguments: Mapping[str, Any]) -> Held:
    async with db.transaction() as tx:
        order = await tx.one(
            "select props, version from node where type = 'Order' and key = %s and alive",
            (shop.order_id(arguments) if "order_id" in arguments else "",),
        ) or ({}, 0)
        user = order[0].get("user_id") or arguments.get("user_id", "")
        rows = await tx.fetch(
            "select type, props, version from node where type in ('Customer', 'PaymentMethod')"
            " and props->>'user_id' = %s and alive",
            (user,),
        )
        wanted = [*arguments.get("item_ids", ()), *arguments.get("new_item_ids", ())]
        variants = await tx.fetch(
            "select props->>'item_id', props->>'product_id', (props->>'cents')::int from node"
            " where type = 'Variant' and props->>'item_id' = any(%s::text[]) and alive",
            (wanted,),
        )
    return Held(
        order=order[0],
        order_version=order[1],
        customer_version=next((v for type, _, v in rows if type == "Customer"), 0),
        methods={props["id"]: (props, v) for type, props, v in rows if type == "PaymentMethod"},
        variants={item: (product, cents) for item, product, cents in variants},
    )


@dataclass(kw_only=True)
class _Writing:
    """The operations of one write on an order, payments and balances beside it."""

    held: Held
    order_id: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    rest: list[Op] = field(default_factory=list[Op])

    @property
    def user(self) -> str:
        return str(self.held.order.get("user_id", "nobody"))

    @property
    def paid(self) -> list[str]:
        return list(self.held.order.get("payments", ()))

    def payment(self, kind: str, amount: int, method: str, *, ref: str, number: int) -> None:
        """A payment, and that it settles this order."""
        values = {
            "order_id": self.order_id,
            "number": number,
            "user_id": self.user,
            "method_id": method,
            "kind": kind,
            "cents": amount,
            "method": f"PaymentMethod#{self.user}:{method}",
        }
        self.rest.append({"kind": "create_node", "ref": ref, "node_type": "Payment", "set": values})
        edge = {"kind": "create_edge", "edge_type": "settles", "from": {"ref": ref}}
        self.rest.append({**edge, "to": {"handle": f"Order#{self.order_id}"}})

    def balance(self, method: str, grows_by: int, *, reason: str) -> None:
        """The balance of a gift card moves; other means have none."""
        held = self.held.methods.get(method)
        if held and "balance" in held[0]:
            self.card(method, {"balance": shop.money(shop.cents(held[0]["balance"]) + grows_by)}, reason)

    def card(self, method: str, values: Mapping[str, Any], reason: str) -> None:
        props, version = self.held.methods[method]
        self.rest.append(
            {
                "kind": "update_node",
                "node_type": "PaymentMethod",
                "target": {"handle": f"PaymentMethod#{self.user}:{method}"},
                "if_version": version,
                "test": {"balance": props["balance"]},
                "set": {**values, "reason": reason},
            }
        )

    def ops(self, to_state: str = "") -> list[Op]:
        op = {"kind": "update_node", "node_type": "Order", "target": {"handle": f"Order#{self.order_id}"}}
        op |= {"if_version": self.held.order_version, "set": self.values}
        return [op | ({"to_state": to_state} if to_state else {}), *self.rest]


def _writing(held: Held, arguments: Mapping[str, Any]) -> _Writing:
    return _Writing(held=held, order_id=shop.order_id(arguments))


def _total(held: Held) -> int:
    return shop.cents(held.order.get("total", 0))


def _cancel(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing, method = _writing(held, arguments), str(held.order.get("paid_with", "none"))
    writing.values |= {"cancel_reason": arguments["reason"], "payments": [*writing.paid, "$refund"]}
    writing.payment("refund", _total(held), method, ref="$refund", number=len(writing.paid) + 1)
    writing.balance(method, _total(held), reason="$refund")
    return writing.ops("cancelled")


def _modify_address(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing = _writing(held, arguments)
    writing.values |= {**shop.address(arguments), "address_changed": True}
    return writing.ops()


def _modify_payment(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing, total = _writing(held, arguments), _total(held)
    chosen, original = arguments["payment_method_id"], str(held.order.get("paid_with", "none"))
    payments = [*writing.paid, "$payment", "$refund"]
    writing.values |= {"paid_with": chosen, "payments": payments, "payment_changed": True}
    writing.payment("payment", total, chosen, ref="$payment", number=len(payments) - 1)
    writing.balance(chosen, -total, reason="$payment")
    writing.payment("refund", total, original, ref="$refund", number=len(payments))
    writing.balance(original, total, reason="$refund")
    return writing.ops()


def _modify_items(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing, method = _writing(held, arguments), arguments["payment_method_id"]
    changes = _changes(held, arguments)
    difference = sum(c["becomes"] - c["was"] for c in changes)
    items = list(held.order.get("items", ()))
    for c in changes:
        if c["at"] < len(items):
            items[c["at"]] = f"Variant#{c['product']}:{c['to']}:{c['becomes']}"
    writing.values |= {
        "items": items,
        "total": shop.money(_total(held) + difference),
        "payments": [*writing.paid, "$difference"],
        **_changed(changes, difference),
    }
    kind = "payment" if difference > 0 else "refund"
    writing.payment(kind, abs(difference), method, ref="$difference", number=len(writing.paid) + 1)
    if difference:
        writing.balance(method, -difference, reason="$difference")
    return writing.ops("pending (items modified)")


def _exchange(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing, method = _writing(held, arguments), arguments["payment_method_id"]
    changes = _changes(held, arguments)
    difference = sum(c["becomes"] - c["was"] for c in changes)
    writing.values |= {**_changed(changes, difference), "settlement": "$difference"}
    kind = "due" if difference > 0 else "owed"
    writing.payment(kind, abs(difference), method, ref="$difference", number=len(writing.paid) + 1)
    if difference > 0 and "balance" in held.methods.get(method, ({}, 0))[0]:
        writing.card(method, {"promised": shop.money(difference)}, "$difference")
    return writing.ops("exchange requested")


def _return(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    writing, places = _writing(held, arguments), _Places(held)
    at = [places.of(item) for item in arguments["item_ids"]]
    writing.values |= {
        "returned": [_variant(held, item) for item in arguments["item_ids"]],
        "returned_at": at,
        "refund_to": f"PaymentMethod#{writing.user}:{arguments['payment_method_id']}",
    }
    return writing.ops("return requested")


def _modify_user(held: Held, arguments: Mapping[str, Any]) -> list[Op]:
    target = {"handle": f"Customer#{arguments['user_id']}"}
    op = {"kind": "update_node", "node_type": "Customer", "target": target, "if_version": held.customer_version}
    return [op | {"set": shop.address(arguments)}]


_TOOLS = {
    "cancel_pending_order": _cancel,
    "modify_pending_order_address": _modify_address,
    "modify_pending_order_payment": _modify_payment,
    "modify_pending_order_items": _modify_items,
    "return_delivered_order_items": _return,
    "exchange_delivered_order_items": _exchange,
    "modify_user_address": _modify_user,
}


class _Places:
    """Where items stand in an order: one that it holds twice has two places."""

    def __init__(self, held: Held) -> None:
        self.free = dict(enumerate(h.split(":")[1] for h in held.order.get("items", ())))
        self.past = len(self.free)

    def of(self, item: str) -> int:
        """The next place of `item`; behind the end when there is none left."""
        found = next((i for i, other in self.free.items() if other == item), self.past)
        self.free.pop(found, None)
        return found


def _variant(held: Held, item: str) -> str:
    product, cents = held.variants.get(item, (NO_PRODUCT, 0))
    return f"Variant#{product}:{item}:{cents}"


def _changes(held: Held, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    places, found = _Places(held), list[dict[str, Any]]()
    for old, new in zip_longest(arguments["item_ids"], arguments["new_item_ids"], fillvalue=""):
        product, was = held.variants.get(old, (NO_PRODUCT, 0))
        becomes = held.variants.get(new, (NO_PRODUCT, 0))[1]
        place = {"at": places.of(old), "product": product}
        found.append({**place, "from": old, "was": was, "to": new, "becomes": becomes})
    return found


def _changed(changes: list[dict[str, Any]], difference: int) -> dict[str, Any]:
    wanted = [f"Offer#{c['product']}:{c['to']}:{c['becomes']}" for c in changes]
    return {"changes": changes, "wanted": wanted, "difference": shop.money(difference)}
