"""`ukai.yaml`: what a whole workspace says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from ukai.catalog import composing, serving
from ukai.kit import document, principal, shape
from ukai.kit.finding import Finding

_DAYS = re.compile(r"[1-9][0-9]{0,4}d\Z")
EMBEDDED = "embedded"


@dataclass(frozen=True, kw_only=True)
class Index:
    """A named, embedded set of records for `get_index`, read under the caller's rights (P1.7)."""

    __pydantic_config__ = shape.STRICT

    type: str
    where: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: Annotated[tuple[str, ...], Field(min_length=1)]
    metadata: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Owners:
    """Who answers for which part of the monorepo, as a code host names them (P1.9)."""

    __pydantic_config__ = shape.STRICT

    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    """Agent -> its domain team."""
    guardrails: str | None = None
    """Managers."""
    access: str | None = None
    """IT."""
    platform: str | None = None
    """Tools, connectors, deployment, and everything that nobody else owns."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How long records are kept: `400d`. None keeps them."""

    __pydantic_config__ = shape.STRICT

    runs: str | None = None
    compositions: str | None = None
    attempts: str | None = None
    """Refused proposals."""
    keys: str | None = None
    """Used idempotency keys: for longer than anybody sends the same delta again."""

    def days(self, name: str) -> int | None:
        """Of one of the fields, as a number."""
        text: str | None = getattr(self, name)
        return None if text is None else int(text.removesuffix("d"))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The whole file."""

    __pydantic_config__ = shape.STRICT

    company: str = ""
    local_principal: str | None = None
    """Who the command line acts as when nobody is named."""
    database: str = EMBEDDED
    """`embedded`, or the name of the environment variable that holds a URL."""
    retention: Retention = field(default_factory=Retention)
    indexes: Mapping[str, Index] = field(default_factory=dict[str, Index])
    owners: Owners = field(default_factory=Owners)
    links: tuple[str, ...] = ()
    """Hosts whose addresses an answer may show although no source does; `*.x.example` is all below."""
    login: serving.Login | None = None
    """Whom a server believes who they are; without it, it serves this machine alone."""
    serve: serving.Serve = field(default_factory=serving.Serve)
    slack: serving.Slack | None = None
    context: composing.Composing = field(default_factory=composing.Composing)


def read(doc: document.Document) -> tuple[Settings | None, list[Finding]]:
    """The document of a `ukai.yaml`; with error findings, None comes back. An empty file is all defaults."""
    if doc.data is None:
        return Settings(), []
    settings, found = shape.parse(doc, Settings)
    if settings is None:
        return None, found
    found = [*found, *_findings(settings, doc)]
    return (None if found else settings), found


def _findings(settings: Settings, doc: document.Document) -> Iterator[Finding]:
    if settings.local_principal is not None and principal.canonical(settings.local_principal) is None:
        yield Finding(
            code="invalid_principal",
            where=doc.where("/local_principal"),
            message=f"{settings.local_principal!r} names nobody",
            expected="ann@example.com, service:x or public",
            received=settings.local_principal,
            hint="write the mail address of whoever works at this machine",
        )
    if settings.database != EMBEDDED and not serving.ENV_NAME.match(settings.database):
        secret = "://" in settings.database
        yield Finding(
            code="secret_in_file" if secret else "invalid_value",
            where=doc.where("/database"),
            message="the database is an address, which may carry a password; it is not repeated here"
            if secret
            else "the database is neither `embedded` nor the name of an environment variable",
            expected=f"{EMBEDDED} | UKAI_DATABASE_URL",
            received="" if secret else settings.database,
            hint="put the address into an environment variable and its name here",
        )
    for name in ("runs", "compositions", "attempts", "keys"):
        value = getattr(settings.retention, name)
        if value is not None and not _DAYS.match(value):
            yield Finding(
                code="invalid_duration",
                where=doc.where(f"/retention/{name}"),
                message=f"{value!r} is no number of days",
                expected="400d",
                received=value,
                hint="write a whole number of days and d",
            )
    for at, owner in _owners(settings.owners):
        if not re.fullmatch(r"@[\w.-]+(/[\w.-]+)?|[^@\s]+@[^@\s]+", owner):
            yield Finding(
                code="invalid_owner",
                where=doc.where(f"/owners{at}"),
                message=f"{owner!r} is no owner that a code host knows",
                expected="@team, @organisation/team or a mail address",
                received=owner,
                hint="write the team with its @, in quotes",
            )
    yield from composing.findings(settings.context, doc, local=settings.local_principal)
    yield from serving.findings(settings.login, settings.serve, doc, settings.slack)


def _owners(owners: Owners) -> Iterator[tuple[str, str]]:
    for agent, owner in owners.agents.items():
        yield "/agents" + document.pointer(agent), owner
    for name in ("guardrails", "access", "platform"):
        if (owner := getattr(owners, name)) is not None:
            yield f"/{name}", owner
