"""The tools of one turn, bound to one caller: what Ukai brings, and what the workspace's own files add (P1.7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ukai.app import composing, replies
from ukai.app.engine import Engine, NotServed
from ukai.app.provided import PROVIDED
from ukai.catalog import tools as code
from ukai.context import explaining, indexes
from ukai.context.reader import Reader
from ukai.context.scope import CEILING_TOKENS
from ukai.gate.author import Author
from ukai.kit import canonical, unicode
from ukai.kit.errors import ToolFailed
from ukai.runtime.agent import Agent, Skill
from ukai.runtime.loop import COMPOSED
from ukai.runtime.meter import Meter
from ukai.runtime.provided import Shelf, reading_tools
from ukai.runtime.tools import Bound, Document, ToolSpec
from ukai.runtime.writing import Pen, writing_tools

FETCHED = "fetch_offloaded"
PAGE = 40_000
"""Characters of one page of a long value, as JSON: the loop cuts what is longer than 60,000."""


@dataclass(frozen=True, kw_only=True)
class Hand:
    """On whose behalf the tools of a turn are called."""

    principal: str
    run_id: str
    reader: Reader
    meter: Meter
    """What the turn is paid from: so is the model that ranks what it reads."""
    skill: Skill | None = None
    given: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """What was composed in the turn: its model holds that, and nothing that another turn composed (context req. 40)."""


def bound(opened: Engine, agent: Agent, hand: Hand) -> list[Bound]:
    """Every tool of `agent`, for one caller under the rights of their reader. Raises NotServed."""
    reader, principal, run_id = hand.reader, hand.principal, hand.run_id
    provided = reading_tools(Shelf(db=opened.db, library=opened.library, reader=reader), PROVIDED)
    author = Author(kind="agent", id=agent.name, run=run_id)
    pen = Pen(
        db=opened.db,
        author=author,
        rights=reader.rights,
        sight=reader.rights,
        clock=opened.clock,
        reviewers=(principal,),
    )
    provided |= writing_tools(pen, PROVIDED)
    provided[COMPOSED] = Bound(spec=PROVIDED[COMPOSED], call=partial(composed, opened, hand))
    provided[FETCHED] = Bound(spec=PROVIDED[FETCHED], call=partial(_fetched, opened, hand))
    found = [provided[name] for name in agent.tools if name in provided]
    loop = asyncio.get_running_loop()
    given = code.Given(
        embed=lambda text: opened.cache.embedder.embed([text])[0].tolist(),
        get_index=lambda name: _Index(opened, reader, name, loop),
        credential=lambda: _secret(opened, principal, loop),
    )
    for name in agent.tools:
        path = None if name in provided else _file_of(opened, agent, name)
        if path is None:
            continue
        toolset, findings = code.load(opened.root / path, name=path, given=given)
        if toolset is None:
            raise NotServed(f"the tools of {agent.name!r} do not load: {findings[-1]}")
        spec = toolset.specs[name]
        kept = kept_as(agent.name if name in agent.own_tools else "", name)
        found.append(Bound(spec=spec, call=partial(_in_thread, _Called(spec, kept), toolset.handlers[name])))
    tape = opened.tape
    return found if tape is None else [tape.tool(agent.name, principal, one) for one in found]


async def composed(opened: Engine, hand: Hand, *, question: str, budget_tokens: int | None = None) -> Document:
    """What the turn reads about `question` beside what it was given already."""
    return await composing.composed(
        opened,
        question,
        hand.reader,
        meter=hand.meter,
        skill=hand.skill,
        given=hand.given,
        budget_tokens=None if budget_tokens is None else max(1, min(budget_tokens, CEILING_TOKENS)),
    )


async def _fetched(opened: Engine, hand: Hand, *, ref: str, after: int = 0) -> dict[str, Any]:
    """A page of what was put aside, as the item of its record."""
    found = await explaining.put_aside(opened.db, unicode.storable(ref), library=opened.library, reader=hand.reader)
    if found is None:
        return {"items": []}
    page = replies.page(found.text, after=after, fits=lambda text: len(canonical.dumps(text)) <= PAGE)
    return {"items": [{"handle": found.handle, "text": page.text}], **page.as_json()}


def _file_of(opened: Engine, agent: Agent, name: str) -> str | None:
    if name in agent.own_tools:
        return f"agents/{agent.name}/tools.py"
    tool = opened.catalog.tools.get(name)
    return tool.where.rsplit(":", 2)[0] if tool and tool.where != "product" else None


@dataclass(frozen=True)
class _Index:
    """What `get_index(name)` gives to a team's code, which runs in a thread of its own."""

    engine: Engine
    reader: Reader
    name: str
    loop: asyncio.AbstractEventLoop

    def query(
        self,
        *,
        vector: list[float],
        top_k: int = 10,
        include_metadata: bool = True,
        filter: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The nearest records: `{"matches": [{"metadata", "score"}]}`."""
        declared = self.engine.catalog.settings.indexes.get(self.name)
        if declared is None:
            raise ToolFailed(f"ukai.yaml declares no index named {self.name!r}")
        found = asyncio.run_coroutine_threadsafe(self._query(declared, vector, top_k, filter), self.loop).result()
        if not include_metadata:
            found = [{"score": m["score"]} for m in found]
        return {"matches": found}

    async def _query(
        self, declared: Any, vector: list[float], top_k: int, filter: Mapping[str, Any] | None
    ) -> list[dict[str, Any]]:
        arguments: dict[str, Any] = {
            "reader": self.reader,
            "cache": self.engine.cache,
            "type": declared.type,
            "where": declared.where,
            "text": declared.text,
            "metadata": declared.metadata,
            "vector": vector,
            "top_k": top_k,
            "filter": filter,
        }
        async with self.engine.db.snapshot() as tx:
            found, missing = await indexes.query(tx, **arguments)
        if missing:
            await self.engine.cache.embed_cached(self.engine.db, missing)
            async with self.engine.db.snapshot() as tx:
                found, _ = await indexes.query(tx, **arguments)
        return found


def kept_as(agent: str, tool: str) -> str:
    """Under which name a tool's credential is kept. Two teams may call a tool alike: an agent's own is its own."""
    return f"{agent}/{tool}" if agent else tool


@dataclass(frozen=True)
class _Called:
    spec: ToolSpec
    kept: str


_CALLED: ContextVar[_Called] = ContextVar("tool_that_is_called")
"""Set for each call before its thread begins, which takes it along."""


def _secret(opened: Engine, principal: str, loop: asyncio.AbstractEventLoop) -> str:
    """What `credential()` gives to a team's code: the caller's own, or the service's where the tool declares one.

    The code names nobody, so it cannot ask for another's.
    """
    called = _CALLED.get()
    whose = principal if called.spec.credential == "user" else f"service:{called.spec.name}"
    return asyncio.run_coroutine_threadsafe(opened.vault.get(whose, called.kept), loop).result()


async def _in_thread(called: _Called, handler: Callable[..., Any], /, **arguments: Any) -> Any:
    _CALLED.set(called)
    result = await asyncio.to_thread(handler, **arguments)
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(result)
        except ValueError:
            return result
    return result
