"""The messages of A2A 1.0 in its JSON-RPC form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from ukai.app import live, wording
from ukai.kit import strict_json
from ukai.surfaces.a2a.card import MARKDOWN

SEND, STREAM = "SendMessage", "SendStreamingMessage"
STATES = {"answered": "COMPLETED", "refused": "REJECTED", "cancelled": "CANCELED"}
"""How a run ended -> the task's state; everything else has failed."""
BAD_JSON, BAD_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602


class Wrong(Exception):
    """A call that cannot be read, as JSON-RPC says it."""

    def __init__(self, code: int, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.code, self.id = code, id

    def document(self) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": str(self)}}


@dataclass(kw_only=True)
class Call:
    """One call. The task's id is the run's, as soon as there is one."""

    id: Any
    is_stream: bool
    text: str
    context: str | None
    task: str = ""

    def result(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": self.id, "result": value}

    @property
    def where(self) -> dict[str, str]:
        """What names the task in an event of a stream."""
        return {"taskId": self.task, "contextId": self.context or self.task}


def read(raw: bytes) -> Call:
    """The call of one body. Raises Wrong."""
    body, wrong = strict_json.loads(raw)
    if wrong:
        raise Wrong(BAD_JSON, wrong[0].message)
    call = _mapping(body)
    id = call.get("id")
    if call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str) or isinstance(id, dict | list | Decimal):
        raise Wrong(BAD_REQUEST, "this is no call of JSON-RPC 2.0")
    if call["method"] not in (SEND, STREAM):
        raise Wrong(NO_METHOD, f"only {SEND} and {STREAM} are answered here", id)
    message = _mapping(_mapping(call.get("params")).get("message"))
    parts = cast("list[Any]", message.get("parts")) if isinstance(message.get("parts"), list) else []
    texts = [_mapping(part).get("text") for part in parts]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise Wrong(BAD_PARAMS, "the message holds no text, or more than text", id)
    text = "\n".join(str(text) for text in texts).strip()
    if not 0 < len(text) <= wording.MOST:
        raise Wrong(BAD_PARAMS, f"a question has 1 to {wording.MOST} characters", id)
    context = message.get("contextId")
    return Call(
        id=id,
        is_stream=call["method"] == STREAM,
        text=text,
        context=context[:200] if isinstance(context, str) and context else None,
    )


def task(call: Call, outcome: live.Outcome) -> dict[str, Any]:
    """The whole task of a run that ended."""
    call.task = outcome.run.run_id
    found: dict[str, Any] = {
        "id": call.task,
        "contextId": call.where["contextId"],
        "status": _ended(call, outcome),
        "metadata": {"run_id": outcome.run.run_id, "status": outcome.status},
    }
    if outcome.run.answer is not None:
        found["artifacts"] = [_artifact(outcome)]
    return found


def told(call: Call, one: live.Told) -> Iterator[dict[str, Any]]:
    """What of a stream's part is sent, as `StreamResponse`."""
    if isinstance(one, live.Outcome):
        if one.run.answer is not None:
            yield {"artifactUpdate": {**call.where, "artifact": _artifact(one), "lastChunk": True}}
        yield {"statusUpdate": {**call.where, "status": _ended(call, one)}}
    elif one.kind == "started":
        call.task = str(one.data["run_id"])
        yield {"task": {"id": call.task, "contextId": call.where["contextId"], "status": _status("SUBMITTED", one.at)}}
    elif one.line:
        status = {**_status("WORKING", one.at), "message": _message(call, one.line)}
        yield {"statusUpdate": {**call.where, "status": status}}


def _ended(call: Call, outcome: live.Outcome) -> dict[str, Any]:
    status = _status(STATES.get(outcome.status, "FAILED"), outcome.run.ended_at)
    return status if outcome.run.answer is not None else {**status, "message": _message(call, outcome.text)}


def _status(state: str, at: datetime) -> dict[str, Any]:
    return {"state": f"TASK_STATE_{state}", "timestamp": at.astimezone(UTC).isoformat().replace("+00:00", "Z")}


def _message(call: Call, text: str) -> dict[str, Any]:
    return {"messageId": f"{call.task}-status", "role": "ROLE_AGENT", "parts": [{"text": text}], **call.where}


def _artifact(outcome: live.Outcome) -> dict[str, Any]:
    part = {"text": outcome.text, "mediaType": MARKDOWN}
    return {"artifactId": f"{outcome.run.run_id}-answer", "name": "answer", "parts": [part]}


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
