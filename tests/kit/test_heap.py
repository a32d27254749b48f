from __future__ import annotations

import gc

from ukai.kit import heap


def test_what_is_loaded_is_not_looked_at_again():
    gc.unfreeze()

    heap.settle()

    assert gc.get_freeze_count() > 10_000


def test_a_question_is_not_held_up_by_passes_over_what_it_has_just_made():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)

    heap.settle()

    assert gc.get_threshold() == heap.PASSES
    gc.set_threshold(*before)
