"""A second reading of the shop's policy: plain Python, written from `policy.md` alone.

It shares nothing with the gate, the domain file or the driver, so that both are wrong in the same way only by chance.
State goes in, a new state or a refusal with its reason comes out; what is handed in is never changed.

What the policy says is followed to the letter. What it leaves open is decided here, once:

- "Exchange or modify order tools can only be called once per order": each of the four (address, payment, items,
  exchange) once for an order.
- Modifying items makes the status 'pending (items modified)'. That is no longer 'pending', so nothing more can be done.
- A means of payment is one of the profile of the user who placed the order, and so is "an existing gift card".
- The original means of payment is the one that the order is paid with at the time.
- "Refunded immediately if it is a gift card": its balance grows with the same write. What other means get back is noted
  among the order's payments; so are the zero cents of items that cost the same.
- A gift card that pays (payment or items modified) pays at once. An exchange is only requested: the card must cover the
  difference, and nothing moves yet. Nor does anything move when a return is requested.
- The total of an order is what its items cost at the prices in it. Modified items take the price of the new variant.
- "Of different product option": the new item is another item. No product has two items with the same options.
- An item that an order holds twice may be changed or returned twice, not more often. At least one item is named.
- Conversation rules (who is authenticated, what was confirmed, one user at a time) are not about the database.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

ITEMS_MODIFIED = "pending (items modified)"
REASONS = ("no longer needed", "ordered by mistake")
ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
Arguments = Mapping[str, Any]


@dataclass(kw_only=True)
class Order:
    """An order with what was done to it."""

    user_id: str
    status: str
    address: dict[str, str]
    items: list[tuple[str, str, Decimal]]
    """(product, item, price)."""
    payments: list[tuple[str, Decimal, str]]
    """(payment or refund, amount, means of payment)."""
    paid_with: str
    cancel_reason: str = ""
    returned: list[str] = field(default_factory=list[str])
    refund_to: str = ""
    changed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(old item, new item), of a modification or an exchange."""
    difference: Decimal | None = None
    settled_with: str = ""
    called: set[str] = field(default_factory=set[str])

    @property
    def total(self) -> Decimal:
        """What the items cost."""
        return sum((price for _, _, price in self.items), Decimal(0))


@dataclass(kw_only=True)
class User:
    """A profile."""

    address: dict[str, str]
    methods: dict[str, str]
    """Means of payment -> its source."""
    balances: dict[str, Decimal]
    """Of gift cards."""


@dataclass(kw_only=True)
class State:
    """The shop's database."""

    users: dict[str, User]
    orders: dict[str, Order]
    variants: Mapping[str, tuple[str, Decimal, bool]]
    """Item -> (product, price, available)."""


@dataclass(frozen=True)
class Refusal:
    """The policy forbids it."""

    reason: str


class _Forbidden(Exception):
    pass


def initial(users: Iterable[Any], orders: Iterable[Any], products: Iterable[Any]) -> State:
    """The state that the files hold."""
    return State(
        users={u["user_id"]: _user(u) for u in users},
        orders={o["order_id"]: _order(o) for o in orders},
        variants={
            v["item_id"]: (p["product_id"], _money(v["price"]), v["available"])
            for p in products
            for v in p["variants"].values()
        },
    )


def after(state: State, name: str, arguments: Arguments) -> State | Refusal:
    """The state after a write, or why the policy forbids it."""
    touched = State(users=dict(state.users), orders=dict(state.orders), variants=state.variants)
    try:
        user_id = _touch(touched, arguments)
        _WRITES[name](touched, touched.users[user_id], arguments)
    except _Forbidden as why:
        return Refusal(str(why))
    return touched


def _touch(state: State, arguments: Arguments) -> str:
    """Copies of the order and the user that the write is about."""
    if "order_id" not in arguments:
        user_id = arguments["user_id"]
    elif (order_id := arguments["order_id"]) in state.orders:
        state.orders[order_id] = copy.deepcopy(state.orders[order_id])
        user_id = state.orders[order_id].user_id
    else:
        raise _Forbidden(f"there is no order {order_id}")
    if user_id not in state.users:
        raise _Forbidden(f"there is no user {user_id}")
    state.users[user_id] = copy.deepcopy(state.users[user_id])
    return user_id


def _cancel(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "pending")
    if arguments["reason"] not in REASONS:
        raise _Forbidden(f"{arguments['reason']!r} is no acceptable reason")
    order.status, order.cancel_reason = "cancelled", arguments["reason"]
    _refund(order, user, order.total, order.paid_with)


def _modify_address(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "pending")
    _once(order, "address")
    order.address = {part: arguments[part] for part in ADDRESS}


def _modify_payment(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "pending")
    _once(order, "payment")
    chosen, original = _method(user, arguments), order.paid_with
    if chosen == original:
        raise _Forbidden("the order is paid with this means already")
    if chosen in user.balances:
        _covered(user, chosen, order.total)
        user.balances[chosen] -= order.total
    order.payments.append(("payment", order.total, chosen))
    _refund(order, user, order.total, original)
    order.paid_with = chosen


def _modify_items(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "pending")
    _once(order, "items")
    method, pairs = _method(user, arguments), _pairs(state, order, arguments)
    difference = _difference(state, order, pairs)
    if difference > 0:
        if method in user.balances:
            _covered(user, method, difference)
            user.balances[method] -= difference
        order.payments.append(("payment", difference, method))
    else:
        _refund(order, user, -difference, method)
    for old, new in pairs:
        place = next(i for i, (_, item, _) in enumerate(order.items) if item == old)
        product, price, _ = state.variants[new]
        order.items[place] = (product, new, price)
    order.status = ITEMS_MODIFIED
    order.changed, order.difference, order.settled_with = pairs, difference, method


def _return(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "delivered")
    _held(order, arguments["item_ids"])
    method = _method(user, arguments)
    if method != order.paid_with and method not in user.balances:
        raise _Forbidden("a refund goes to the original means of payment or to a gift card")
    order.status = "return requested"
    order.returned, order.refund_to = list(arguments["item_ids"]), method


def _exchange(state: State, user: User, arguments: Arguments) -> None:
    order = _in_status(state, arguments, "delivered")
    _once(order, "exchange")
    method, pairs = _method(user, arguments), _pairs(state, order, arguments)
    difference = _difference(state, order, pairs)
    if method in user.balances:
        _covered(user, method, difference)
    order.status = "exchange requested"
    order.changed, order.difference, order.settled_with = pairs, difference, method


def _modify_user(state: State, user: User, arguments: Arguments) -> None:
    user.address = {part: arguments[part] for part in ADDRESS}


_WRITES: Mapping[str, Callable[[State, User, Arguments], None]] = {
    "cancel_pending_order": _cancel,
    "modify_pending_order_address": _modify_address,
    "modify_pending_order_payment": _modify_payment,
    "modify_pending_order_items": _modify_items,
    "return_delivered_order_items": _return,
    "exchange_delivered_order_items": _exchange,
    "modify_user_address": _modify_user,
}
WRITES = frozenset(_WRITES)


def _in_status(state: State, arguments: Arguments, status: str) -> Order:
    order = state.orders[arguments["order_id"]]
    if order.status != status:
        raise _Forbidden(f"{arguments['order_id']} is {order.status}, not {status}")
    return order


def _once(order: Order, tool: str) -> None:
    if tool in order.called:
        raise _Forbidden(f"the {tool} of an order can be changed once")
    order.called.add(tool)


def _method(user: User, arguments: Arguments) -> str:
    method = arguments["payment_method_id"]
    if method not in user.methods:
        raise _Forbidden(f"{method} is no means of payment of this user")
    return method


def _covered(user: User, method: str, amount: Decimal) -> None:
    if user.balances[method] < amount:
        raise _Forbidden(f"{method} holds {user.balances[method]}, which does not cover {amount}")


def _refund(order: Order, user: User, amount: Decimal, method: str) -> None:
    if method in user.balances:
        user.balances[method] += amount
    order.payments.append(("refund", amount, method))


def _held(order: Order, items: list[str]) -> None:
    if not items:
        raise _Forbidden("no item is named")
    here = Counter(item for _, item, _ in order.items)
    for item, times in Counter(items).items():
        if times > here[item]:
            raise _Forbidden(f"the order holds {item} {here[item]} times, not {times} times")


def _pairs(state: State, order: Order, arguments: Arguments) -> list[tuple[str, str]]:
    old, new = arguments["item_ids"], arguments["new_item_ids"]
    _held(order, old)
    if len(old) != len(new):
        raise _Forbidden("each item is changed to one new item")
    for one, other in zip(old, new, strict=True):
        product, _, available = state.variants.get(other, ("", Decimal(0), False))
        if not available:
            raise _Forbidden(f"{other} is not available")
        if product != state.variants[one][0]:
            raise _Forbidden(f"{other} is another type of product than {one}")
        if one == other:
            raise _Forbidden(f"{other} is the item that it already is")
    return list(zip(old, new, strict=True))


def _difference(state: State, order: Order, pairs: list[tuple[str, str]]) -> Decimal:
    paid = {item: price for _, item, price in order.items}
    return sum((state.variants[new][1] - paid[old] for old, new in pairs), Decimal(0))


def _user(data: Any) -> User:
    methods = data["payment_methods"]
    return User(
        address=dict(data["address"]),
        methods={name: m["source"] for name, m in methods.items()},
        balances={name: _money(m["balance"]) for name, m in methods.items() if m["source"] == "gift_card"},
    )


def _order(data: Any) -> Order:
    history = data["payment_history"]
    return Order(
        user_id=data["user_id"],
        status=data["status"],
        address=dict(data["address"]),
        items=[(i["product_id"], i["item_id"], _money(i["price"])) for i in data["items"]],
        payments=[(p["transaction_type"], _money(p["amount"]), p["payment_method_id"]) for p in history],
        paid_with=history[0]["payment_method_id"],
    )


def _money(value: float) -> Decimal:
    return Decimal(str(value))
