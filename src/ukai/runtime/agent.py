"""An agent as its owners write it (`Manifest`), and as it runs once everything it names is resolved (`Agent`).

Down the line access > family > agent > skill rights only tighten; prose and knobs may override (P1.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from pydantic import Field

from ukai.context import scope as scopes
from ukai.kit import document, shape
from ukai.kit.finding import Finding
from ukai.runtime.tools import ToolSpec

Channel = Literal["slack", "cli", "web", "mcp", "rest", "a2a", "openai"]
"""A surface that serves an agent."""
CHANNELS: tuple[Channel, ...] = get_args(Channel)
Retrieval = Literal["strict", "off"]
"""`strict` keeps every result inside the caller's own accounts; `off` leaves it to the policies alone."""
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
MAX_NAME = 64
"""Source: the open Agent Skills format, which shares the rule."""
MAX_ITERATIONS = 20
"""Turns of the model when a manifest names no number."""
DEFAULT_CHANNELS: tuple[Channel, ...] = ("cli",)
"""An agent that names no channel is served where only its own people are."""
LEAD = "first_paragraph"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one run may use; None leaves a part to whoever stands above."""

    __pydantic_config__ = shape.STRICT

    tokens: Annotated[int, Field(ge=1)] | None = None
    usd: Annotated[float, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class ToolChoice:
    """Globs over the names of the global tool set."""

    __pydantic_config__ = shape.STRICT

    include: tuple[str, ...] | None = None
    """None is the whole set; empty is none of it."""
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Output:
    """Which part of an answer counts as leading, for the pool of facts (P8.6)."""

    __pydantic_config__ = shape.STRICT

    lead: Annotated[str, Field(pattern=r"^(first_paragraph|heading: .*\S.*)$")] = LEAD
    """`first_paragraph`, or `heading: <its text>`."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The front matter of an agent or a family, as written: what is None was not written."""

    __pydantic_config__ = shape.STRICT

    name: str
    description: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    max_iterations: Annotated[int, Field(ge=1, le=1000)] | None = None
    channels: tuple[Channel, ...] | None = None
    acl_enforcement: bool | None = None
    family: str | None = None
    scope_bound_retrieval: Retrieval | None = None
    field_policy: str | None = None
    tools: ToolChoice | None = None
    budget: Budget | None = None
    scope: scopes.Scope | None = None
    skills: tuple[str, ...] | None = None
    output: Output | None = None
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] | None = None
    allowed_tools: Annotated[str | None, Field(alias="allowed-tools")] = None


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A repeated prompt beside an agent, written by its team or by strangers."""

    __pydantic_config__ = shape.STRICT

    name: str
    description: str = ""
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] | None = None
    allowed_tools: Annotated[tuple[str, ...], Field(alias="allowed-tools")] = ()
    """Tools whose confirmation it waives; it never grants one (P1.9)."""
    scope: scopes.Scope | None = None
    budget: Budget | None = None
    prose: str = ""


@dataclass(frozen=True, kw_only=True)
class Family:
    """An inherited discipline: its prose comes first, its rights intersect."""

    name: str
    manifest: Manifest
    prose: str
    where: str
    """`file:line:column` of its name."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Everything a turn needs to know about one agent."""

    name: str
    description: str
    prompt: str
    """Prose of its families, outermost first, then its own."""
    prose: str
    """Its own alone, byte for byte but for line ends."""
    model: str
    """The name as written: an alias, a model of `models.yaml`, `provider:name` or `extractive`."""
    model_use: str | None
    """What that name stands for; None when nothing answers to it."""
    max_iterations: int
    channels: tuple[Channel, ...]
    acl_enforcement: bool
    scope_bound_retrieval: Retrieval
    field_policies: tuple[str, ...]
    """All of them hold at once; none at all means that the agent names no policy."""
    tools: tuple[str, ...]
    """Names, sorted: of the global set what is left, and its own."""
    own_tools: Mapping[str, ToolSpec]
    budget: Budget
    scope: scopes.Scope | None
    families: tuple[str, ...]
    """Outermost first."""
    skills: Mapping[str, Skill]
    guardrails: tuple[str, ...]
    """Ids of those that apply, sorted."""
    output: Output
    manifest: Manifest
    """As written."""
    unresolved: tuple[str, ...] = field(default=())
    """What it names and nobody knows, such as `field_policy:commercial_only`. Whatever needs it fails closed."""


def parse(doc: document.Document) -> tuple[Manifest | None, list[Finding]]:
    """The manifest of an agent or a family, in the native dialect; with error findings, None comes back."""
    return shape.checked(doc, Manifest, lambda manifest: _findings(manifest, doc))


def parse_skill(doc: document.Document) -> tuple[Skill | None, list[Finding]]:
    """A nested skill whose keys are all known ones; with error findings, None comes back."""

    def check(skill: Skill) -> Iterator[Finding]:
        if skill.scope is not None:
            yield from scopes.findings(skill.scope, doc, at="/scope")

    return shape.checked(doc, Skill, check, given={"prose": doc.body})


def _findings(manifest: Manifest, doc: document.Document) -> Iterator[Finding]:
    if problem := name_problem(manifest.name):
        yield Finding(
            code="invalid_name",
            where=doc.where("/name"),
            message=problem,
            expected="lower case letters, digits and single hyphens, at most 64",
            received=manifest.name,
            hint="rename the folder and the field together",
        )
    if manifest.scope is not None:
        yield from scopes.findings(manifest.scope, doc, at="/scope")
    for name in ("channels", "skills"):
        values: tuple[str, ...] = getattr(manifest, name) or ()
        for index, value in enumerate(values):
            if value in values[:index]:
                yield Finding(
                    code="duplicate_value",
                    severity="warning",
                    where=doc.where(f"/{name}/{index}"),
                    message=f"{value!r} stands twice in {name!r}",
                    received=value,
                    hint="remove one",
                )


def name_problem(name: str) -> str:
    """Why this cannot name an agent, a family or a skill, or nothing."""
    if not name:
        return "the name is empty"
    if len(name) > MAX_NAME:
        return f"the name is longer than {MAX_NAME} characters"
    return "" if NAME.match(name) else f"{name!r} is not a valid name"
