"""The turn's events as those of AG-UI 1.0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ukai.app import live

Event = Mapping[str, Any]


@dataclass(kw_only=True)
class Script:
    """One run as its client knows it. Told in order, it begins and ends every step and message."""

    thread: str
    run: str
    step: str = ""

    def told(self, one: live.Told) -> Iterator[Event]:
        """What a part of the stream becomes."""
        if isinstance(one, live.Outcome):
            yield from self._end(one)
            return
        data = one.data
        match one.kind:
            case "started":
                yield {"type": "RUN_STARTED", "threadId": self.thread, "runId": self.run}
                yield {"type": "CUSTOM", "name": "ukai.run", "value": {"run_id": data["run_id"]}}
            case "tool_started":
                start = {"toolCallId": data["call_id"], "toolCallName": data["tool"]}
                yield {"type": "TOOL_CALL_START", **start}
            case "tool_ended":
                yield {"type": "TOOL_CALL_END", "toolCallId": data["call_id"]}
                outcome = {"call_id": data["call_id"], "label": data["label"], "items": data["items"]}
                yield {"type": "CUSTOM", "name": "ukai.tool", "value": outcome}
            case "status" | "composed" | "held":
                yield from self._next(one.line.rpartition(":")[0] or one.line)
            case _:
                return  # the answer comes with the outcome

    def _next(self, name: str) -> Iterator[Event]:
        if name and name != self.step:
            yield from self._ended()
            self.step = name
            yield {"type": "STEP_STARTED", "stepName": name}

    def _ended(self) -> Iterator[Event]:
        if self.step:
            yield {"type": "STEP_FINISHED", "stepName": self.step}
            self.step = ""

    def _end(self, outcome: live.Outcome) -> Iterator[Event]:
        yield from self._ended()
        if outcome.run.answer is None:
            yield {"type": "RUN_ERROR", "message": outcome.text, "code": outcome.status}
            return
        message = {"messageId": f"{outcome.run.run_id}-answer"}
        yield {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": outcome.text}
        yield {"type": "TEXT_MESSAGE_END", **message}
        sources = [{"key": s.key, "text": s.text} for s in outcome.sources]
        yield {"type": "CUSTOM", "name": "ukai.sources", "value": sources}
        yield {"type": "RUN_FINISHED", "threadId": self.thread, "runId": self.run}
