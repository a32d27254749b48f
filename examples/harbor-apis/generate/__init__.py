"""The sample company, made from a seed: Harbor APIs, its customers, and two years of what they said and did.

`records` yields plain dicts in a stable order, `deltas` packs them into proposals for the gate. Everything here is
standard library, so that the generator also runs where Ukai is not installed.
"""

from .canary import hidden_from, tokens
from .company import AS_OF, records
from .proposals import deltas
from .records import DOMAINS, KEYS, PARTS, SEARCHED, handle, passages

__all__ = [
    "AS_OF",
    "DOMAINS",
    "KEYS",
    "PARTS",
    "SEARCHED",
    "deltas",
    "handle",
    "hidden_from",
    "passages",
    "records",
    "tokens",
]
