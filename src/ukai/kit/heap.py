"""What a long-lived process does about the collector of reference cycles."""

from __future__ import annotations

import gc


def settle() -> None:
    """Take what is loaded by now out of every later pass of the collector.

    Modules, schemas and models stay for good, and looking at them again and again is felt: a full pass held up a
    question by 120 to 160 ms, one in fifteen (`ukai bench context`: p95 184 ms before, 69 ms after). What comes later
    is collected as ever.
    """
    gc.collect()
    gc.freeze()
