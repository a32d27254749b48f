"""Under whose rights an agent reads: its own compiled scope, which every skill and question narrows."""

from __future__ import annotations

from ukai.access import Rights
from ukai.context.clause import CompiledScope
from ukai.context.scope import Scope
from ukai.graph import schema

WHEREVER_RIGHTS_REACH = Scope(globs=("**",))
"""What an agent that declares no scope has: the rights alone narrow it."""


class Reader(CompiledScope):
    """Rights, the edges along which they pass, and where the agent may look at all."""

    def __init__(self, *, rights: Rights, edges: tuple[schema.EdgeType, ...], scope: Scope | None = None) -> None:
        """`scope` is the agent's; None: it declares none."""
        super().__init__(rights=rights, edges=edges, scopes=(WHEREVER_RIGHTS_REACH if scope is None else scope,))

    @property
    def anywhere(self) -> Reader:
        """The same wherever the rights reach: what may be told of a record does not hang on the agent's scope."""
        return Reader(rights=self.rights, edges=self.edges)
