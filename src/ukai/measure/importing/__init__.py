"""Runs of other people's agents, read into our record so that every check serves them too.

`FORMATS` is all there is: OpenTelemetry GenAI spans (OTLP JSON) and logs of Inspect AI (JSON).
"""

from __future__ import annotations

from collections.abc import Callable

from ukai import record
from ukai.kit.finding import Finding
from ukai.measure.importing import inspect_log, otel

Reader = Callable[[str], tuple[list[record.Run], list[Finding]]]
FORMATS: dict[str, Reader] = {"otel": otel.read, "inspect": inspect_log.read}
"""Name -> what reads a whole file of it."""

__all__ = ["FORMATS", "Reader"]
