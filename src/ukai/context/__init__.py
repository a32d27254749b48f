"""READ: a scope, strategies, sections, a budget: what an agent reads is composed at call time.

    made = await compose(db, Request(question=.., scope=..), library=.., reader=.., clock=..)
    made.text, made.report, made.items

`scope.Scope` is what an author writes; whoever only reads it does not load what composes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ukai.context.scope import Scope

if TYPE_CHECKING:
    from ukai.context.composing import Composition, Request, compose

__all__ = ["Composition", "Request", "Scope", "compose"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module("ukai.context.composing"), name)
