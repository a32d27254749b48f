"""Evaluations for other people's tools; what `importing` reads back. `FORMATS` is all there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ukai.measure.evaluation import Evaluation
from ukai.measure.exporting import inspect_log, otel
from ukai.measure.weighing import Weighed

Writer = Callable[[Evaluation, Sequence[Weighed]], str]
FORMATS: dict[str, Writer] = {"otel": otel.written, "inspect": inspect_log.written}
"""Name -> what writes a whole file of it."""

__all__ = ["FORMATS", "Writer"]
