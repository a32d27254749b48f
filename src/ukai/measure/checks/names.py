"""Check `names`: names in the answer that nothing the tools returned holds, not in part and in no spelling.

Names are found by their capitals, so this reports more often than it is right; the page says how often:
docs/reference/checks/names.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ukai.measure import names, spec
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Flag, Look, Score


@dataclass(frozen=True, kw_only=True)
class Names:
    """The check with its parameters."""

    name: ClassVar[str] = "names"
    version: ClassVar[int] = 1

    fuzzy: int = names.FUZZY

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """A flag for each name of which no word stands in the evidence."""
        if reading.run.answer is None:
            return Score(check=self.name, spec=spec.written(self), about=(reading.id,), unable="the run has no answer")
        registry = names.Registry(reading)
        skip = [(f.start, f.end) for f in reading.figures] + [(c.start, c.end) for c in reading.marks]
        found = list(names.written(reading.answer, reading.units, skip))
        strange = [name for name in found if not registry.knows(name) and not self._is_near(registry, name)]
        flags = (*(_flag(reading, registry, name) for name in strange), *_readdressed(reading))
        counts = {
            "names": float(len(found)),
            "strange": float(len(strange)),
            "readdressed": float(len(flags) - len(strange)),
        }
        return Score(check=self.name, spec=spec.written(self), about=(reading.id,), flags=flags, counts=counts)

    def _is_near(self, registry: names.Registry, name: names.Name) -> bool:
        """Spelt a little differently; short names have too few letters to say."""
        return len("".join(name.parts)) > 5 and bool(registry.resolve(name))


def _readdressed(reading: Reading) -> Iterator[Flag]:
    """`Ms. Smith` of whom the evidence only ever says `Mr. Smith`."""
    said: dict[str, dict[str, Look]] = {}
    for source in reading.sources:
        for address in names.addresses(source.text):
            look = Look(key=source.key, start=address.start, end=address.end, words=address.text)
            for name in address.names:
                said.setdefault(name, {}).setdefault(address.form, look)
    for address in names.addresses(reading.answer):
        # The last name tells people apart; a first name alone is the last that is said.
        forms = said.get(address.names[-1], {})
        if forms and address.form not in forms:
            yield Flag(
                kind="readdressed",
                words=address.text,
                start=address.start,
                end=address.end,
                gates=True,
                note="the evidence addresses this person otherwise, and never so",
                sentence=reading.sentence_at(address.start),
                looked=tuple(forms.values()),
            )


def _flag(reading: Reading, registry: names.Registry, name: names.Name) -> Flag:
    looked = tuple(Look(key=entity.key, words=entity.name) for entity in registry.nearest(name))
    return Flag(
        kind="strange",
        words=name.text,
        start=name.start,
        end=name.end,
        gates=True,
        note="no word of this name stands in anything that the tools returned",
        sentence=reading.sentence_at(name.start),
        looked=looked,
    )
