"""Kind `list`: fires where one of the rule's words or phrases stands, whatever the case, spacing and punctuation.

{kind: list, words: [salary, "sick leave"]}
"""

from __future__ import annotations

import re
from functools import lru_cache

from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Text, at


def decide(rule: Guardrail, text: Text) -> Judged:
    """Whole words only: `sale` does not fire on `wholesale`."""
    return at([m.span() for w in rule.words if (p := _compiled(w)) is not None for m in p.finditer(text.words)])


@lru_cache(maxsize=2_048)
def _compiled(phrase: str) -> re.Pattern[str] | None:
    parts = re.findall(r"\w+", phrase)
    if not parts:
        return re.compile(re.escape(phrase.strip())) if phrase.strip() else None
    # Between two words of a phrase anything may stand that is no word, on one line or two.
    return re.compile(r"(?<!\w)" + r"\W{1,3}".join(map(re.escape, parts)) + r"(?!\w)", re.IGNORECASE)
