"""Kind `pattern`: fires where one of the rule's regular expressions matches.

{kind: pattern, patterns: ['\\bsk_live_[a-z0-9]{16,}\\b']}
"""

from __future__ import annotations

import re
from functools import lru_cache

from ukai.runtime.guardrail import Guardrail
from ukai.runtime.rules.judged import Judged, Text, at


def decide(rule: Guardrail, text: Text) -> Judged:
    """Every match of every pattern; an empty match is none."""
    return at([m.span() for p in rule.patterns for m in _compiled(p).finditer(text.words)])


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
