"""What goes wrong with a database, by who has to act."""

from __future__ import annotations

from pathlib import Path

from ukai.kit.errors import PermanentError, TemporaryError

NAME_A_DATABASE = "set UKAI_DATABASE_URL to a PostgreSQL 16 or newer with pgvector 0.8 or newer"


class DatabaseAway(TemporaryError):
    """No connection, or one that was lost: the server restarts, is full, or cannot be reached."""

    hint = "`ukai doctor` looks at the database; what was not committed is to be sent again"


class DatabaseBusy(TemporaryError):
    """The server answered, and asks to try again: a lock, a deadlock, a statement out of time."""

    hint = "try again"


class DatabaseUnfit(PermanentError):
    """A server that Ukai cannot work with."""

    hint = NAME_A_DATABASE


class EmbeddedUnfit(PermanentError):
    """The embedded server cannot run here."""

    hint = NAME_A_DATABASE


class EmbeddedBroken(PermanentError):
    """The embedded server did not start or stop. `log` holds the last lines that it wrote."""

    hint = NAME_A_DATABASE

    def __init__(self, message: str, *, log_file: Path, log: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.log_file, self.log = log_file, log

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.log_file} ends with:\n{self.log}" if self.log else super().__str__()


class MigrationsUnfit(PermanentError):
    """The chain of migrations and the database do not fit each other."""
