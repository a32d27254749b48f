"""Time-ordered identifiers (UUID version 7, RFC 9562). They stay inside; people and models see handles."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

Entropy = Callable[[int], bytes]
"""`n -> n random bytes`; tests hand in a seeded one."""


def time_ordered(at: datetime, *, entropy: Entropy = os.urandom) -> UUID:
    """A UUIDv7 for the instant `at`: sorts by millisecond, random below that."""
    millis = int(at.timestamp() * 1000)
    rand = int.from_bytes(entropy(10), "big")
    value = (millis & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (rand >> 68 & 0xFFF) << 64
    value |= 0b10 << 62 | rand & 0x3FFF_FFFF_FFFF_FFFF
    return UUID(int=value)
