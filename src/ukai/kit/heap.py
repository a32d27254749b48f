"""What a long-lived process does about the collector of reference cycles."""

from __future__ import annotations

import gc

PASSES = (20_000, 20, 50)
"""As many new objects, and passes over the younger ones, come before a pass. By default 700, 10, 10: a question made
seven passes, and one in eighteen a full one."""


def settle() -> None:
    """Take what is loaded by now out of every later pass of the collector, and let it pass less often.

    Modules, schemas and models stay for good, and looking at them again and again is felt: a full pass held up a
    question by 120 to 160 ms, one in fifteen (`ukai bench context`: p95 184 ms before, 69 ms after). What comes later
    is collected as ever, but not inside of every question: processor time of a new one 39 ms in the mean and 72 at p95
    before, 34 and 39 after.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*PASSES)
