"""A workspace that is open: its catalog, its database, its models. What every verb that runs an agent works with."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from ukai import catalog, record, store
from ukai.access import Rights
from ukai.app import build, db, loading, workspace
from ukai.app.provided import PROVIDED
from ukai.catalog import tools as code
from ukai.context import index, indexes, told
from ukai.context.reader import Reader
from ukai.context.reading import Library
from ukai.gate import feed
from ukai.gate.author import Author
from ukai.kit import ids, suggest
from ukai.kit.clock import Clock, SystemClock
from ukai.kit.errors import PermanentError, ToolFailed
from ukai.llm import minilm, models
from ukai.llm.cache import Cache
from ukai.runtime import turn
from ukai.runtime.agent import Agent
from ukai.runtime.budget import DEFAULT_SECONDS, Allowance, smallest
from ukai.runtime.provided import Shelf, reading_tools
from ukai.runtime.tools import Bound
from ukai.runtime.writing import Pen, writing_tools

EMBED_NOW, EMBED_AMONG = 64, 1_280
"""New passages that are embedded before a question is answered, in less than a second, while so few wait that twenty
questions are enough. More of them wait for `catch_up(embed=None)`: a second a question would gain nothing.
"""

ABANDONED = timedelta(minutes=15)
"""A run that was silent for so long has no process any more: no turn lasts longer, and each call and each answer of the
model is a sign of life."""

Progress = Callable[[str], None]


class UnknownAgent(PermanentError):
    """No agent has this name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"no agent is named {name!r}", hint=suggest.hint_for(name, known).capitalize())
        self.known = known


class NotServed(PermanentError):
    """The agent, or something that it depends on, has an error."""

    hint = "`ukai lint` shows all of them"


class NobodyAsks(PermanentError):
    """Neither `--as` nor `local_principal` says who asks."""

    hint = "Name yourself in ukai.yaml (`local_principal: ann@example.com`), or use --as"


class MayNotImpersonate(PermanentError):
    """`--as` on a database that is not this machine's own needs a right."""

    hint = "IT grants the right `impersonate` in access/policies.yaml"


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Everything that is loaded once and used for every turn."""

    root: Path
    loaded: catalog.Loaded
    db: store.Database
    is_local: bool
    """The database is the embedded one of this machine."""
    cache: Cache
    clock: Clock
    stamp: record.Build
    environ: Mapping[str, str]
    _code: dict[str, code.Toolset] = field(default_factory=dict[str, code.Toolset])

    @property
    def catalog(self) -> catalog.Catalog:
        """What the workspace holds."""
        return self.loaded.catalog

    @property
    def library(self) -> Library:
        """What reading needs to know of the graph."""
        types = {t.type: t for d in self.catalog.domains.values() for t in d.types}
        return Library(types=types, cache=self.cache)

    def agent(self, name: str) -> Agent:
        """The agent, ready to be served. Raises UnknownAgent, NotServed."""
        found = self.catalog.agents.get(name)
        blocking = self.loaded.blocking(name)
        if blocking:
            raise NotServed(f"the agent {name!r} is not served: {blocking[0]}")
        if found is None:
            raise UnknownAgent(name, sorted(self.catalog.agents))
        return found

    def principal(self, named: str | None) -> str:
        """Who acts: the local principal, or with the right to, somebody else. Raises NobodyAsks, MayNotImpersonate."""
        local = self.catalog.settings.local_principal
        if named is None or named == local:
            if local is None:
                raise NobodyAsks("it is not known who asks")
            return local
        may = self.is_local or (
            local is not None and self.catalog.access.holds(self.catalog.access.caller(local), "impersonate").allowed
        )
        if not may:
            raise MayNotImpersonate(f"{local or 'nobody'} may not act as {named}")
        return named

    def rights(self, agent: Agent, principal: str, surface: str) -> Rights:
        """What this caller may do with this agent on this surface."""
        audience = self.catalog.access.audience([principal])
        return self.catalog.access.rights(audience, agent.name, agent.field_policies, channel=surface)

    def reader(self, agent: Agent, rights: Rights) -> Reader:
        """Under whose rights, and inside which scope, the agent reads."""
        edges = tuple(e for d in self.catalog.domains.values() for e in d.edges)
        return Reader(rights=rights, edges=edges, scope=agent.scope)

    async def catch_up(self, progress: Progress = lambda _: None, *, embed: int | None = None) -> None:
        """Let the passages follow the graph; embed up to `embed` new ones, None for all."""
        await self._follow(progress)
        await index.embed(self.db, self.cache, limit=embed, progress=lambda n: progress(f"embedding passages: {n}"))

    async def _follow(self, progress: Progress) -> None:
        if await index.is_elsewhere(self.db):
            await feed.end(self.db)  # what was written before a restore counts as finished from here on
        await index.catch_up(self.db, self.library.types, lambda n: progress(f"reading changed records: {n}"))

    async def ask(
        self,
        agent: str,
        question: str,
        *,
        principal: str,
        surface: str = "cli",
        progress: Progress = lambda _: None,
        case_id: str | None = None,
    ) -> record.Run:
        """One turn; the sealed run. Raises UnknownAgent, NotServed."""
        served = self.agent(agent)
        rights = self.rights(served, principal, surface)
        reader = self.reader(served, rights)
        await self._follow(progress)
        await index.embed_few(
            self.db,
            self.cache,
            limit=EMBED_NOW,
            among=EMBED_AMONG,
            progress=lambda n: progress(f"embedding passages: {n}"),
        )
        run_id = str(ids.time_ordered(self.clock.now()))
        return await turn.turn(
            turn.Ask(
                agent=served.name,
                prompt=served.prompt,
                question=question,
                principal=principal,
                audience=(principal,),
                surface=surface,
                invoke=rights.invoke,
                model=self._model(served),
                tools=self._tools(served, reader, run_id),
                run_id=run_id,
                allowance=self._allowance(served, principal),
                config=self._config(served),
                build=self.stamp,
                told=await self._told(question, reader) if rights.invoke.allowed else (),
                case_id=case_id,
            ),
            db=self.db,
            clock=self.clock,
            progress=progress,
        )

    async def _told(self, question: str, reader: Reader) -> list[told.Told]:
        async with self.db.snapshot() as tx:
            return await told.told(tx, question, reader=reader)

    def _model(self, agent: Agent) -> Any:
        resolved = self.catalog.models.resolve(agent.model)
        return models.build(resolved.spec, environ=self.environ, embedder=lambda: self.cache.embedder)

    def _allowance(self, agent: Agent, principal: str) -> Allowance:
        limits = self.catalog.access.budget(self.catalog.access.caller(principal), agent.name)
        run = {limit.unit: limit.amount for limit in limits if limit.per == "run"}
        tokens = smallest([agent.budget.tokens, _number(run.get("tokens"))])
        usd = smallest([agent.budget.usd, _number(run.get("usd"))])
        seconds = smallest([agent.budget.seconds, _number(run.get("seconds"))])
        return Allowance(
            iterations=agent.max_iterations,
            tokens=None if tokens is None else int(tokens),
            usd=None if usd is None else Decimal(str(usd)),
            seconds=float(seconds or DEFAULT_SECONDS),
        )

    def _config(self, agent: Agent) -> record.Config:
        rules = {i: g for i in agent.guardrails if (g := self.catalog.guardrails.get(i)) is not None}
        return record.Config(
            model=agent.model_use or agent.model,
            prose={f"agents/{agent.name}/SKILL.md": hashlib.sha256(agent.prompt.encode()).hexdigest()},
            guardrails={i: f"{g.version} {hashlib.sha256(g.prose.encode()).hexdigest()}" for i, g in rules.items()},
        )

    def _tools(self, agent: Agent, reader: Reader, run_id: str) -> list[Bound]:
        provided = reading_tools(Shelf(db=self.db, library=self.library, reader=reader), PROVIDED)
        author = Author(kind="agent", id=agent.name, run=run_id)
        pen = Pen(db=self.db, author=author, rights=reader.rights, sight=reader.rights, clock=self.clock)
        provided |= writing_tools(pen, PROVIDED)
        bound = [provided[name] for name in agent.tools if name in provided]
        loop = asyncio.get_running_loop()
        given = code.Given(
            embed=lambda text: self.cache.embedder.embed([text])[0].tolist(),
            get_index=lambda name: _Index(self, reader, name, loop),
        )
        for name in agent.tools:
            if name in provided:
                continue
            path = f"agents/{agent.name}/tools.py" if name in agent.own_tools else self._shared(name)
            if path:
                toolset, findings = code.load(self.root / path, name=path, given=given)
                if toolset is None:
                    raise NotServed(f"the tools of {agent.name!r} do not load: {findings[-1]}")
                bound.append(Bound(spec=toolset.specs[name], call=partial(_in_thread, toolset.handlers[name])))
        return bound

    def _shared(self, name: str) -> str | None:
        tool = self.catalog.tools.get(name)
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


async def _in_thread(handler: Callable[..., Any], **arguments: Any) -> Any:
    result = await asyncio.to_thread(handler, **arguments)
    if isinstance(result, str) and result.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(result)
        except ValueError:
            return result
    return result


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


@asynccontextmanager
async def opened(
    path: Path, *, clock: Clock | None = None, environ: Mapping[str, str] = os.environ
) -> AsyncGenerator[Engine]:
    """The workspace at or above `path`, ready to answer. Raises NoWorkspace, and what the database raises."""
    root = workspace.locate(path)
    loaded = loading.load(root)
    stamp = build.stamp(root)
    async with db.opened(root) as database:
        now = clock or SystemClock()
        async with database.transaction() as tx:
            await record.close_abandoned(tx, now=now.now(), silent_for=ABANDONED)
        yield Engine(
            root=root,
            loaded=loaded,
            db=database,
            is_local=db.site(root).kind == "embedded",
            cache=Cache(minilm.default()),
            clock=now,
            stamp=record.Build(commit=stamp.commit, tree=stamp.tree) if stamp else record.Build(),
            environ=environ,
        )
