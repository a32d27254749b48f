"""The model of tests: it says and calls what a script lists, step by step, and keeps what it was sent.

model = Scripted([Call("search", {"query": "harbor"}), "The rollout waits for procurement."])
...
model.assert_finished()
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from ukai.llm.local import LocalModel
from ukai.llm.protocols import TokenCounter


class ScriptFault(AssertionError):
    """The code under test asked for more, or for less, than the script has. Test code reads it; it stops the run."""


@dataclass(frozen=True)
class Call:
    """One tool call. Several in one step: a list of them."""

    tool: str
    arguments: Mapping[str, Any] | str
    """A text is sent as it stands, so that broken JSON can be scripted."""
    id: str = ""
    """Default: `step-<n>-<m>`, counted from 1."""


@dataclass(frozen=True)
class Wait:
    """Waits for what `on` returns, then goes on with `then`: an event, a barrier, a faked sleep."""

    on: Callable[[], Awaitable[object]]
    then: Step


@dataclass(frozen=True)
class Asked:
    """One request as the model got it."""

    messages: tuple[ModelMessage, ...]
    tools: tuple[ToolDefinition, ...]
    output_tools: tuple[ToolDefinition, ...]
    settings: Mapping[str, Any]

    @property
    def tool_names(self) -> list[str]:
        """The tools on offer, in order."""
        return [tool.name for tool in self.tools]

    @property
    def instructions(self) -> str:
        """The standing prompt of the request, "" when there is none."""
        written = [str(getattr(m, "instructions", "") or "") for m in self.messages]
        return next((text for text in reversed(written) if text), "")


Compute: TypeAlias = Callable[[Asked], "Step"]
Step: TypeAlias = "str | Call | Sequence[str | Call] | BaseException | Wait | Compute"
"""A text, a call, several of both, an exception to raise, a wait, or a function of what was asked."""


class Scripted(LocalModel):
    """Plays `steps` in order, one a request, whole or streamed."""

    def __init__(self, steps: Sequence[Step], *, name: str = "scripted", counter: TokenCounter | None = None) -> None:
        super().__init__(name=name, counter=counter)
        self._steps = tuple(steps)
        self.asked: list[Asked] = []
        """Every request so far, as it was when it came."""

    async def answer(
        self, messages: Sequence[ModelMessage], params: ModelRequestParameters, settings: ModelSettings | None
    ) -> list[TextPart | ToolCallPart]:
        """The next step of the script."""
        asked = Asked(
            messages=tuple(deepcopy(list(messages))),
            tools=tuple(params.function_tools),
            output_tools=tuple(params.output_tools),
            settings=dict(settings or {}),
        )
        self.asked.append(asked)
        number = len(self.asked)
        if number > len(self._steps):
            raise ScriptFault(f"the script has {len(self._steps)} steps, and this is request {number}")
        return await self._play(self._steps[number - 1], asked, number)

    def pieces(self, text: str) -> Iterator[str]:
        """Word by word."""
        words = text.split(" ")
        yield from (word + (" " if i < len(words) - 1 else "") for i, word in enumerate(words))

    def assert_finished(self) -> None:
        """Raises ScriptFault when steps are left over."""
        if len(self.asked) < len(self._steps):
            raise ScriptFault(f"the script has {len(self._steps)} steps, and only {len(self.asked)} were asked for")

    async def _play(self, step: Step, asked: Asked, number: int) -> list[TextPart | ToolCallPart]:
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, Wait):
            await step.on()
            return await self._play(step.then, asked, number)
        if callable(step):
            return await self._play(step(asked), asked, number)
        parts: Sequence[str | Call] = [step] if isinstance(step, str | Call) else step
        return [_part(part, f"step-{number}-{i}") for i, part in enumerate(parts, 1)]


def _part(part: str | Call, call_id: str) -> TextPart | ToolCallPart:
    if isinstance(part, str):
        return TextPart(part)
    arguments = part.arguments if isinstance(part.arguments, str) else dict(part.arguments)
    return ToolCallPart(part.tool, arguments, tool_call_id=part.id or call_id)
