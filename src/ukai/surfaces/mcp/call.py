"""What a tool of this surface is: what it takes, what it gives, and with whom it speaks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from ukai.app.desk import Desk
from ukai.app.identity import Caller
from ukai.app.reception import Reception

CHANNEL = "mcp"


class Given(BaseModel):
    """The arguments of a tool; its JSON Schema is what clients see."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of one caller."""

    reception: Reception
    caller: Caller
    told: Callable[[str], Awaitable[None]]
    """Tells the client what is being done, where it asked to be told."""
    most_tokens: int
    """As many as a result may have: clients cut what is longer."""

    @property
    def desk(self) -> Desk:
        """Where the caller proposes and reads back."""
        return self.reception.desk(self.caller, CHANNEL)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What comes back: the same twice, in words that are complete by themselves and as data."""

    text: str
    data: dict[str, Any]
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool of the table."""

    name: str
    title: str
    description: str
    given: type[Given]
    call: Callable[[Call, Any], Awaitable[Result]]
    reads: bool = True
    """It changes nothing."""
