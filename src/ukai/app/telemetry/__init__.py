"""What a process tells the outside about its turns: spans for a collector, counts for Prometheus (P2.2).

telemetry.start(environ, stamp)      # once, where a server begins; without an endpoint nothing is exported
telemetry.observed(run)              # after each sealed run
telemetry.composed(report)           # after each composition
with telemetry.making() as made: ... # the ids of the runs and compositions that are made inside
telemetry.METRICS.exposition()       # the text of /metrics
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from importlib.metadata import version

from opentelemetry import trace

from ukai import record, store
from ukai.app import nights
from ukai.app.telemetry import metrics, names, spans
from ukai.app.telemetry.metrics import MEDIA, Metric
from ukai.context import index
from ukai.context.report import Report
from ukai.context.rows import compositions
from ukai.kit.errors import PermanentError
from ukai.llm.cache import Cache

__all__ = ["MEDIA", "METRICS", "NoExporter", "composed", "made", "making", "measured", "observed", "start"]

_MADE: ContextVar[list[str] | None] = ContextVar("made", default=None)

METRICS = metrics.Registry(
    (
        Metric(name=names.TURNS, help="Turns that ended, by how.", labels=("agent", "surface", "status")),
        Metric(name=names.TURN_SECONDS, help="How long turns took.", labels=("agent", "surface"), kind="histogram"),
        Metric(name=names.TOOL_CALLS, help="Calls of tools, by label.", labels=("tool", "outcome")),
        Metric(name=names.VERDICTS, help="Verdicts of guardrails.", labels=("rule", "stage", "verdict", "failed")),
        Metric(name=names.TOKENS, help="Tokens of models.", labels=("model", "kind")),
        Metric(name=names.USD, help="What models cost, where a price is known.", labels=("model",)),
        Metric(name=names.BUDGET, help="Turns that a budget ended.", labels=("agent",)),
        Metric(name=names.REFUSALS, help="Requests refused before a turn began.", labels=("surface", "code")),
        Metric(name=names.RUNNING, help="Turns under way.", kind="gauge"),
        Metric(name=names.WAITING, help="Turns that wait for a place.", kind="gauge"),
        Metric(name=names.INDEX_LAG, help="Changes of the graph that passages do not follow yet.", kind="gauge"),
        Metric(name=names.INDEX_WAITING, help="Texts that have no vector yet, up to 10,000.", kind="gauge"),
        Metric(name=names.ANN_RECALL, help="What approximate answers of a day have of the exact ones.", kind="gauge"),
        Metric(name=names.ANN_CHECKED, help="Approximate answers of a day that were checked.", kind="gauge"),
        Metric(
            name=names.RECALL,
            help="What documents hold of what questions require, as last measured.",
            labels=("set", "figure", "budget"),
            kind="gauge",
        ),
        Metric(name=names.RECALL_FELL, help="Figures of recall below the baseline.", labels=("set",), kind="gauge"),
        Metric(name=names.RECALL_FAILED, help="Whether the last recall could not be measured.", kind="gauge"),
        Metric(name=names.RECALL_AT, help="The night that was last measured.", kind="gauge"),
        Metric(
            name=names.PULLED_AT,
            help="When a connector last read its source whole.",
            labels=("connector",),
            kind="gauge",
        ),
        Metric(
            name=names.PULL_FAILURES,
            help="How often a scheduled pull failed since it last did not, up to 20.",
            labels=("connector",),
            kind="gauge",
        ),
        Metric(name=names.COMPOSITION_EVENTS, help="What went wrong while composing, by kind.", labels=("event",)),
        Metric(name=names.BUILD, help="What runs.", labels=("version", "commit", "tree"), kind="gauge"),
    )
)
"""Of this process: counters are one to a process by their nature."""


class NoExporter(PermanentError):
    """Spans are to be sent, and what sends them is not installed."""

    hint = "install the extra `otel`, in the clone: pip install '.[otel]'"


def start(environ: Mapping[str, str], stamp: record.Build) -> None:
    """Say what runs, and send spans to `OTEL_EXPORTER_OTLP_ENDPOINT` if it is set. Raises NoExporter."""
    METRICS.set(names.BUILD, version("ukai"), stamp.commit, stamp.tree, to=1)
    if not environ.get(names.ENDPOINT):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise NoExporter(f"{names.ENDPOINT} is set, and {missing.name} is not installed") from None
    about = {"service.name": environ.get("OTEL_SERVICE_NAME", "ukai"), "service.version": version("ukai")}
    provider = TracerProvider(resource=Resource.create({**about, names.BUILD_COMMIT: stamp.commit}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


async def measured(db: store.Database, *, cache: Cache, running: int, waiting: int, at: datetime) -> None:
    """Say how things stand at `at`, before they are read."""
    METRICS.set(names.RUNNING, to=running)
    METRICS.set(names.WAITING, to=waiting)
    METRICS.set(names.INDEX_LAG, to=await index.lag(db))
    METRICS.set(names.INDEX_WAITING, to=await index.waiting(db, cache))
    async with db.snapshot() as tx:
        checked, share = await compositions.ann_recall(tx, at - timedelta(days=1))
    METRICS.set(names.ANN_CHECKED, to=checked)
    if share is not None:
        METRICS.set(names.ANN_RECALL, to=share)
    _recalled(await nights.last(db, limit=2, until=at))


def _recalled(found: Sequence[nights.Night]) -> None:
    """The last night, and the last that was measured: a gauge keeps what a failure does not change."""
    if found:
        METRICS.set(names.RECALL_FAILED, to=found[0].state == "failed")
    measured = next((n for n in found if n.usable), None)
    if measured is None:
        return
    METRICS.set(names.RECALL_AT, to=measured.slot.timestamp())
    METRICS.set(names.RECALL_FELL, measured.name, to=len(measured.alerts))
    if "end_to_end" in measured.figures:
        METRICS.set(names.RECALL, measured.name, "end_to_end", "", to=measured.figures["end_to_end"])
    for figure in ("usable", "recall"):
        for budget, value in measured.figures.get(figure, {}).items():
            METRICS.set(names.RECALL, measured.name, figure, budget, to=value)


def composed(report: Report, registry: metrics.Registry | None = None) -> None:
    """Count what a composition had to do without: an alert hangs on `composer_final_summary_truncated` (C21)."""
    timed_out = (f"timed_out {s.strategy}" for s in report.graph if s.timed_out)
    for event in (*(e.split(" ")[0] for e in report.events), *timed_out):
        (registry or METRICS).add(names.COMPOSITION_EVENTS, event)


@contextmanager
def making() -> Generator[list[str]]:
    """What is made inside, by tasks that begin there too: `run=ID`, `composition=ID`."""
    found: list[str] = []
    token = _MADE.set(found)
    try:
        yield found
    finally:
        _MADE.reset(token)


def made(kind: str, id: object) -> None:
    """Tell whoever looks on (`making`) what was made."""
    if (found := _MADE.get()) is not None:
        found.append(f"{kind}={id}")


def observed(
    run: record.Run, *, conversation: str | None = None, registry: metrics.Registry | None = None
) -> record.Run:
    """Count a sealed run and trace it; the run comes back."""
    content = os.environ.get(names.CONTENT, "").lower() == "true"
    spans.emit(run, trace.get_tracer(names.SCOPE), content=content, conversation=conversation)
    _count(run, registry or METRICS)
    made("run", run.run_id)
    return run


def _count(run: record.Run, to: metrics.Registry) -> None:
    to.add(names.TURNS, run.agent, run.surface, run.status)
    seconds = max((run.ended_at - run.started_at).total_seconds(), 0.0)
    to.observe(names.TURN_SECONDS, run.agent, run.surface, seconds=seconds)
    for call in run.calls:
        to.add(names.TOOL_CALLS, spans.tool_of(call), call.label)
    for firing in run.firings:
        to.add(names.VERDICTS, firing.rule, firing.stage, firing.verdict, str(firing.failed).lower())
    for usage in run.usage:
        for kind in ("input", "output", "cached"):
            to.add(names.TOKENS, usage.model, kind, by=getattr(usage, kind))
        if usage.usd is not None:
            to.add(names.USD, usage.model, by=float(usage.usd))
    if run.status == "budget":
        to.add(names.BUDGET, run.agent)
