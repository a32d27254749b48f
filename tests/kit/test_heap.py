from __future__ import annotations

import gc
import os
import subprocess
import sys

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


def test_threads_of_the_linear_algebra_that_have_nothing_to_do_keep_no_core_busy():
    code = (
        "import select, time, ukai, numpy as np\n"
        "many = np.ones((9_000, 384), 'f4')\n"
        "for _ in range(20): many @ many[0]\n"
        "began = time.process_time()\n"
        "select.select([], [], [], .08)\n"
        "print(time.process_time() - began)\n"
    )

    clean = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=clean)

    assert float(done.stdout) < 0.005
