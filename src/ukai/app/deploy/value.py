"""What a manifest has to say about one agent, whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ukai.catalog import Catalog
from ukai.llm.known import PROVIDERS
from ukai.runtime.agent import Agent

PORT = 8300
USER = 10_001
POINTER = "SKILL_NAME"
"""The variable that picks the one agent which a process serves (P2.1)."""
COMMIT, TREE = "UKAI_BUILD_COMMIT", "UKAI_BUILD_TREE"
DATABASE = "UKAI_DATABASE_URL"
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

    @property
    def command(self) -> list[str]:
        """What the container runs."""
        slack = ["--slack"] if self.is_in_slack else []
        return ["ukai", "serve", "--host", "0.0.0.0", "--port", str(PORT), *slack]  # noqa: S104  (inside a container)


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
    keys = dict.fromkeys((*_model_keys(catalog, agent), *_login_secrets(catalog), *slack))
    return Service(
        agent=agent.name,
        description=agent.description,
        secrets=tuple(keys),
        optional=slack[1:],
        is_in_slack=is_in_slack,
        prompts=prompts(agent),
        drain_s=catalog.settings.serve.drain_s,
    )


def prompts(agent: Agent) -> tuple[tuple[str, str], ...]:
    """What people may ask it for: its skills by their names. Slack shows four."""
    titles = [name.replace("-", " ").capitalize() for name in agent.skills][:4]
    return tuple((title, f"{title}, please.") for title in titles)


def _model_keys(catalog: Catalog, agent: Agent) -> Iterator[str]:
    rules = (catalog.guardrails[g].model for g in agent.guardrails if g in catalog.guardrails)
    for name in (agent.model, *(m for m in rules if m)):
        if catalog.models.findings(name, where=""):
            continue
        spec = catalog.models.resolve(name).spec
        key = spec.key or (PROVIDERS.get(spec.provider) if not spec.base_url else None)
        if key:
            yield key


def _login_secrets(catalog: Catalog) -> Iterator[str]:
    login = catalog.settings.login
    if login is None:
        return
    if login.page is not None:
        yield from (login.page.secret, login.page.sessions)
    if login.proxy is not None:
        yield login.proxy.secret
