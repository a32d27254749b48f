"""Check `rewrite`: what a rewrite left behind (residue), touched unasked (collateral) or lost in silence (P8.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ukai import record
from ukai.kit import figures
from ukai.kit.figures import Figure
from ukai.measure import normal, rewriting, spec
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.rewriting import Laid, Part
from ukai.measure.score import Flag, Look, Score, tally

KINDS = ("residue", "missing", "reworded", "new", "quiet_loss", "broken_mark")


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """One rewrite of a run: all marks of one text, and the text that came after it."""

    original: str
    marks: tuple[record.Mark, ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """The check has no parameters; the thresholds stand in measure/rewriting.py."""

    name: ClassVar[str] = "rewrite"
    version: ClassVar[int] = 1

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """Every rewrite of the run. Residue, missing, reworded and new gate; so does quiet loss, under its own name."""
        found = rewrites(reading.run)
        if not found:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="nothing was rewritten")
        flags = tuple(flag for one in found for flag in weighed(one))
        counts: dict[str, float] = dict.fromkeys(KINDS, 0.0) | tally(flags) | {"rewrites": float(len(found))}
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=flags, counts=counts)


def rewrites(run: record.Run) -> tuple[Rewritten, ...]:
    """In order. Rules of one round mark one text; the next round's text, or the answer, is what came of it."""
    rounds: dict[str, list[record.Mark]] = {}
    for firing in run.firings:
        if firing.rewrite_of is not None:
            rounds.setdefault(firing.rewrite_of, []).extend(firing.marks)
    if not rounds or run.answer is None:
        return ()
    texts = [*rounds, run.answer.markdown]
    return tuple(
        Rewritten(original=text, marks=tuple(rounds[text]), text=texts[i + 1]) for i, text in enumerate(rounds)
    )


def weighed(rewritten: Rewritten) -> list[Flag]:
    """All flags of one rewrite, in the order of `KINDS`."""
    marks = [mark for mark in rewritten.marks if _stands(rewritten.original, mark)]
    broken = [mark for mark in rewritten.marks if mark not in marks]
    laid = rewriting.laid(rewritten.original, rewritten.text, [(m.start, m.end) for m in marks])
    untouched = {laid.same[p.i] for p in laid.original if not p.marked and p.i in laid.same}
    changed = [p for p in laid.rewritten if p.i not in untouched]
    flags = [flag for mark in marks for flag in _residue(rewritten, laid, changed, mark)]
    flags += [_flag("missing", p, "no mark touched it, and it is gone") for p in laid.missing if not p.marked]
    for p in laid.original:
        if not p.marked and p.i in laid.reworded:
            flags.append(_reworded(p, laid.rewritten[laid.reworded[p.i]]))
    marked = [p for p in laid.original if p.marked]
    flags += [
        _flag("new", p, "nothing in the original became it", of="answer")
        for p in laid.new
        if not any(rewriting.continues(m, p) for m in marked)
    ]
    flags += [_flag("quiet_loss", p, "a mark touched it, and nothing took its place") for p in laid.missing if p.marked]
    flags += [_broken(mark) for mark in broken]
    return flags


def _stands(original: str, mark: record.Mark) -> bool:
    return 0 <= mark.start < mark.end and original[mark.start : mark.end] == mark.text


def _residue(rewritten: Rewritten, laid: Laid, changed: Sequence[Part], mark: record.Mark) -> Iterator[Flag]:
    """The mark's words in a sentence that is not an untouched one; else each figure of it, by value."""
    words = normal.text(mark.text)
    pattern = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)")
    for part in changed:
        if words and pattern.search(part.norm):
            place = _place(part, mark.text)
            yield Flag(
                kind="residue",
                words=rewritten.text[place[0] : place[1]],
                start=place[0],
                end=place[1],
                gates=True,
                note="the marked words survive",
                sentence=part.text,
                looked=(Look(key="mark", start=mark.start, end=mark.end, words=mark.text),),
            )
            return
    for figure in figures.extract(mark.text):
        yield from _surviving(laid, changed, mark, figure)


def _surviving(laid: Laid, changed: Sequence[Part], mark: record.Mark, figure: Figure) -> Iterator[Flag]:
    """`twelve` for a marked `12`. A value that the original also says where no mark stands may stay."""
    if any(_says(p, figure, mark) for p in laid.original):
        return
    for part in changed:
        for other in figures.extract(part.text):
            if figures.agrees(other, figure) or figures.agrees(figure, other):
                yield Flag(
                    kind="residue",
                    words=other.text,
                    start=part.start + other.start,
                    end=part.start + other.end,
                    gates=True,
                    note=f"the marked {figure.text} survives by value",
                    sentence=part.text,
                    looked=(Look(key="mark", start=mark.start, end=mark.end, words=mark.text),),
                )
                return


def _says(part: Part, figure: Figure, mark: record.Mark) -> bool:
    """Whether a sentence of the original says the figure outside the mark."""
    return any(
        figures.agrees(other, figure)
        for other in figures.extract(part.text)
        if not mark.start <= part.start + other.start < mark.end
    )


def _place(part: Part, words: str) -> tuple[int, int]:
    """Where the words stand in the sentence; the whole sentence when only their normal form does."""
    at = part.text.casefold().find(words.casefold())
    return (part.start + at, part.start + at + len(words)) if at >= 0 else (part.start, part.end)


def _flag(kind: str, part: Part, note: str, *, of: str = "original") -> Flag:
    return Flag(
        kind=kind,
        words=part.text,
        start=part.start,
        end=part.end,
        part=of,
        gates=True,
        note=note,
        sentence=part.text,
    )


def _reworded(part: Part, other: Part) -> Flag:
    return Flag(
        kind="reworded",
        words=part.text,
        start=part.start,
        end=part.end,
        part="original",
        gates=True,
        note="no mark touched it, and it says so in other words",
        sentence=part.text,
        looked=(Look(key="answer", start=other.start, end=other.end, words=other.text),),
    )


def _broken(mark: record.Mark) -> Flag:
    return Flag(
        kind="broken_mark",
        words=mark.text,
        start=max(mark.start, 0),
        end=max(mark.end, 0),
        part="original",
        gates=False,
        note="these words do not stand at this place of the original; the mark was passed over",
    )
