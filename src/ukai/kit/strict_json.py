"""JSON from strangers (RFC 8259, read narrowly): the value, or what is wrong and where. Nothing is raised.

Refused beyond the grammar: NaN and infinities, a key twice in one object, half of a surrogate pair, values nested too
deeply, numbers too long to compute with, anything but UTF-8. Numbers stay exact: whole ones are int, others Decimal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from ukai.kit import document
from ukai.kit.finding import Finding, excerpt


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much is read."""

    bytes: int = 1 << 20
    depth: int = 64
    """Levels of objects and lists; a bare value has none."""
    number: int = 1_000
    """Characters of a number, and the size of its exponent."""


LIMITS = Limits()


def loads(raw: bytes | str, limits: Limits = LIMITS) -> tuple[Any, list[Finding]]:
    """The value, or None with findings. `where` is a JSON pointer, or `json:line:column` where the grammar ends."""
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > limits.bytes:
        return None, [_too_large(size, limits)]
    text, findings = _text(raw)
    if text is None:
        return None, findings
    reader = _Reader(limits)
    try:
        value = reader.decoder.decode(text)
    except json.JSONDecodeError as error:
        return None, [_syntax(error, text)]
    except RecursionError:
        return None, [_too_deep("", limits)]
    except _Refused as refused:
        return None, [refused.finding]
    suspicious = "\\u" in text
    if not suspicious and not reader.twice and _is_flat(value, limits.depth):
        return value, []
    findings = list(reader.inspect(value, suspicious=suspicious))
    return (None, findings) if findings else (value, [])


class _Refused(Exception):
    """The text cannot be read on; the finding says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.code)
        self.finding = finding


class _Reader:
    """The standard decoder with its leniencies closed."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.twice: dict[int, tuple[object, str]] = {}
        """id of an object -> the object (kept alive, so that the id stays its own) and its repeated key."""
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self.object,
            parse_constant=self.constant,
            parse_int=self.whole,
            parse_float=self.decimal,
        )

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            keys = [k for k, _ in pairs]
            self.twice[id(members)] = (members, next(k for k in keys if keys.count(k) > 1))
        return members

    def constant(self, name: str) -> Any:
        raise _Refused(
            Finding(
                code="json_constant",
                where="",
                message=f"{name} is no JSON value",
                expected="a number, null or text",
                received=name,
                hint="write null or leave the value out",
            )
        )

    def whole(self, text: str) -> int:
        self.measured(text)
        return int(text)

    def decimal(self, text: str) -> Decimal:
        self.measured(text)
        try:
            value = Decimal(text)
        except InvalidOperation:
            raise _Refused(_long_number(text, self.limits)) from None
        if value and abs(value.adjusted()) > self.limits.number:
            raise _Refused(_long_number(text, self.limits))
        return value

    def measured(self, text: str) -> None:
        if len(text) > self.limits.number:
            raise _Refused(_long_number(text, self.limits))

    def inspect(self, value: Any, *, suspicious: bool) -> Iterator[Finding]:
        """What the grammar allows and we do not, found by one walk without recursion."""
        pending: list[tuple[Any, str, int]] = [(value, "", 0)]
        while pending:
            part, at, depth = pending.pop()
            if isinstance(part, str):
                if suspicious and _HALF.search(part):
                    yield _surrogate(at, part)
                continue
            if not isinstance(part, dict | list):
                continue
            if depth >= self.limits.depth:
                yield _too_deep(at, self.limits)
                return
            if isinstance(part, list):
                items = cast("list[Any]", part)
                pending += [(v, f"{at}/{i}", depth + 1) for i, v in enumerate(items)][::-1]
                continue
            members = cast("dict[str, Any]", part)
            if id(members) in self.twice:
                yield _twice(at, self.twice[id(members)][1])
            if suspicious:
                yield from (_surrogate(at, k) for k in members if _HALF.search(k))
            pending += [(v, at + document.pointer(k), depth + 1) for k, v in members.items()][::-1]


def _is_flat(value: Any, depth: int) -> bool:
    """Whether `value` nests no deeper than `depth`: the quick answer, without pointers."""
    if isinstance(value, dict):
        return depth > 0 and all(_is_flat(v, depth - 1) for v in cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        return depth > 0 and all(_is_flat(v, depth - 1) for v in cast("list[Any]", value))
    return True


_HALF = re.compile("[\ud800-\udfff]")


def _text(raw: bytes | str) -> tuple[str | None, list[Finding]]:
    if isinstance(raw, bytes):
        try:
            raw = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            return None, [_encoding(f"byte 0x{raw[error.start]:02x} at offset {error.start}")]
    if raw.startswith("\ufeff"):
        return None, [_encoding("a byte order mark")]
    return raw, []


def _encoding(received: str) -> Finding:
    return Finding(
        code="encoding",
        where="",
        message="the text is not plain UTF-8",
        expected="UTF-8 without a byte order mark",
        received=received,
        hint="send UTF-8",
    )


def _syntax(error: json.JSONDecodeError, text: str) -> Finding:
    return Finding(
        code="json_syntax",
        where=f"json:{error.lineno}:{error.colno}",
        message=f"{error.msg} at offset {error.pos}",
        expected="JSON (RFC 8259)",
        received=excerpt(text[max(0, error.pos - 20) : error.pos + 20]),
        hint="send one JSON value and nothing around it",
    )


def _too_large(size: int, limits: Limits) -> Finding:
    return Finding(
        code="too_large",
        where="",
        message=f"{size:,} bytes are more than the {limits.bytes:,} that are read",
        expected=f"at most {limits.bytes} bytes",
        received=f"{size} bytes",
        hint="split it",
    )


def _too_deep(at: str, limits: Limits) -> Finding:
    return Finding(
        code="too_deep",
        where=at,
        message="values are nested too deeply",
        expected=f"at most {limits.depth} levels",
        hint="flatten the value",
    )


def _long_number(text: str, limits: Limits) -> Finding:
    return Finding(
        code="number_too_long",
        where="",
        message="a number is too long to compute with",
        expected=f"at most {limits.number} digits",
        received=excerpt(text),
        hint="write it as text",
    )


def _twice(at: str, key: str) -> Finding:
    return Finding(
        code="duplicate_key",
        where=at + document.pointer(key),
        message=f"the key {key!r} stands twice in one object",
        expected="each key once",
        received=excerpt(key),
        hint=f"keep one {key!r}",
    )


def _surrogate(at: str, text: str) -> Finding:
    return Finding(
        code="lone_surrogate",
        where=_HALF.sub("\ufffd", at),
        message="a text holds half of a surrogate pair",
        expected="whole characters",
        received=excerpt(_HALF.sub("\ufffd", text)),
        hint="write the whole character or leave it out",
    )
