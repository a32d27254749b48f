"""The one shape of a problem that the author of some input can repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A problem as a value: it is returned, never raised, and all of them at once."""

    code: str
    """Names the page in `docs/reference/findings.md`."""
    where: str
    """`file:line:column` (counted from 1) or a JSON pointer into the input."""
    message: str
    severity: Severity = "error"
    expected: str = ""
    received: str = ""
    hint: str = ""
    """What to do, as an imperative sentence without a final stop."""

    def as_json(self) -> dict[str, str]:
        """All eight keys, all text, in a fixed order."""
        return {
            "code": self.code,
            "severity": self.severity,
            "where": self.where,
            "message": self.message,
            "expected": self.expected,
            "received": self.received,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        parts = [f"{place}{self.severity} [{self.code}] {self.message}"]
        if self.expected:
            parts.append(f"expected {self.expected}")
        if self.received:
            parts.append(f"received {self.received}")
        if self.hint:
            parts.append(f"fix: {self.hint}")
        return " | ".join(parts)


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those that stop; warnings and notes left out."""
    return [f for f in findings if f.severity == "error"]


def excerpt(value: object, limit: int = 80) -> str:
    """`repr(value)` cut to `limit` characters, for `received`."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
