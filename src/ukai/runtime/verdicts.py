"""Verdicts of models kept by what they depend on: the rule's wording, the model, the text (P8.4).

The same text under the same rule is asked once for a whole deployment; a reworded rule asks again. No words are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256

from ukai import store
from ukai.runtime import rows
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged

REMEMBERED = 5_000

Key = tuple[bytes, str, bytes]


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """In this process first, then in the database."""

    db: store.Database
    near: OrderedDict[Key, Judged] = field(default_factory=OrderedDict[Key, Judged])

    async def get(self, key: Key) -> Judged | None:
        """What was said; None when nobody was asked."""
        if key in self.near:
            self.near.move_to_end(key)
            return self.near[key]
        async with self.db.transaction() as tx:
            found = await rows.verdict(tx, *key)
        if found is None:
            return None
        fires, flat = found
        judged = Judged(fires=fires, spans=tuple(zip(flat[::2], flat[1::2], strict=True)))
        self._remember(key, judged)
        return judged

    async def put(self, key: Key, judged: Judged) -> None:
        """Keep a verdict that was reached; a failure is none."""
        if judged.failure:
            return
        self._remember(key, Judged(fires=judged.fires, spans=judged.spans))
        async with self.db.transaction() as tx:
            await rows.keep_verdict(tx, *key, judged.fires, [place for span in judged.spans for place in span])

    def _remember(self, key: Key, judged: Judged) -> None:
        self.near[key] = judged
        while len(self.near) > REMEMBERED:
            self.near.popitem(last=False)


class Forgetful(Verdicts):
    """Keeps nothing: for evaluations that ask how often one rule changes its mind."""

    async def get(self, key: Key) -> Judged | None:
        """Nothing is known."""
        return None

    async def put(self, key: Key, judged: Judged) -> None:
        """Nothing is kept."""


def key_of(rule: Guardrail, model: str, text: str) -> Key:
    """The place of a verdict."""
    words = sha256(text.encode("utf-8", "surrogatepass")).digest()
    return bytes.fromhex(rule.sha256), model, words
