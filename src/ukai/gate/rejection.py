"""A rejection: a finding about a delta, with what a program needs to repair it (research: gate §4)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ukai.gate import codes
from ukai.kit.finding import Finding, Severity

Repair = codes.Repair
Confidence = Literal["exact", "likely"]

RECEIVED_LIMIT = 200
"""Characters of a received value that are shown."""
MASK = "•••"


@dataclass(frozen=True, kw_only=True)
class FixHint:
    """What to do, in words and, where it is unambiguous, as JSON Patch on the submitted delta."""

    text: str = ""
    patch: tuple[Mapping[str, Any], ...] = ()
    confidence: Confidence | None = None
    """`exact` or `likely` when there is a patch."""

    def as_json(self) -> dict[str, Any]:
        """`{"text", "patch"?, "confidence"?}`."""
        return {"text": self.text} | (
            {"patch": [dict(p) for p in self.patch], "confidence": self.confidence} if self.patch else {}
        )


@dataclass(frozen=True, kw_only=True)
class Rejection(Finding):
    """A finding about one place of a delta. Make them with `reject`, which fills what the code implies."""

    layer: int = 1
    """0 the door, 1 schema, 2 contract, 3 database."""
    op: str = ""
    ref: str = ""
    """The `ref` or written target of the operation."""
    type: str = ""
    field: str = ""
    expected_value: Any = None
    """`values.expected`: machine-readable."""
    received_value: Any = None
    """`values.received`."""
    fix_hint: FixHint = FixHint()
    repair: Repair = "fix"
    rule: str = ""
    """`domain@version#Type.field` or `…#rule-id`."""

    @cached_property
    def fingerprint(self) -> str:
        """Equal for the same problem at the same kind of place: code, `where` without indices, expected."""
        place = re.sub(r"/\d+(?=/|\Z)", "/*", self.where)
        return hashlib.sha256(
            "\0".join((self.code, place, self.expected)).encode("utf-8", "surrogatepass")
        ).hexdigest()[:16]

    @property
    def status(self) -> int:
        """The HTTP status that the code stands for."""
        return codes.CODES[self.code].status if self.code in codes.CODES else 422

    def as_json(self) -> dict[str, Any]:
        """The object of gate §4.1: all keys, in its order."""
        return {
            **super().as_json(),
            "layer": self.layer,
            "op": self.op,
            "ref": self.ref,
            "type": self.type,
            "field": self.field,
            "values": {"expected": self.expected_value, "received": self.received_value},
            "fix_hint": self.fix_hint.as_json(),
            "repair": self.repair,
            "rule": self.rule,
            "fingerprint": self.fingerprint,
        }


def reject(
    code: str,
    *,
    where: str,
    message: str,
    expected: str = "",
    received: str = "",
    hint: str = "",
    patch: Sequence[Mapping[str, Any]] = (),
    confidence: Confidence | None = None,
    layer: int = 1,
    op: str = "",
    ref: str = "",
    type: str = "",
    field: str = "",
    expected_value: Any = None,
    received_value: Any = None,
    rule: str = "",
    severity: Severity = "error",
    repair: Repair | None = None,
) -> Rejection:
    """A rejection whose `repair` comes from its code, unless it is given (what the delta itself contradicts is never
    repaired by rereading), and whose `hint` equals `fix_hint.text`.
    """
    known = codes.CODES.get(code)
    way: Repair = repair or (known.repair if known else "fix")
    text = hint or codes.HINTS[way]
    return Rejection(
        code=code,
        severity=severity,
        where=where,
        message=message,
        expected=cut(expected, 2 * RECEIVED_LIMIT),
        received=cut(received),
        hint=text,
        layer=layer,
        op=op,
        ref=ref,
        type=type,
        field=field,
        expected_value=expected_value,
        received_value=received_value,
        fix_hint=FixHint(text=text, patch=tuple(patch), confidence=(confidence or "exact") if patch else None),
        repair=way,
        rule=rule,
    )


def cut(text: str, limit: int = RECEIVED_LIMIT) -> str:
    """At most `limit` characters, the last one an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def fingerprints(rejections: Iterable[Rejection]) -> tuple[str, ...]:
    """The set that tells whether an attempt made progress: sorted, without repeats, errors only."""
    return tuple(sorted({r.fingerprint for r in rejections if r.severity == "error"}))
