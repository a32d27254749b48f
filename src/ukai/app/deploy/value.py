"""What a manifest has to say about one agent, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ukai.app import loading, nights, pulls
from ukai.catalog import Catalog
from ukai.runtime.agent import Agent

PORT = 8300
USER = 10_001
POINTER = "SKILL_NAME"
"""The variable that picks the one agent which a process serves (P2.1)."""
COMMIT, TREE = "UKAI_BUILD_COMMIT", "UKAI_BUILD_TREE"
DATABASE = "UKAI_DATABASE_URL"
SCHEDULES = "UKAI_SCHEDULES"
"""The variable that says whether a server starts what is due by itself."""
OFTEN, OFTEN_S = "*/5 * * * *", 300
"""How often somebody asks whether a connector is due."""
SLACK = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET")
"""The app token is for socket mode, the signing secret for HTTP: one of the two is enough."""
MARK = "# Made by `ukai up`. A change belongs into the agent's own files; then run it again.\n"
"""The first line of every file that `ukai up --write` may overwrite."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """One agent as a process."""

    agent: str
    description: str
    secrets: tuple[str, ...]
    """Names of the environment variables that it needs beside the database's."""
    optional: tuple[str, ...]
    """Of those, the ones that it may do without."""
    is_in_slack: bool
    prompts: tuple[tuple[str, str], ...]
    """Title and text of what Slack suggests to ask."""
    drain_s: int
    has_jobs: bool
    """Something is due by itself."""

    @property
    def command(self) -> list[str]:
        """What the container runs."""
        slack = ["--slack"] if self.is_in_slack else []
        return ["ukai", "serve", "--host", "0.0.0.0", "--port", str(PORT), *slack]  # noqa: S104  (inside a container)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a workspace wants done by itself, as a process that ends."""

    name: str
    command: tuple[str, ...]
    """What the container runs: it ends with 1 where somebody should look."""
    cron: str
    timezone: str
    grace_s: int
    """How late it may begin."""
    secrets: tuple[str, ...]
    """Names of the environment variables that it needs beside the database's."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """Which image, and how it is built."""

    name: str
    context: str
    """Relative to the manifest."""
    dockerfile: str
    """Relative to the context."""

    @property
    def tagged(self) -> str:
        """The files stand in the repository, so they name no commit: whoever deploys hands in the tag."""
        return self.name if ":" in self.name.rpartition("/")[2] else f"{self.name}:latest"


def service(catalog: Catalog, agent: Agent) -> Service:
    """What this agent needs, from its own files and those that it names."""
    is_in_slack = "slack" in agent.channels
    slack = SLACK if is_in_slack else ()
    keys = dict.fromkeys((*_model_keys(catalog, agent), *_ranker_keys(catalog), *_login_secrets(catalog), *slack))
    return Service(
        agent=agent.name,
        description=agent.description,
        secrets=tuple(keys),
        optional=slack[1:],
        is_in_slack=is_in_slack,
        prompts=prompts(agent),
        drain_s=catalog.settings.serve.drain_s,
        has_jobs=bool(jobs(catalog)),
    )


def jobs(catalog: Catalog) -> list[Job]:
    """What this workspace wants done: recall every night, connectors when they are due."""
    return [*_nightly(catalog), *_connectors(catalog)]


def _nightly(catalog: Catalog) -> Iterator[Job]:
    recall = catalog.settings.context.recall
    if recall is not None:
        yield Job(
            name="nightly-recall",
            command=("ukai", "context", "nightly", "--run", "--quiet"),
            cron=recall.cron,
            timezone=recall.timezone,
            grace_s=int(nights.GRACE.total_seconds()),
            secrets=tuple(dict.fromkeys(_ranker_keys(catalog))),
        )


def _connectors(catalog: Catalog) -> Iterator[Job]:
    read = (loading.connector(doc, catalog)[0] for doc in loading.connectors(catalog).values())
    scheduled = [c for c in read if c is not None and c.file.schedule]
    if scheduled:
        urls = (str(c.file.source.get("url", "")) for c in scheduled)
        yield Job(
            name="connectors",
            command=("ukai", *pulls.DUE),
            cron=OFTEN,
            timezone="Etc/UTC",
            grace_s=OFTEN_S,
            secrets=tuple(dict.fromkeys(u for u in urls if u.isidentifier())),
        )


def prompts(agent: Agent) -> tuple[tuple[str, str], ...]:
    """What people may ask it for: its skills by their names. Slack shows four."""
    titles = [name.replace("-", " ").capitalize() for name in agent.skills][:4]
    return tuple((title, f"{title}, please.") for title in titles)


def _model_keys(catalog: Catalog, agent: Agent) -> Iterator[str]:
    rules = (catalog.guardrails[g].model for g in agent.guardrails if g in catalog.guardrails)
    yield from filter(None, (catalog.models.key_of(name) for name in (agent.model, *rules) if name))


def _ranker_keys(catalog: Catalog) -> Iterator[str]:
    """Of what puts in order what is composed, for every agent alike."""
    yield from filter(None, map(catalog.models.key_of, catalog.settings.context.choice))


def _login_secrets(catalog: Catalog) -> Iterator[str]:
    login = catalog.settings.login
    if login is None:
        return
    if login.page is not None:
        yield from (login.page.secret, login.page.sessions)
    if login.proxy is not None:
        yield login.proxy.secret
