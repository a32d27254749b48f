"""Kind `figure`: fires on a figure of the answer that nothing the tools returned says (P8.1).

The check `invented_figures` while the answer can still be held back: a figure counts that the check would let gate.
"""

from __future__ import annotations

import re

from ukai.measure import Reading
from ukai.measure.checks.invented_figures import InventedFigures
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Text, at

_CHECK = InventedFigures()


def decide(rule: Guardrail, text: Text) -> Judged:
    """A question has no sources to hold its figures against, so there the rule cannot be decided."""
    if text.sealed is None:
        return Judged(failure="there are no sources to hold a figure against")
    run = text.sealed(text.words)
    flags = [f for f in _CHECK.weigh(Reading(run)).flags if f.gates]
    # The same words in a result or in the question are enough to let an answer out, whatever stands around them.
    words = (run.question, *(item.words for call in run.calls for item in call.items)) if flags else ()
    said = " ".join(" ".join(words).split())
    return at([(f.start, f.end) for f in flags if not _stands(f.words, said)])


def _stands(words: str, said: str) -> bool:
    whole = re.escape(" ".join(words.split()))
    return re.search(rf"(?<!\w){whole}(?!\w)", said) is not None
