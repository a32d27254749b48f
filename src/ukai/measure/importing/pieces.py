"""What both importers need: instants, results as items, and a finding that says what was not understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from ukai import record
from ukai.kit import canonical
from ukai.kit.finding import Finding, excerpt

START = datetime(1970, 1, 1, tzinfo=UTC)
NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""Stands where a log says no time; it is no evidence."""


def nanoseconds(value: Any) -> datetime:
    """An instant of OTLP: nanoseconds since 1970, as a number or in a text."""
    try:
        return START + timedelta(microseconds=int(value) // 1000)
    except (TypeError, ValueError, OverflowError):
        return NEVER


def iso(value: Any) -> datetime:
    """An instant as ISO 8601 text; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return NEVER
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def mapping(value: Any) -> dict[str, Any]:
    """`value` when it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; nothing for anything else."""
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    return [mapping(row) for row in rows if isinstance(row, dict)]


def decoded(value: Any) -> Any:
    """Logs often hold JSON in a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def call(
    *, number: int, id: str, tool: str, args: Any, result: Any, error: str | None, t0: datetime, t1: datetime
) -> record.Call:
    """A call with its label; a list in its result becomes one item an entry."""
    outcome = record.Outcome(result=result, exception=error)
    label, rule = record.label(outcome)
    rows = _rows(result) if label == "data" else []
    return record.Call(
        call_id=id or f"c{number}",
        tool=tool or "unnamed",
        args_canonical=canonical.dumps(args),
        t0=t0,
        t1=max(t0, t1),
        label=label,
        label_rule=rule,
        error_code=error,
        items=tuple(_item(tool, number, i, row) for i, row in enumerate(rows, 1)),
    )


def _rows(result: Any) -> list[Any]:
    if isinstance(result, list):
        return cast("list[Any]", result)
    lists: list[list[Any]] = [v for v in mapping(result).values() if isinstance(v, list)]
    return lists[0] if len(lists) == 1 else [result]


def _item(tool: str, number: int, i: int, row: Any) -> record.Item:
    """The record's own id when it has one; else the place of the entry among the calls."""
    key = f"tool:{tool}/{number}/{i}"
    if isinstance(row, Mapping):
        own = cast("Mapping[str, Any]", row)
        name = own.get("handle") or own.get("item_key") or own.get("id")
        key = str(name) if isinstance(name, str | int) else key
        return record.Item(item_key=key, value=dict(own))
    return record.Item(item_key=key, text=row if isinstance(row, str) else canonical.dumps(row))


def unreadable(message: str, received: Any, hint: str) -> Finding:
    """The file as a whole is something else."""
    return Finding(code="record_unreadable", where="1:1", message=message, received=excerpt(received), hint=hint)
