"""Tool calls that no task makes: at random, and one for each rule that forbids something on its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.gate.tau_retail import reading, shop

SEED = 105
Call = dict[str, Any]


def anyhow(count: int, *, seed: int = SEED) -> list[Call]:
    """Calls about the shop as it was loaded. Most are in order, many are not; some meet orders that others changed."""
    rng = random.Random(seed)
    tools = sorted(reading.WRITES)
    orders = {s: sorted(i for i, o in shop.beginning().orders.items() if o.status == s) for s in _STATUSES}
    few = {s: rng.sample(ids, 25) for s, ids in orders.items()}
    found: list[Call] = []
    for i in range(count):
        name = rng.choice(tools)
        status = ("delivered" if "delivered" in name else "pending") if rng.random() < 0.8 else rng.choice(_STATUSES)
        order_id = rng.choice(few[status]) if rng.random() < 0.5 else rng.choice(orders[status])
        arguments = _arguments(rng, name, order_id)
        found.append({"action_id": f"{i}:{name}", "name": name, "arguments": arguments})
    return found


_STATUSES = ("pending", "processed", "delivered", "cancelled")


def _arguments(rng: random.Random, name: str, order_id: str) -> dict[str, Any]:
    order = shop.beginning().orders[order_id]
    if name == "modify_user_address":
        return {"user_id": order.user_id, **_address(rng)}
    found: dict[str, Any] = {"order_id": order_id if rng.random() < 0.97 else "#W0000001"}
    if name == "cancel_pending_order":
        return found | {"reason": rng.choice((*reading.REASONS, *reading.REASONS, "found it cheaper"))}
    if name == "modify_pending_order_address":
        return found | _address(rng)
    found["payment_method_id"] = _method(rng, order)
    if name.endswith("_items"):
        items = [item for _, item, _ in order.items]
        found["item_ids"] = rng.sample(items, rng.randrange(1, len(items) + 1))
        if rng.random() < 0.1:
            found["item_ids"][-1] = rng.choice((items[0], rng.choice(sorted(shop.beginning().variants)), "0123456789"))
        if not name.startswith("return"):
            found["new_item_ids"] = [_other(rng, item) for item in found["item_ids"]]
        if rng.random() < 0.03:
            found["item_ids"].pop()
    return found


def _address(rng: random.Random) -> dict[str, str]:
    user = rng.choice(sorted(shop.beginning().users))
    return dict(shop.beginning().users[user].address)


def _method(rng: random.Random, order: reading.Order) -> str:
    users = shop.beginning().users
    owner = order.user_id if rng.random() < 0.9 else rng.choice(sorted(users))
    return rng.choice((order.paid_with, *sorted(users[owner].methods)))


def _other(rng: random.Random, item: str) -> str:
    variants = shop.beginning().variants
    product = variants.get(item, ("", 0, False))[0]
    fits = sorted(i for i, (p, _, free) in variants.items() if p == product and free and i != item)
    if fits and rng.random() < 0.9:
        return rng.choice(fits)
    return rng.choice((item, rng.choice(sorted(variants)), *[i for i, (p, _, _) in variants.items() if p == product]))


# One rule each.


def _order(status: str, *, gift_card: bool = False) -> tuple[str, reading.Order]:
    """The first order with this status and two items that differ, paid as asked."""
    for order_id, order in shop.beginning().orders.items():
        two = len(order.items) == 2 and len({item for _, item, _ in order.items}) == 2
        if order.status == status and two and order.paid_with.startswith("gift_card") == gift_card:
            return order_id, order
    raise LookupError(status)


def _call(name: str, order_id: str, **arguments: Any) -> Call:
    return {"action_id": f"first:{name}", "name": name, "arguments": {"order_id": order_id, **arguments}}


def _same_address() -> list[Call]:
    order_id, order = _order("pending")
    return [_call("modify_pending_order_address", order_id, **order.address)] * 2


def _returned_again() -> list[Call]:
    order_id, order = _order("delivered")
    items = [order.items[0][1]]
    return [_call("return_delivered_order_items", order_id, item_ids=items, payment_method_id=order.paid_with)] * 2


def _returned_twice() -> list[Call]:
    order_id, order = _order("delivered")
    items = [order.items[0][1]] * 2
    return [_call("return_delivered_order_items", order_id, item_ids=items, payment_method_id=order.paid_with)]


def _returned_elsewhere() -> list[Call]:
    for order_id, order in shop.beginning().orders.items():
        others = shop.beginning().users[order.user_id].methods.keys() - {order.paid_with}
        other = next((m for m in sorted(others) if not m.startswith("gift_card")), "")
        if order.status == "delivered" and other:
            items = [order.items[0][1]]
            return [_call("return_delivered_order_items", order_id, item_ids=items, payment_method_id=other)]
    raise LookupError("returned elsewhere")


def _exchanged_twice() -> list[Call]:
    order_id, order = _order("delivered")
    product, item, _ = order.items[0]
    variants = shop.beginning().variants
    new = next(i for i, (p, _, free) in variants.items() if p == product and free and i != item)
    both = {"item_ids": [item] * 2, "new_item_ids": [new] * 2}
    return [_call("exchange_delivered_order_items", order_id, payment_method_id=order.paid_with, **both)]


def _to_itself() -> list[Call]:
    for order_id, order in shop.beginning().orders.items():
        item = order.items[0][1]
        if order.status == "pending" and shop.beginning().variants[item][2]:
            both = {"item_ids": [item], "new_item_ids": [item]}
            return [_call("modify_pending_order_items", order_id, payment_method_id=order.paid_with, **both)]
    raise LookupError("to itself")


def _paid_the_same() -> list[Call]:
    order_id, order = _order("pending")
    return [_call("modify_pending_order_payment", order_id, payment_method_id=order.paid_with)]


def _uncovered() -> list[Call]:
    (call,) = shop.tasks()["105"]
    return [call]


FORBIDDEN: Mapping[str, Callable[[], Sequence[Call]]] = {
    "no-second-address": _same_address,
    "only-pending-or-delivered": _returned_again,
    "returned-items-are-there": _returned_twice,
    "refund-to-original-or-gift-card": _returned_elsewhere,
    "changed-items-are-there": _exchanged_twice,
    "to-another-item": _to_itself,
    "paid-anew-while-pending": _paid_the_same,
    "promise-is-covered": _uncovered,
}
"""Rule -> calls of which the last one is forbidden by this rule and by no other."""


ALONE = (
    "balance-moves-by-payments",
    "promise-is-covered",
    "by-its-means",
    "paid-anew-while-pending",
    "paid-anew-is-paid-back",
    "cancelled-is-paid-back",
    "changed-items-are-there",
    "wanted-as-changed",
    "difference-of-prices",
    "modified-total",
    "modified-is-settled",
    "exchanged-is-settled",
)
"""Rules that stop a write which the driver would never make, and which no other rule stops."""
