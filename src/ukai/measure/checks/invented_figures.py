"""Check `invented_figures`: figures of the answer that nothing the tools returned says (P8.1).

Each figure ends in one of these: supported, weak, derived, invented, miscalculated, soft. The page:
docs/reference/checks/invented_figures.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ukai.kit import figures
from ukai.kit.figures import Figure
from ukai.measure import content, conversion, formula, guess, relative, spec, support
from ukai.measure.case import Case
from ukai.measure.reading import AS_OF, QUESTION, Reading, Seen
from ukai.measure.score import Flag, Look, Score


@dataclass(frozen=True, kw_only=True)
class InventedFigures:
    """The check with its parameters."""

    name: ClassVar[str] = "invented_figures"
    version: ClassVar[int] = 1

    near: int = support.NEAR
    shared: int = support.SHARED

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """A flag for each figure that is not supported; a derived one is shown with its operands and does not gate."""
        if reading.run.answer is None:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="the run has no answer")
        weighing = _Weighing(self, reading)
        counts: dict[str, float] = {"figures": 0, "supported": 0}
        flags: list[Flag] = []
        for claim in weighing.claims:
            counts["figures"] += 1
            flag = weighing.flag(claim)
            if flag is None:
                counts["supported"] += 1
            else:
                flags.append(flag)
                counts[flag.kind] = counts.get(flag.kind, 0) + 1
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=tuple(flags), counts=counts)


class _Weighing:
    """One run's figures against its evidence."""

    def __init__(self, check: InventedFigures, reading: Reading) -> None:
        self._check = check
        self._reading = reading
        self._index = support.Index(reading.seen, reading.sources)
        found = reading.figures
        self._formulas = formula.stated(reading.answer, found) if "=" in reading.answer or "≈" in reading.answer else ()
        self.claims = tuple(_outside(reading, found))

    def flag(self, claim: Figure) -> Flag | None:
        """None when the figure is supported."""
        stated = next((f for f in self._formulas if f.result == claim), None)
        if stated is not None and not stated.holds:
            comes_to = f"{stated.values[0]:.6g}" if stated.values else "nothing that can be computed"
            return self._made("miscalculated", claim, gates=True, note=f"{stated.text} comes to {comes_to}")
        if self._is_operand(claim):
            return None
        found = self._support(claim)
        if found is not None and self._is_near(claim, found):
            return None
        if stated is not None:
            derived = self._derived(claim, stated)
            if derived is not None:
                return derived
        if found is not None:
            return self._weak(claim, found)
        return self._elsewhere(claim) or self._unsupported(claim, stated)

    def _support(self, claim: Figure) -> support.Support | None:
        near, enough = self._near(claim)
        for said in (self._index.saying(claim), self._index.saying_in_units(claim)):
            found = support.best(claim, said, near, within=self._check.near, enough=enough)
            if found is not None:
                return found
        return None

    def _is_operand(self, claim: Figure) -> bool:
        """Stands in a stated calculation, and is quoted or counted.

        Its context is not asked: a calculation's sentence is mostly figures, and with a wrong one it does not come out.
        """
        for stated in self._formulas:
            if stated.start <= claim.start < stated.end:
                own = [o for o in stated.operands if o.figure.start < claim.end and claim.start < o.figure.end]
                return all(o.is_count or self._operand(o.figure, stated) is not None for o in own)
        return False

    def _near(self, claim: Figure) -> tuple[frozenset[str], int]:
        """The content words of the claim's sentence, and how many must be met.

        A short answer says little itself; then the question's words count too, and one less is asked; of a bare
        figure (`$1.2M`) one word.
        """
        own, shared = content.near(self._reading.sentence_at(claim.start)), self._check.shared
        if len(own) > shared:
            return own, shared
        near = own | content.near(self._reading.run.question)
        return near, min(max(1, shared - 1) if own else 1, len(near))

    def _is_near(self, claim: Figure, found: support.Support) -> bool:
        """What the question and the as-of date say is given and needs no context."""
        if any(seen.source.key in (QUESTION, AS_OF) for seen in self._index.saying(claim)):
            return True
        return found.weight >= self._near(claim)[1]

    def _derived(self, claim: Figure, stated: formula.Formula) -> Flag | None:
        """A stated calculation that holds and whose operands are all quoted, or may be counted."""
        looked: list[Look] = []
        for operand in stated.operands:
            seen = self._operand(operand.figure, stated)
            if seen is not None:
                looked.append(_look(seen))
            elif not operand.is_count:
                return None
        return self._made("derived", claim, note=f"{stated.text} of figures that are there", looked=tuple(looked))

    def _operand(self, figure: Figure, stated: formula.Formula) -> Seen | None:
        """Where the evidence says an operand, as it stands or in the thousands, millions or billions of the result."""
        for one in formula.scaled(figure, stated.result):
            seen = next(iter(self._index.saying(one)), None)
            if seen is not None:
                return seen
        return None

    def _weak(self, claim: Figure, found: support.Support) -> Flag:
        share = ", ".join(found.shared) or "no word"
        return self._made(
            "soft" if figures.is_soft(claim) else "weak",
            claim,
            note=f"the value stands there, and around it only {share} of this sentence",
            looked=(_look(found.seen),),
        )

    def _elsewhere(self, claim: Figure) -> Flag | None:
        """Said in the evidence in another form: a relative date, another unit."""
        spoken = relative.saying(claim, self._reading.sources, self._reading.seen)
        if spoken is not None:
            look = Look(key=spoken.source.key, start=spoken.start, end=spoken.end, words=spoken.words)
            return self._made("derived", claim, note=f"{spoken.words} of {spoken.day.isoformat()}", looked=(look,))
        other = conversion.saying(claim, self._reading.answer, self._reading.seen)
        if other is not None:
            return self._made("derived", claim, note="the same in another unit", looked=(_look(other),))
        return None

    def _unsupported(self, claim: Figure, stated: formula.Formula | None) -> Flag:
        if figures.is_soft(claim) and stated is None:
            return self._made("soft", claim, note="a small count: counted, quoted or made up, which code cannot tell")
        note = "nothing that the tools returned says it"
        if stated is not None:
            note = f"{stated.text} rests on figures that nothing says"
        else:
            may_be = guess.of(claim, self._reading.seen)
            note += f"; it may be {may_be}, and then the answer has to say so" if may_be else ""
        looked = tuple(_look(seen) for seen in self._index.nearest(claim))
        return self._made("invented", claim, gates=True, note=note, looked=looked)

    def _made(self, kind: str, claim: Figure, *, note: str, gates: bool = False, looked: tuple[Look, ...] = ()) -> Flag:
        return Flag(
            kind=kind,
            words=claim.text,
            start=claim.start,
            end=claim.end,
            gates=gates,
            note=note,
            sentence=self._reading.sentence_at(claim.start),
            looked=looked,
        )


def _outside(reading: Reading, found: tuple[Figure, ...]) -> Iterator[Figure]:
    """The figures that are no part of a citation."""
    spans = [(mark.start, mark.end) for mark in reading.marks]
    for figure in found:
        if not any(start <= figure.start < end for start, end in spans):
            yield figure


def _look(seen: Seen) -> Look:
    figure = seen.figure
    return Look(key=seen.source.key, start=figure.start, end=figure.end, words=figure.text)
