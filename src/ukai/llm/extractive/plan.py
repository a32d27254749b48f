"""Which tools to call next, by rules over their names, descriptions and schemas: nothing here knows a company.

First what searches, with the question as it was asked. Then, while the evidence does not answer, the records that the
search found, other searches, what is related to the best record, and at last plain lists. A tool that might change
something is never called, no call is made twice, and one whose schema is not understood is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai.tools import ToolDefinition

from ukai.kit import handle, words
from ukai.llm.extractive import evidence, names, schema

MAX_ROUNDS = 4
MAX_CALLS = 8
"""In one turn."""
AT_ONCE = 3
LONGEST_QUERY, LONGEST_TRAIL = 400, 700
"""Characters of a question, and of a record's own words, that a search is given."""

READS = words.listed("""
    search find lookup look query recall retrieve get read fetch show list describe open view cat grep ls ask related
    neighbours neighbors links history browse recent similar
""")
SEARCHES = words.listed("search find lookup query recall retrieve ask grep similar")
RELATES = words.listed("related neighbours neighbors links history")
WRITES = words.listed("""
    propose submit write create update delete remove send post put patch add set insert upsert book cancel approve
    reject execute run apply commit merge move rename assign close reopen start stop trigger schedule invite grant
    revoke publish draft notify message email pay refund undo promote rollback upload
""")
QUERIES = ("query", "question", "q", "search", "text", "situation", "keywords", "topic", "terms", "phrase", "prompt")
HANDLES = ("handle", "handles", "record", "records", "record_id", "id", "ids", "node", "ref", "item")
SUBJECTS = ("account", "customer", "company", "name", "person", "deal", "subject", "entity", "client", "project")
COUNTS = ("limit", "top_k", "k", "n", "count", "max_results", "page_size", "size", "max_items")
ANY = ("any", "all", "both", "*")
SOME = 8
"""How many results are asked for where a tool insists on a number."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One call to make."""

    tool: str
    arguments: Mapping[str, Any]


def next_calls(
    turn: evidence.Turn, tools: Sequence[ToolDefinition], *, enough: bool, best_items: Sequence[int]
) -> list[Planned]:
    """The calls to make now, none when it is time to answer.

    `enough`: the evidence already answers. `best_items`: indexes into `turn.items`, the most telling first.
    """
    if enough or turn.rounds >= MAX_ROUNDS or len(turn.calls) >= MAX_CALLS or not words.words(turn.question):
        return []
    readable = [tool for tool in tools if _reads(tool)]
    made = {call.identity for call in turn.calls}
    room = min(AT_ONCE, MAX_CALLS - len(turn.calls))
    for stage in _stages(turn, readable, best_items):
        fresh: dict[str, Planned] = {}
        for planned in stage:
            name = evidence.identity(planned.tool, planned.arguments)
            if name not in made:
                fresh.setdefault(name, planned)
        if fresh:
            return list(fresh.values())[:room]
    return []


def _stages(turn: evidence.Turn, tools: Sequence[ToolDefinition], best_items: Sequence[int]) -> Iterator[list[Planned]]:
    """Kinds of calls, the most promising first; the first kind that has a new call is made."""
    asked = names.names(turn.question)
    searches = _ranked(turn.question, [tool for tool in tools if _has(tool, QUERIES) or _verbs(tool) & SEARCHES])
    written = [found for name in asked if (found := handle.parse(name)) is not None]
    if not turn.calls:
        first = _reading([str(h) for h in written], tools)
        yield first + _each(searches[:2], lambda t: _search(t, turn.question, asked))
        yield _each(_ranked(turn.question, tools), lambda t: _by_subject(t, asked))
    found = [turn.items[i].handle for i in best_items]
    records = list(dict.fromkeys(str(parsed.whole) for h in found if h and (parsed := handle.parse(h))))
    yield _reading(records[:AT_ONCE], tools)
    yield [p for text, _ in trails(turn) for t in searches[:1] if (p := _search(t, text, asked)) is not None]
    yield _each(searches[:4], lambda t: _search(t, turn.question, asked))
    yield _each(searches[:2], lambda t: _search(t, " ".join(asked), asked)) if asked else []
    yield _each(_ranked(turn.question, tools), lambda t: _by_subject(t, asked))[:1]
    yield [p for r in records[:1] for t in tools if _verbs(t) & RELATES for p in [_by_handle(t, r)] if p]
    yield _each([t for t in tools if "list" in _verbs(t)], lambda t: _filled(t, {}))[:1] if not turn.items else []


def trails(turn: evidence.Turn) -> list[tuple[str, evidence.Item]]:
    """What to search for next, and the record that it comes from: the words of each record that was read as a whole,
    under the names of the question. Where a question shares no word with its answer, something between them does.
    """
    asked = names.names(turn.question)
    found: list[tuple[str, evidence.Item]] = []
    for call in turn.calls:
        for index in turn.results.get(call.ordinal, ()):
            item = turn.items[index]
            parsed = handle.parse(item.handle) if item.handle else None
            if asked and parsed is not None and not parsed.part and item.texts:
                said = " ".join([*asked, *item.texts])
                found.append((" ".join(said.split())[:LONGEST_TRAIL].strip(), item))
    return found[:AT_ONCE]


def _reads(tool: ToolDefinition) -> bool:
    """Whether a tool only reads: as it declares, else by every word of its name. In doubt it does not."""
    declared = (tool.metadata or {}).get("reads")
    if isinstance(declared, bool):
        return declared
    spoken = _verbs(tool)
    return bool(spoken & READS) and not spoken & WRITES


def _verbs(tool: ToolDefinition) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.name).casefold()))


def _ranked(question: str, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
    """By what their descriptions share with the question; searches first, ties as offered."""
    wanted = set(words.terms(question))

    def promise(tool: ToolDefinition) -> tuple[int, int, int]:
        described = set(words.terms(f"{tool.name.replace('_', ' ')} {tool.description or ''}"))
        prefers = "prefer" in (tool.description or "").casefold()
        return (-int(_has(tool, QUERIES) and bool(_verbs(tool) & SEARCHES)), -int(prefers), -len(wanted & described))

    return sorted(tools, key=promise)


def _each(tools: Sequence[ToolDefinition], plan: Callable[[ToolDefinition], Planned | None]) -> list[Planned]:
    return [planned for tool in tools if (planned := plan(tool)) is not None]


def _search(tool: ToolDefinition, question: str, asked: Sequence[str]) -> Planned | None:
    properties = _properties(tool)
    named = next((name for name in QUERIES if name in properties), None)
    if named is None and _verbs(tool) & SEARCHES:
        texts = [name for name in _required(tool) if _is_text(tool, name) and name not in (*HANDLES, *SUBJECTS)]
        named = texts[0] if len(texts) == 1 else None
    if named is None:
        return None
    known = schema.resolved(properties[named], tool.parameters_json_schema) or {}
    limit = known.get("maxLength", LONGEST_QUERY)
    query = question[: min(LONGEST_TRAIL, limit if isinstance(limit, int) else LONGEST_QUERY)].strip()
    if not query:
        return None
    return _filled(tool, {named: query}, subject=asked[0] if asked else None, question=question)


def _by_subject(tool: ToolDefinition, asked: Sequence[str]) -> Planned | None:
    named = next((name for name in SUBJECTS if name in _required(tool)), None)
    if named is None or not asked:
        return None
    return _filled(tool, {named: asked[0]})


def _reading(records: Sequence[str], tools: Sequence[ToolDefinition]) -> list[Planned]:
    readers = [t for t in tools if _has(t, HANDLES) and not _verbs(t) & RELATES and not _has(t, QUERIES)]
    for tool in readers:
        planned = [p for record in records if (p := _by_handle(tool, record)) is not None]
        if planned:
            return planned
    return []


def _by_handle(tool: ToolDefinition, record: str) -> Planned | None:
    properties = _properties(tool)
    for name in (n for n in HANDLES if n in properties):
        known = schema.resolved(properties[name], tool.parameters_json_schema)
        if known is not None:
            return _filled(tool, {name: [record] if known.get("type") == "array" else record})
    return None


def _filled(
    tool: ToolDefinition, given: Mapping[str, Any], *, subject: str | None = None, question: str = ""
) -> Planned | None:
    """The call with every required argument, or None when one cannot be known or the whole does not fit."""
    arguments = dict(given)
    for name in _required(tool):
        if name in arguments:
            continue
        known, value = _value(tool, name, subject, question)
        if not known:
            return None
        arguments[name] = value
    whole = {**tool.parameters_json_schema, "type": "object"}
    return Planned(tool=tool.name, arguments=arguments) if schema.fits(arguments, whole, whole) else None


def _value(tool: ToolDefinition, name: str, subject: str | None, question: str) -> tuple[bool, Any]:
    known = schema.resolved(_properties(tool).get(name), tool.parameters_json_schema)
    if known is None:
        return False, None
    if "default" in known:
        return True, known["default"]
    if "const" in known:
        return True, known["const"]
    if isinstance(options := known.get("enum"), list):
        spoken = set(words.words(question))
        values = cast("list[Any]", options)
        chosen = [v for v in values if str(v).casefold() in spoken] or [v for v in values if v in ANY]
        return bool(chosen), chosen[0] if chosen else None
    if name in COUNTS and known.get("type") == "integer":
        return True, int(max(known.get("minimum", 1), min(known.get("maximum", SOME), SOME)))
    if name in SUBJECTS and known.get("type") == "string" and subject:
        return True, subject
    return False, None


def _has(tool: ToolDefinition, wanted: Sequence[str]) -> bool:
    return any(name in wanted for name in _properties(tool))


def _is_text(tool: ToolDefinition, name: str) -> bool:
    known = schema.resolved(_properties(tool).get(name), tool.parameters_json_schema)
    return known is not None and schema.type_of(known) == "string" and "enum" not in known


def _properties(tool: ToolDefinition) -> Mapping[str, Any]:
    found = tool.parameters_json_schema.get("properties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _required(tool: ToolDefinition) -> tuple[str, ...]:
    found = tool.parameters_json_schema.get("required")
    return tuple(str(name) for name in cast("list[Any]", found)) if isinstance(found, list) else ()
