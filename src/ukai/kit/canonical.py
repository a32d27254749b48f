"""One spelling for one value: canonical JSON and the hash over it."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID


def dumps(value: Any) -> str:
    """JSON with sorted keys, no spaces, UTF-8 text. NaN and infinities are refused (ValueError).

    Instants are written in UTC with a final Z, decimals as strings, so that nothing is rounded on the way.
    """
    return _ENCODER.encode(value)


def sha256(value: Any) -> str:
    """Hex sha256 over `dumps(value)`."""
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()


def shown(value: object) -> str:
    """What JSON has no form for, in a document for others: instants in UTC with a final Z, the rest as text."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"an instant needs a time zone: {value!r}")
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]
    raise TypeError(f"{type(value).__name__} has no canonical JSON form")


# One for all: `json.dumps` makes a new one for each value.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
