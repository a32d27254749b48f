from __future__ import annotations

import gc

from ukai.kit import heap


def test_what_is_loaded_is_not_looked_at_again():
    gc.unfreeze()

    heap.settle()

    assert gc.get_freeze_count() > 10_000
