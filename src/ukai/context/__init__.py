"""READ: a scope, strategies, sections, a budget: what an agent reads is composed at call time.

`scope.Scope` is what an author writes; the composer's door joins it here.
"""

from ukai.context.scope import Scope

__all__ = ["Scope"]
