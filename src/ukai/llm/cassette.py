"""Cassettes: what models and tools replied, kept by the request as it was rendered, so that an evaluation replays.

A file of JSON lines that only grows: parts of requests by their hash, each once, and replies by the parts of their
request and the repeat they belong to. A second repeat has a reply of its own: repeats that replay one reply would be
no repeats. A line that a killed process left half written is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ukai.kit import canonical
from ukai.kit.errors import PermanentError

DIFF_LINES = 40
_KEPT = ("part_kind", "content", "tool_name", "args", "outcome")
"""Of a part of a message, what a model sees; instants and the provider's own ids are not among it."""
_UNSEEN_SETTINGS = ("timeout",)


class CassetteMiss(PermanentError):
    """A replay was asked for something that was not recorded."""

    def __init__(self, what: str, diff: str) -> None:
        super().__init__(f"the cassette holds no reply to {what}", hint="Record it with --record")
        self.what, self.diff = what, diff


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request, rendered: its parts in order, and what to call it."""

    what: str
    """For people: `extractive, message 3`, `search_records`."""
    parts: tuple[Any, ...]
    """JSON values; the longest common beginning of two requests is what they share."""

    @property
    def hashes(self) -> tuple[str, ...]:
        """Of the parts."""
        return tuple(canonical.sha256(part) for part in self.parts)


@dataclass(kw_only=True)
class Cassette:
    """The replies of one file. One a process writes to it."""

    path: Path
    is_recording: bool = False
    """A miss is asked for and kept; otherwise it is an error."""
    _replies: dict[tuple[tuple[str, ...], int], Any] = field(default_factory=dict[tuple[tuple[str, ...], int], Any])
    _parts: dict[str, Any] = field(default_factory=dict[str, Any])
    recorded: int = 0

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        for line in self.path.read_text(encoding="utf-8").split("\n"):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if "part" in entry:
                self._parts[entry["part"]] = entry["value"]
            else:
                self._replies[tuple(entry["request"]), entry["rep"]] = entry["reply"]

    def __len__(self) -> int:
        return len(self._replies)

    def find(self, request: Request, rep: int) -> Any | None:
        """The reply of this repeat, None when there is none."""
        return self._replies.get((request.hashes, rep))

    def add(self, request: Request, rep: int, reply: Any) -> None:
        """Keep a reply. The first one of a request and repeat stays."""
        hashes = request.hashes
        if (hashes, rep) in self._replies:
            return
        new = {h: part for h, part in zip(hashes, request.parts, strict=True) if h not in self._parts}
        lines = [{"part": h, "value": part} for h, part in new.items()]
        lines.append({"request": list(hashes), "rep": rep, "reply": reply})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # A line that was cut short by a kill ends here and spoils no other.
            file.write("".join("\n" + canonical.dumps(line) for line in lines) + "\n")
        self._parts |= new
        self._replies[hashes, rep] = reply
        self.recorded += 1

    def missing(self, request: Request) -> CassetteMiss:
        """What to raise for a request without a reply: the diff against the nearest one."""
        hashes = request.hashes
        nearest = max(self._replies, key=lambda key: _alike(hashes, key[0]), default=None)
        diff = "the cassette is empty" if nearest is None else self._diff(request, nearest[0])
        return CassetteMiss(request.what, diff)

    def _diff(self, request: Request, nearest: Sequence[str]) -> str:
        old = [line for h in nearest for line in _lines(self._parts.get(h))]
        new = [line for part in request.parts for line in _lines(part)]
        shown = list(unified_diff(old, new, "recorded", "asked", lineterm="", n=2))
        if not shown:
            return "the request was recorded, with fewer repeats"
        more = [f"... {len(shown) - DIFF_LINES} more lines"] if len(shown) > DIFF_LINES else []
        return "\n".join([*shown[:DIFF_LINES], *more])


def _alike(asked: Sequence[str], known: Sequence[str]) -> tuple[int, int]:
    """How many parts two requests share, from the beginning first."""
    same = next((i for i, (a, b) in enumerate(zip(asked, known, strict=False)) if a != b), min(len(asked), len(known)))
    return len(set(asked) & set(known)), same - abs(len(asked) - len(known))


def _lines(value: Any, at: str = "") -> Iterator[str]:
    """A JSON value line by line, with the lines of its texts as lines."""
    if isinstance(value, Mapping):
        for key, inner in sorted(cast("Mapping[str, Any]", value).items()):
            yield from _lines(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list):
        for i, inner in enumerate(cast("list[Any]", value)):
            yield from _lines(inner, f"{at}[{i}]")
    elif isinstance(value, str):
        yield from (f"{at}: {line}" for line in value.split("\n"))
    else:
        yield f"{at}: {canonical.dumps(value)}"


class Taped(Model):
    """A model whose replies come from a cassette; the model itself is built when it has to be asked, and not before."""

    def __init__(
        self,
        name: str,
        build: Callable[[], Model],
        cassette: Cassette | None,
        rep: int,
        *,
        missed: Callable[[CassetteMiss], object] = lambda _: None,
    ) -> None:
        """`missed` hears of a miss also where whoever asked takes every error for a failed rule."""
        super().__init__()
        self._name, self._build, self._cassette, self._rep, self._missed = name, build, cassette, rep, missed

    @property
    def model_name(self) -> str:
        """The provider's name for it."""
        return self._name.partition(":")[2] or self._name

    @property
    def system(self) -> str:
        """The provider."""
        return self._name.partition(":")[0]

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The recorded response. Raises CassetteMiss."""
        tape = self._cassette
        if tape is None:
            return await self._build().request(messages, model_settings, model_request_parameters)
        asked = rendered(self._name, messages, model_settings, model_request_parameters)
        kept = tape.find(asked, self._rep)
        if kept is None:
            if not tape.is_recording:
                miss = tape.missing(asked)
                self._missed(miss)
                raise miss
            made = await self._build().request(messages, model_settings, model_request_parameters)
            kept = ModelMessagesTypeAdapter.dump_python([made], mode="json")[0]
            tape.add(asked, self._rep, kept)
        (response,) = ModelMessagesTypeAdapter.validate_python([kept])
        assert isinstance(response, ModelResponse)
        return response


def rendered(
    name: str, messages: Sequence[ModelMessage], settings: ModelSettings | None, params: ModelRequestParameters
) -> Request:
    """What a model is sent, without what changes from one day to the next."""
    head = {
        "model": name,
        "settings": {k: v for k, v in sorted((settings or {}).items()) if k not in _UNSEEN_SETTINGS},
        "tools": [_tool(t) for t in sorted(params.function_tools, key=lambda t: t.name)],
        "output_tools": [_tool(t) for t in params.output_tools],
        "text": params.allow_text_output,
    }
    numbers: dict[str, int] = {}
    parts = [_message(m, numbers) for m in messages]
    plain: tuple[Any, ...] = tuple(json.loads(canonical.dumps(part)) for part in (head, *parts))
    return Request(what=f"{name}, message {len(messages)}", parts=plain)


def _tool(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}


def _message(message: ModelMessage, numbers: dict[str, int]) -> dict[str, Any]:
    """Calls are numbered in their order: their ids are the provider's."""
    whole = ModelMessagesTypeAdapter.dump_python([message], mode="json")[0]
    parts: list[dict[str, Any]] = []
    for part in whole["parts"]:
        said = {key: part[key] for key in _KEPT if key in part}
        if isinstance(said.get("args"), str):
            said["args"] = _decoded(said["args"])
        if "tool_call_id" in part:
            said["call"] = numbers.setdefault(str(part["tool_call_id"]), len(numbers) + 1)
        parts.append(said)
    instructions = message.instructions if isinstance(message, ModelRequest) else None
    return {"kind": whole["kind"], "parts": parts} | ({"instructions": instructions} if instructions else {})


def _decoded(args: str) -> Any:
    try:
        return json.loads(args)
    except ValueError:
        return args
