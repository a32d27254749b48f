"""Ukai: agents read through the composer, write through the gate, and are steered by checks that code can decide."""

import os

# Read when numpy is loaded. Without it the threads of its linear algebra keep a core busy for a tenth of a second after
# each use (`ukai bench context`: processor time of a question 94 instead of 48 ms, p95 91 instead of 55 ms).
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
