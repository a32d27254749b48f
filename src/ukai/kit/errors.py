"""Failures that are raised, by who has to act.

UkaiError               an operator or developer reads it
+-- TemporaryError      jobs tries again
+-- PermanentError      trying again cannot help
ToolRetry, ToolFailed   the model reads it: try differently, or do without
"""

from __future__ import annotations


class UkaiError(Exception):
    """Something an operator or developer must act on. `hint` says what to do."""

    hint: str = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint or self.hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}. {self.hint}" if self.hint else message


class TemporaryError(UkaiError):
    """May pass by itself: a lock, a server that restarts, a network that is away."""


class PermanentError(UkaiError):
    """Will not pass by itself."""


class ToolRetry(Exception):
    """A tool's word to the model: the call was wrong, try again differently. Costs one retry."""


class ToolFailed(Exception):
    """A tool's word to the model: this cannot be had now, do without."""
