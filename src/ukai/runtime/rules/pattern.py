"""Kind `pattern`: fires where one of the rule's regular expressions matches.

{kind: pattern, patterns: ['\\bsk_live_[a-z0-9]{16,}\\b']}

The syntax is Python's. The engine is one that can be told when to stop: an expression such as `(x+x+)+y` goes back over
an answer for longer than the world lasts, and the process with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Text, at

if TYPE_CHECKING:
    import regex

SECONDS = 0.2
"""For one expression over one text; those of a rule that is well written take some microseconds."""


def decide(rule: Guardrail, text: Text) -> Judged:
    """Every match of every pattern; an empty match is none. One that does not end in time leaves the rule undecided."""
    spans: list[tuple[int, int]] = []
    for pattern in rule.patterns:
        try:
            spans += [m.span() for m in compiled(pattern).finditer(text.words, timeout=SECONDS)]
        except TimeoutError:
            # By the text: whoever wrote it could have it let through, whatever the rule says of other failures.
            return Judged(failure=f"a pattern did not end within {SECONDS:g} s", is_provoked=True)
    return at(spans)


@lru_cache(maxsize=512)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Raises regex.error."""
    import regex  # a tenth of a second, for those alone that have such a rule

    return regex.compile(pattern)
