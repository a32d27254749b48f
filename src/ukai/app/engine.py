"""A workspace that is open: its catalog, its database, its models. What every verb that runs an agent works with."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ukai import catalog, record, store
from ukai.access import Rights
from ukai.app import build, db, identity, loading, workspace
from ukai.context import index
from ukai.context.reader import Reader
from ukai.context.reading import Library
from ukai.gate import feed
from ukai.kit import suggest
from ukai.kit.clock import Clock, SystemClock
from ukai.kit.errors import PermanentError
from ukai.llm import minilm, models
from ukai.llm.cache import Cache
from ukai.llm.remembered import Remembered
from ukai.runtime import credentials
from ukai.runtime.agent import Agent, Skill
from ukai.runtime.credentials import Vault
from ukai.runtime.tools import Bound
from ukai.runtime.verdicts import Verdicts

if TYPE_CHECKING:
    from ukai.connect.definition import Connector

EMBED_NOW, EMBED_AMONG = 64, 1_280
"""New passages that are embedded before a question is answered, in less than a second, while so few wait that twenty
questions are enough. More of them wait for app/following.py: a second a question would gain nothing.
"""

REMEMBERED = 10_000
"""Sentences whose vectors stay in this process; the same evidence is read for many questions."""
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


class Tape(Protocol):
    """What stands between an engine and its models and tools: how evaluations record a run and play it again."""

    def model(self, use: str, build: Callable[[], Any]) -> Any:
        """The model to use for `use`; `build` makes the real one, which may need a key."""
        ...

    def tool(self, agent: str, principal: str, bound: Bound) -> Bound:
        """The tool to use in place of `bound`."""
        ...


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
    verdicts: Verdicts
    """What rules said before."""
    tape: Tape | None = None

    @property
    def catalog(self) -> catalog.Catalog:
        """What the workspace holds."""
        return self.loaded.catalog

    @cached_property
    def library(self) -> Library:
        """What reading needs to know of the graph. One for all calls: what was composed is kept for its templates."""
        types = {t.type: t for d in self.catalog.domains.values() for t in d.types}
        return Library(types=types, cache=self.cache, shelf=loading.shelf(self.catalog))

    @cached_property
    def connectors(self) -> Sequence[Connector]:
        """Those of the workspace that are whole."""
        documents = loading.connectors(self.catalog).values()
        return [c for doc in documents if (c := loading.connector(doc, self.catalog)[0]) is not None]

    @cached_property
    def vault(self) -> Vault:
        """The credentials of tools. Raises BadKey."""
        key = credentials.key(workspace.local(self.root), self.environ)
        return Vault(db=self.db, key=key, clock=self.clock)

    @cached_property
    def embedder(self) -> Remembered:
        """Embeds sentences: of evidence while an answer is chosen, of the answer while rules read it."""
        return Remembered(self.cache.embedder, size=REMEMBERED)

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
        """Who acts: the local principal, or with the right to, somebody else. Raises NobodyActs, MayNotImpersonate."""
        local = self.catalog.settings.local_principal
        return identity.acting(self.catalog.access, local, named, is_local=self.is_local, channel="cli").principal

    def model(self, name: str) -> Any:
        """The chat model that `name` stands for in `models.yaml`. Raises UnknownModel, MissingKey, MissingProvider."""
        spec = self.catalog.models.resolve(name).spec

        def build() -> Any:
            return models.build(spec, environ=self.environ, embedder=lambda: self.embedder)

        return build() if self.tape is None else self.tape.model(spec.use, build)

    def rights(self, agent: Agent, principal: str, surface: str, place: identity.Place | None = None) -> Rights:
        """What this caller may do with this agent on this surface, when the answer goes to `place` (P3.2).

        Without a place the answer is the caller's alone.
        """
        readers = (principal,) if place is None else place.audience(principal)
        audience = self.catalog.access.audience(readers)
        return self.catalog.access.rights(audience, agent.name, agent.field_policies, channel=surface)

    def reader(self, agent: Agent, rights: Rights, skill: Skill | None = None) -> Reader:
        """Under whose rights, and inside which scope, the agent reads: its own, and that of a skill named for it."""
        edges = tuple(e for d in self.catalog.domains.values() for e in d.edges)
        # What the catalog lets a skill declare lies inside the agent's scope, so the narrower of the two holds.
        scope = skill.scope if skill is not None and skill.scope is not None else agent.scope
        return Reader(rights=rights, edges=edges, scope=scope)

    async def catch_up(self, progress: Progress = lambda _: None, *, embed: int | None = None) -> None:
        """Let the passages follow the graph; embed up to `embed` new ones, None for all."""
        await self._follow(progress)
        await index.embed(self.db, self.cache, limit=embed, progress=lambda n: progress(f"embedding passages: {n}"))

    async def catch_up_alone(self, progress: Progress = lambda _: None) -> bool:
        """The same with all new ones, by one process at a time; False where another one embeds them."""
        await self._follow(progress)
        of = await index.waiting(self.db, self.cache)
        told = f"of {of}" if of < index.COUNTED else "of many"
        done = await index.embed_alone(
            self.db, self.cache, progress=lambda n: progress(f"embedding passages, which may be cut off: {n} {told}")
        )
        return done is not None

    async def waiting(self, *, most: int) -> int:
        """How many texts have no vector yet, counted up to `most`."""
        await self._follow(lambda _: None)
        return await index.waiting(self.db, self.cache, most=most)

    async def keep_up(self, progress: Progress) -> None:
        """The same before a question: only as many passages are embedded as nobody has to wait for.

        A model that fails costs no question: what waits is found by its words, and documents say how many it is.
        """
        await self._follow(progress)
        try:
            await index.embed_few(
                self.db,
                self.cache,
                limit=EMBED_NOW,
                among=EMBED_AMONG,
                progress=lambda n: progress(f"embedding passages: {n}"),
            )
        except Exception as failed:  # a server's own look logs it (app/following.py)
            progress(f"texts wait for their vectors: {failed}")

    async def _follow(self, progress: Progress) -> None:
        if not await index.is_behind(self.db):  # asked before every question
            return
        if await index.is_elsewhere(self.db):
            await feed.end(self.db)  # what was written before a restore counts as finished from here on
        await index.catch_up(self.db, self.library.types, lambda n: progress(f"reading changed records: {n}"))


@asynccontextmanager
async def opened(
    path: Path, *, clock: Clock | None = None, environ: Mapping[str, str] = os.environ, only: str | None = None
) -> AsyncGenerator[Engine]:
    """The workspace at or above `path`, ready to answer; `only` names the one agent that is loaded (P2.1).

    Raises NoWorkspace, BrokenConfiguration, and what the database raises.
    """
    root = workspace.locate(path)
    loaded = loading.whole(root, only=only)
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
            verdicts=Verdicts(db=database),
        )
