"""The rules of one turn: each judged by itself, all at once, and resolved in a fixed order (P4.3, P4.5).

    engine = Engine(rules=rules, bench=bench, mend=mend, clock=clock)
    read = await engine.question("...")             # before the agent says anything
    read = await engine.answer("...", run_with)     # on what it wants to say

Any block wins over any rewrite, and that over pass; ties go to the lowest id. A rule that cannot be decided follows its
failure policy, and whoever asked is told that a check was not available. A rewritten answer is read by all rules again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ukai import record
from ukai.kit.clock import Clock
from ukai.runtime import mending
from ukai.runtime.guardrail import Guardrail, Stage
from ukai.runtime.rules import BY_CODE
from ukai.runtime.rules.by_model import is_marking
from ukai.runtime.rules.judged import Judged, Span, Text, at

ROUNDS = 2
"""Rewrites of one answer; what then still fires is held back."""
TIMEOUT_S = 20.0
"""For one rule, its second try included."""

Bench = Callable[[Guardrail, Text], Awaitable[Judged]]
"""Decides the rules that code does not: by the rule's own model, or by its examples."""
Sealed = Callable[[str], record.Run]
"""The run as it would be with this answer."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """What the rules of one stage made of a text."""

    text: str | None
    """What may leave: the text, or what became of it; None when it is held back."""
    firings: tuple[record.Firing, ...] = ()
    """Every verdict of every round, by rule within a round."""
    reason: str = ""
    """For the one who asked: which rule holds the text back, or which check could not be made."""


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """One rule's, in one round."""

    rule: Guardrail
    judged: Judged
    latency_ms: int

    @property
    def blocks(self) -> bool:
        if self.judged.failure:
            return self.judged.is_provoked or self.rule.failure_policy == "closed"
        return self.judged.fires and not is_marking(self.rule)

    @property
    def marks(self) -> bool:
        return not self.judged.failure and self.judged.fires and is_marking(self.rule)

    def firing(self, text: str, *, becomes_other: bool, is_held: bool) -> record.Firing:
        """As the record keeps it. `becomes_other`: the text is rewritten after this round."""
        spans = self.judged.spans if self.judged.fires else ()
        return record.Firing(
            stage=self.rule.stage,
            rule=f"{self.rule.id}@{self.rule.version}",
            verdict="block" if self.blocks else "rewrite" if self.marks else "pass",
            failed=bool(self.judged.failure),
            latency_ms=self.latency_ms,
            marks=tuple(record.Mark(text=text[start:end], start=start, end=end) for start, end in spans),
            rewrite_of=text if self.marks and becomes_other else None,
            held=text if is_held else None,
        )


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The rules that apply to one agent, and what decides them."""

    rules: Sequence[Guardrail] = ()
    bench: Bench
    mend: mending.Mend = mending.withhold
    clock: Clock
    timeout_s: float = TIMEOUT_S
    exhaustive: bool = False
    """Let every rule end even when one blocks: for evaluations, whose counts need every verdict."""

    def count(self, stage: Stage) -> int:
        """How many rules read this stage."""
        return sum(rule.stage == stage for rule in self.rules)

    async def question(self, text: str) -> Read:
        """Whether the agent may be asked this."""
        verdicts = await self._round("input", Text(words=text))
        blocking = _first(verdicts)
        firings = [v.firing(text, becomes_other=False, is_held=False) for v in verdicts]
        return Read(
            text=text if blocking is None else None,
            firings=tuple(firings),
            reason="" if blocking is None else _reason(blocking),
        )

    async def answer(self, text: str, sealed: Sealed) -> Read:
        """What of an answer may leave, after at most `ROUNDS` rewrites."""
        firings: list[record.Firing] = []
        for n in range(ROUNDS + 1):
            verdicts = await self._round("output", Text(words=text, sealed=sealed))
            blocking = _first(verdicts)
            marking = [v for v in verdicts if v.marks]
            is_last = n == ROUNDS or blocking is not None
            held = blocking or (min(marking, key=_id) if marking and is_last else None)
            firings += [v.firing(text, becomes_other=not is_last, is_held=v is held) for v in verdicts]
            if held is not None:
                return Read(text=None, firings=tuple(firings), reason=_reason(held))
            if not marking:
                return Read(text=text, firings=tuple(firings))
            spans = at([span for v in marking for span in v.judged.spans or ((0, len(text)),)]).spans
            text = await self._mended(text, spans)
        raise AssertionError("the last round ends in one of the two")

    async def _mended(self, text: str, spans: Sequence[Span]) -> str:
        """The text with its passages fixed; as it was when that failed or touched anything else."""
        try:
            async with asyncio.timeout(self.timeout_s):
                mended = await self.mend(text, spans)
        except Exception:
            # A rewriter that fails has fixed nothing: the rules read the same text again, and at last hold it back.
            return text
        return mended if mending.is_clean(text, spans, mended) else text

    async def _round(self, stage: Stage, text: Text) -> list[_Verdict]:
        """A verdict of every rule of the stage, by id. When one blocks, those still at work are let go."""
        ours = sorted((rule for rule in self.rules if rule.stage == stage), key=lambda rule: rule.id)
        found = [await self._verdict(rule, text) for rule in ours if rule.kind in BY_CODE]
        if self.exhaustive or _first(found) is None:
            found += await self._asked([rule for rule in ours if rule.kind not in BY_CODE], text)
        return sorted(found, key=_id)

    async def _asked(self, rules: Sequence[Guardrail], text: Text) -> list[_Verdict]:
        waiting = {asyncio.ensure_future(self._verdict(rule, text)) for rule in rules}
        ended: list[_Verdict] = []
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                ended += [task.result() for task in done]
                if not self.exhaustive and _first(ended) is not None:
                    break
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return ended

    async def _verdict(self, rule: Guardrail, text: Text) -> _Verdict:
        began = self.clock.now()
        try:
            async with asyncio.timeout(self.timeout_s):
                decide = BY_CODE.get(rule.kind)
                judged = await self.bench(rule, text) if decide is None else decide(rule, text)
        except TimeoutError:
            judged = Judged(failure=f"no verdict within {self.timeout_s:g} s")
        except Exception as fault:
            # Whatever goes wrong in a rule must neither let an answer through nor end the turn: its policy decides.
            judged = Judged(failure=type(fault).__name__)
        return _Verdict(rule=rule, judged=judged, latency_ms=(self.clock.now() - began) // timedelta(milliseconds=1))


def _id(verdict: _Verdict) -> str:
    return verdict.rule.id


def _first(verdicts: Sequence[_Verdict]) -> _Verdict | None:
    """The block that counts: one that a rule decided before one that could not be, then the lowest id."""
    blocking = [v for v in verdicts if v.blocks]
    return min(blocking, key=lambda v: (bool(v.judged.failure), v.rule.id), default=None)


def _reason(verdict: _Verdict) -> str:
    rule = verdict.rule
    what = "question is not passed on" if rule.stage == "input" else "answer is held back"
    if verdict.judged.failure:
        return f"A check that has to be made here ({rule.id}) is not available, so the {what}. Try again later."
    return f"The {what} by the rule {rule.id!r}" + (f": {rule.title}" if rule.title else ".")
