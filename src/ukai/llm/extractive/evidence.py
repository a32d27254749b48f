"""What the tools of this turn returned, as items that can be quoted. Page: docs/design/extractive.md.

    {"items": [{"handle": "Call#harbor-12/turn/31", "title": "...", "text": "...", "fields": {"stage": "open"}}]}

Other shapes are read as far as they go, and quoted by their call. Only calls that succeeded count: the text of an error
is no evidence, whatever it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_core import to_jsonable_python

from ukai.kit import canonical, handle

LISTS = ("items", "results", "hits", "matches", "records", "rows", "data", "documents")
SINGLE = ("item", "record", "document", "result", "node")
HANDLES = ("handle", "citation", "source", "ref", "id", "record")
TITLES = ("title", "name", "subject", "heading")
TEXTS = ("text", "content", "body", "snippet", "summary", "passage", "excerpt", "description", "quote", "markdown")
FIELDS = ("fields", "props", "values", "metadata")
SILENT = frozenset({*HANDLES, *TITLES, *TEXTS, *FIELDS, "score", "rank", "distance", "cursor", "next", "path", "type",
                    "truncated", "more", "tokens", "vector", "version", "readers", "at", "as_of"})  # fmt: skip
"""Keys of an item that are not fields of the record."""
MAX_ITEMS = 400
MAX_TEXT = 200_000
"""Characters read of one item."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that can be quoted."""

    cite: str
    """What the citation says: the handle, or the call."""
    handle: str | None
    """The record to read for more; None when the tool gave none."""
    title: str = ""
    texts: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    truncated: bool = False
    """The tool says that there is more of it."""

    @property
    def said(self) -> str:
        """Its title, texts and fields as prose."""
        pairs = [f"{label.replace('_', ' ')}: {value}." for label, value in self.fields]
        return " ".join([f"{self.title}." if self.title else "", *self.texts, *pairs]).strip()

    @property
    def everything(self) -> str:
        """All its words, its handle's included: for the question whether it names something."""
        return f"{self.said} {self.cite} {self.cite.replace('#', ' ').replace('-', ' ')}"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of this turn, answered or not."""

    ordinal: int
    """Counted from 1 over the turn."""
    tool: str
    arguments: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """Equal for equal calls."""
        return identity(self.tool, self.arguments)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The conversation since the last question."""

    question: str
    calls: tuple[Call, ...] = ()
    items: tuple[Item, ...] = ()
    failed: tuple[str, ...] = ()
    """Tools whose call did not succeed and was not made good by a later one."""
    rounds: int = 0
    """How often the model has answered with calls."""
    results: Mapping[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """Ordinal of a call -> what it returned, in the tool's order, as indexes into `items`."""


def identity(tool: str, arguments: Mapping[str, Any]) -> str:
    """The name of a call with its arguments, in one spelling."""
    return tool + " " + canonical.dumps(to_jsonable_python(arguments, fallback=str))


def of(messages: Sequence[ModelMessage]) -> Turn:
    """The turn that `messages` end in. Evidence of earlier turns is theirs: it is not quoted again."""
    start, question = _question(messages)
    calls: dict[str, Call] = {}
    items: dict[Item, int] = {}
    results: dict[int, tuple[int, ...]] = {}
    failed: dict[str, None] = {}
    rounds = 0
    for message in messages[start:]:
        if isinstance(message, ModelResponse):
            made = [part for part in message.parts if isinstance(part, ToolCallPart)]
            rounds += bool(made)
            for part in made:
                calls[part.tool_call_id] = Call(ordinal=len(calls) + 1, tool=part.tool_name, arguments=_arguments(part))
            continue
        for part in message.parts:
            if not isinstance(part, ToolReturnPart):
                continue
            if part.outcome == "success":
                failed.pop(part.tool_name, None)
                call = calls.get(part.tool_call_id)
                ordinal = call.ordinal if call else 0
                found = read(part.content, tool=part.tool_name, ordinal=ordinal)
                # Each thing once: what two tools returned alike is one item, in order of first sight.
                results[ordinal] = tuple(items.setdefault(item, len(items)) for item in found)
            else:
                failed[part.tool_name] = None
    return Turn(
        question=question,
        calls=tuple(calls.values()),
        items=tuple(items),
        failed=tuple(failed),
        rounds=rounds,
        results=results,
    )


def read(content: Any, *, tool: str, ordinal: int) -> list[Item]:
    """The items of one successful result."""
    value = to_jsonable_python(content, fallback=str)
    if isinstance(value, str):
        value = _json_or_text(value)
    by_call = f"tool:{tool}/{ordinal}"
    found: list[Item] = []
    for number, entry in enumerate(_entries(value), 1):
        if len(found) == MAX_ITEMS:
            break
        item = _item(entry, f"{by_call}/{number}" if not isinstance(value, str) else by_call)
        if item is not None:
            found.append(item)
    return found


def _question(messages: Sequence[ModelMessage]) -> tuple[int, str]:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if not isinstance(message, ModelRequest):
            continue
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart):
                content = part.content
                texts = [content] if isinstance(content, str) else [c for c in content if isinstance(c, str)]
                return index, " ".join(texts).strip()
    return 0, ""


def _arguments(part: ToolCallPart) -> Mapping[str, Any]:
    try:
        return part.args_as_dict()
    except (ValueError, AssertionError):
        return {"": part.args_as_json_str()}  # arguments that are no object: a call of its own kind, never repeated


def _json_or_text(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _entries(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from cast("list[Any]", value)
        return
    if not isinstance(value, dict):
        yield value
        return
    data = cast("dict[str, Any]", value)
    if not any(key in data for key in ("text", "handle")):
        for key in LISTS:
            if isinstance(data.get(key), list):
                yield from data[key]
                return
        for key in SINGLE:
            if isinstance(data.get(key), dict):
                yield data[key]
                return
    if data.get("error") or data.get("ok") is False:
        return
    yield data


def _item(entry: Any, by_call: str) -> Item | None:
    if isinstance(entry, str):
        return Item(cite=by_call, handle=None, texts=(entry[:MAX_TEXT],)) if entry.strip() else None
    if not isinstance(entry, dict):
        return None
    data = cast("dict[str, Any]", entry)
    written = next(
        (str(data[key]) for key in HANDLES if isinstance(data.get(key), str) and _is_handle(data[key])), None
    )
    texts = tuple(data[key][:MAX_TEXT] for key in TEXTS if isinstance(data.get(key), str) and data[key].strip())
    item = Item(
        cite=written or by_call,
        handle=written,
        title=next((data[key] for key in TITLES if isinstance(data.get(key), str)), ""),
        texts=texts,
        fields=tuple(_fields(data)),
        truncated=data.get("truncated") is True or any(text.rstrip().endswith(("…", "...")) for text in texts),
    )
    return item if item.texts or item.fields or item.handle else None


def _is_handle(text: str) -> bool:
    return len(text) <= 300 and "\n" not in text and "]" not in text and handle.parse(text) is not None


def _fields(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        if key in FIELDS and isinstance(value, dict):
            yield from _flat("", cast("dict[str, Any]", value))
        elif key not in SILENT:
            yield from _flat("", {key: value})


def _flat(prefix: str, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        label = f"{prefix}{key}"
        if isinstance(value, bool):
            yield label, "yes" if value else "no"
        elif isinstance(value, str | int | float) and str(value).strip():
            yield label, str(value)[:MAX_TEXT]
        elif isinstance(value, dict) and not prefix:
            yield from _flat(f"{label}.", cast("dict[str, Any]", value))
        elif isinstance(value, list) and value and all(isinstance(v, str | int) for v in cast("list[Any]", value)):
            yield label, ", ".join(str(v) for v in cast("list[Any]", value))[:MAX_TEXT]
