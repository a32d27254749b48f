"""A model for the tests: it does what its skill and the descriptions of its tools tell it, in plain rules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ukai.llm.local import LocalModel

_POINT = re.compile(r"^\d+\. ", re.M)
_TAKES = re.compile(r"as `(\w+)`")
SKILL = "renewal-check"


class Actor(LocalModel):
    """Searches, looks the account up as the tool's description says, reads its skill; then quotes item by item.

    It writes as many sentences as its skill has numbered points, and never more than `able`.
    """

    def __init__(self, name: str, *, able: int) -> None:
        super().__init__(name=name)
        self._able = able

    async def answer(
        self, messages: Sequence[ModelMessage], params: ModelRequestParameters, settings: ModelSettings | None
    ) -> list[TextPart | ToolCallPart]:
        returned = [
            p for m in messages if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, ToolReturnPart)
        ]
        if not returned:
            return list(self._calls(_question(messages), params))
        skill = next((str(p.content) for p in returned if p.tool_name == "use_skill"), "")
        points = len(_POINT.findall(skill)) or self._able
        items = [i for p in returned if p.tool_name == "search_records" for i in _items(p.content)]
        said = [f"{_first(str(i.get('text', '')))} [{i['handle']}]" for i in items if i.get("text")]
        # Whoever is able to say little says the least of it: what was found last.
        chosen = said[: min(points, self._able)] if self._able > 1 else said[-1:]
        return [TextPart("\n\n".join(chosen) or "Nothing was found.")]

    def _calls(self, question: str, params: ModelRequestParameters) -> Sequence[ToolCallPart]:
        described = {tool.name: tool.description or "" for tool in params.function_tools}
        calls = [ToolCallPart("search_records", {"query": question, "limit": 8}, tool_call_id="a")]
        if "plan_of" in described:
            takes = _TAKES.search(described["plan_of"])
            argument = takes.group(1) if takes else "account"
            calls.append(ToolCallPart("plan_of", {argument: question.split()[-1]}, tool_call_id="b"))
        if "use_skill" in described:
            calls.append(ToolCallPart("use_skill", {"name": SKILL}, tool_call_id="c"))
        return calls


def _question(messages: Sequence[ModelMessage]) -> str:
    parts = [p for m in messages if isinstance(m, ModelRequest) for p in m.parts if isinstance(p, UserPromptPart)]
    return str(parts[0].content)


def _items(content: Any) -> list[dict[str, Any]]:
    items: Any = cast("dict[str, Any]", content).get("items", []) if isinstance(content, dict) else []
    return cast("list[dict[str, Any]]", items)


def _first(text: str) -> str:
    return " ".join(text.split())[:160]
