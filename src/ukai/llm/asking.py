"""One question to a chat model and the text of its answer: as the composer asks it to rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model


@dataclass(frozen=True)
class Asking:
    """A model that is built when it is first asked, so that naming it needs neither its key nor its packages."""

    model_id: str
    """As it is named in reports and in the keys of what it said."""
    build: Callable[[], Any]

    @cached_property
    def _model(self) -> Model:
        return self.build()

    async def ask(self, prompt: str, *, seed: int) -> str:
        """What it answers. Raises what building and asking raise."""
        from pydantic_ai import direct
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        request = ModelRequest(parts=[UserPromptPart(prompt)])
        # No temperature: some models refuse one, and the answer is recorded.
        response = await direct.model_request(self._model, [request], model_settings={"seed": seed})
        return response.text or ""
