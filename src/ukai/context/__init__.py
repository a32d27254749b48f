"""READ: a scope, strategies, sections, a budget: what an agent reads is composed at call time.

    made = await compose(db, Request(question=.., scope=..), library=.., reader=.., clock=..)
    made.text, made.report, made.items
    await explain(db, made.id, "Account#alder", library=.., reader=..)

`scope.Scope` is what an author writes; whoever only reads it does not load what composes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ukai.context.scope import Scope

if TYPE_CHECKING:
    from ukai.context.composing import Composition, compose
    from ukai.context.explaining import Explanation, Replayed, explain, fetch_offloaded, replay
    from ukai.context.request import Request

_HERE = {
    "composing": ("Composition", "compose"),
    "explaining": ("Explanation", "Replayed", "explain", "fetch_offloaded", "replay"),
    "request": ("Request",),
}
__all__ = [
    "Composition",
    "Explanation",
    "Replayed",
    "Request",
    "Scope",
    "compose",
    "explain",
    "fetch_offloaded",
    "replay",
]


def __getattr__(name: str) -> Any:
    for module, names in _HERE.items():
        if name in names:
            return getattr(import_module(f"ukai.context.{module}"), name)
    raise AttributeError(name)
