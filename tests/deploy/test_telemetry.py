"""A run as spans and counts: names of the conventions, the build in each, and nothing that anybody said (P2.2)."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from ukai import record
from ukai.app import telemetry
from ukai.app.telemetry import METRICS, metrics, names, spans
from ukai.measure.importing import otel

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
SECRET = "sk-live-9f8e7d6c5b4a"
COMMIT, TREE = "c" * 40, "d" * 40


def run(**more: Any) -> record.Run:
    def at(seconds: float) -> datetime:
        return AT + timedelta(seconds=seconds)

    given: dict[str, Any] = {
        "run_id": "01939d00-0000-7000-8000-000000000001",
        "agent": "deal-coach",
        "principal": f"ann+{SECRET}@harbor.example",
        "surface": "slack",
        "question": f"What is {SECRET}?",
        "started_at": AT,
        "as_of": AT,
        "ended_at": at(4),
        "status": "answered",
        "reason": SECRET,
        "config": record.Config(model="anthropic:claude-x"),
        "build": record.Build(commit=COMMIT, tree=TREE),
        "events": (
            record.Event(seq=1, at=at(0.5), kind="composition", about="comp-1"),
            record.Event(seq=2, at=at(1), kind="usage"),
            record.Event(seq=3, at=at(2), kind="call", about="call-1"),
            record.Event(seq=4, at=at(3), kind="call", about="call-2"),
            record.Event(seq=5, at=at(4), kind="usage"),
        ),
        "calls": (
            call("call-1", at(1), at(2), "data", items=(record.Item(item_key="Call#1", text=f"it says {SECRET}"),)),
            call("call-2", at(2), at(3), "error", error_code="timeout"),
        ),
        "compositions": ("comp-1",),
        "answer": record.Answer(markdown=f"It is {SECRET}."),
        "firings": (record.Firing(stage="output", rule="no-secrets@1", verdict="pass"),),
        "usage": (
            record.Usage(model="anthropic:claude-x", input=100, output=10, cached=40, usd=Decimal("0.01")),
            record.Usage(model="anthropic:claude-x", input=200, output=20, purpose="guardrail"),
        ),
    }
    return record.Run(**{**given, **more})


def call(id: str, t0: datetime, t1: datetime, label: Any, **more: Any) -> record.Call:
    arguments = json.dumps({"query": SECRET})
    return record.Call(
        call_id=id, tool="search", args_canonical=arguments, t0=t0, t1=t1, label=label, label_rule="returned", **more
    )


def emitted(of: record.Run, *, content: bool = False) -> list[ReadableSpan]:
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    spans.emit(of, provider.get_tracer("test"), content=content, conversation="slack:T1:C1:1.0")
    return list(kept.get_finished_spans())


def said(spans_: list[ReadableSpan]) -> str:
    return json.dumps([json.loads(s.to_json()) for s in spans_])


def test_a_run_is_one_agent_span_over_its_model_calls_tools_and_compositions():
    found = emitted(run())

    root = next(s for s in found if s.parent is None)
    assert root.name == "invoke_agent deal-coach"
    assert root.context is not None
    assert all(s.parent.span_id == root.context.span_id for s in found if s.parent is not None)
    assert sorted(s.name for s in found) == [
        "chat claude-x",
        "chat claude-x",
        "execute_tool search",
        "execute_tool search",
        "invoke_agent deal-coach",
        "retrieval",
    ]


def test_every_span_says_the_run_the_build_and_the_conversation():
    for span in emitted(run()):
        attributes = dict(span.attributes or {})
        assert attributes[names.RUN_ID] == "01939d00-0000-7000-8000-000000000001"
        assert (attributes[names.BUILD_COMMIT], attributes[names.BUILD_TREE]) == (COMMIT, TREE)
        assert attributes[names.CONVERSATION] == "slack:T1:C1:1.0"


def test_labels_usage_times_and_errors_are_those_of_the_record():
    found = {str(s.attributes.get(names.TOOL_CALL_ID) or s.name): s for s in emitted(run()) if s.attributes}
    root, first, second = found["invoke_agent deal-coach"], found["call-1"], found["call-2"]

    assert (first.start_time, first.end_time) == (_ns(1), _ns(2))
    assert (root.start_time, root.end_time) == (_ns(0), _ns(4))
    assert dict(first.attributes or {})[names.TOOL_OUTCOME] == "data"
    assert dict(second.attributes or {})[names.ERROR_TYPE] == "timeout"
    assert second.status.status_code is StatusCode.ERROR
    assert dict(root.attributes or {})[names.INPUT_TOKENS] == 300
    assert [dict(e.attributes or {})[names.GUARDRAIL_VERDICT] for e in root.events] == ["pass"]


@pytest.mark.parametrize("status", ["answered", "blocked", "refused", "budget", "cancelled", "error"])
def test_nothing_that_anybody_said_and_nobody_s_name_is_in_a_span(status: str):
    assert SECRET not in said(emitted(run(status=status)))


def test_a_tool_that_a_model_made_up_is_not_named():
    made_up = replace(call("call-1", AT, AT, "error", error_code="NotCalled"), tool=SECRET)

    telemetry.observed(run(calls=(made_up,)))

    assert SECRET not in said(emitted(run(calls=(made_up,)))) + METRICS.exposition()


def test_content_is_there_for_whoever_asked_for_it():
    text = said(emitted(run(), content=True))

    assert text.count(SECRET) == 5, "question, answer, two arguments, one result; not the principal, not the reason"


def test_what_is_exported_is_read_back_as_the_run_it_was():
    exported = [_otlp(s) for s in emitted(run(), content=True)]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": exported}]}]}

    runs, findings = otel.read(json.dumps(document))

    assert findings == []
    assert [(c.tool, json.loads(c.args_canonical)) for c in runs[0].calls] == [("search", {"query": SECRET})] * 2
    assert (runs[0].question, runs[0].answer and runs[0].answer.markdown) == (f"What is {SECRET}?", f"It is {SECRET}.")


def test_without_an_endpoint_nothing_of_the_sdk_is_loaded():
    code = (
        "import sys, ukai.app.telemetry as t; from ukai import record; t.start({}, record.Build());"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry.sdk')]"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


COLLECTED = """
import http.server, os, threading
from opentelemetry import trace
from tests.deploy.test_telemetry import SECRET, run
from ukai.app import telemetry
got = []
class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"
os.environ["OTEL_EXPORTER_OTLP_COMPRESSION"] = "none"
telemetry.start(os.environ, run().build)
telemetry.observed(run())
trace.get_tracer_provider().shutdown()
(path, body), = got
assert path == "/v1/traces"
assert b"invoke_agent deal-coach" in body and b"execute_tool search" in body and b"cccc" in body
assert SECRET.encode() not in body
"""


def test_a_collector_gets_the_spans_over_http():
    """In a process of its own: there is one provider of tracers to a process."""
    done = subprocess.run([sys.executable, "-c", COLLECTED], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_a_series_of_names_that_a_model_invents_does_not_grow_without_end():
    registry = metrics.Registry([metrics.Metric(name="calls", help="x", labels=("tool",))])

    for n in range(3_000):
        registry.add("calls", f"tool-{n}")

    assert registry.exposition().count("\ncalls{") == metrics.SERIES + 1
    assert registry.value("calls", metrics.OTHER) == 2_000


def test_what_would_end_a_label_is_escaped():
    registry = metrics.Registry([metrics.Metric(name="calls", help="x", labels=("tool",))])

    registry.add("calls", 'a"b\\c\nd')

    assert registry.exposition().splitlines()[2] == 'calls{tool="a\\"b\\\\c\\nd"} 1'


def test_durations_fall_into_their_buckets():
    registry = metrics.Registry([metrics.Metric(name="s", help="x", kind="histogram")])

    for seconds in (0.05, 2.0, 1_000.0):
        registry.observe("s", seconds=seconds)

    lines = registry.exposition().splitlines()
    assert 's_bucket{le="0.1"} 1' in lines
    assert 's_bucket{le="3"} 2' in lines
    assert 's_bucket{le="+Inf"} 3' in lines
    assert ("s_sum 1002.05" in lines, "s_count 3" in lines) == (True, True)


def test_every_name_of_the_registry_is_in_the_one_module():
    own = {value for value in vars(names).values() if isinstance(value, str)}

    assert {line.split()[2] for line in METRICS.exposition().splitlines() if line.startswith("# HELP")} <= own


def _ns(seconds: float) -> int:
    return int((AT.timestamp() + seconds) * 1_000_000_000)


def _otlp(span: ReadableSpan) -> dict[str, Any]:
    """As a collector writes it."""

    def value(v: Any) -> dict[str, Any]:
        kind = {bool: "boolValue", int: "intValue", float: "doubleValue"}.get(type(v), "stringValue")
        return {kind: str(v) if kind == "intValue" else v}

    assert span.context is not None
    return {
        "traceId": f"{span.context.trace_id:032x}",
        "spanId": f"{span.context.span_id:016x}",
        "parentSpanId": f"{span.parent.span_id:016x}" if span.parent else "",
        "name": span.name,
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": [{"key": k, "value": value(v)} for k, v in (span.attributes or {}).items()],
        "status": {"code": span.status.status_code.value},
    }
