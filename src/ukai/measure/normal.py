"""One spelling for text that is compared as it stands: letter case, white space, quotes and markup aside."""

from __future__ import annotations

import re
import unicodedata

_QUOTES = str.maketrans(dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—−", "-"))
_MARKUP = re.compile(r"[*_~]+(?=\w)|(?<=[\w.!?,)])[*_~]+|^\s{0,3}(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+", re.M)
_BLANKS = re.compile(r"\s+")


def text(raw: str) -> str:
    """`raw` for comparison. No offsets survive."""
    folded = unicodedata.normalize("NFKC", raw).translate(_QUOTES)
    return _BLANKS.sub(" ", _MARKUP.sub("", folded)).strip().casefold()
