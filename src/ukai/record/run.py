"""A saved run as plain frozen data: everything that later checks read (P4.6). The page is docs/reference/run.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from ukai.kit import canonical, figures, shape

SCHEMA = 1
"""The version that this code writes and reads."""

Status = Literal["answered", "blocked", "refused", "budget", "cancelled", "error"]
Label = Literal["data", "nothing", "error"]
LabelRule = Literal[
    "exception", "timeout", "is_error", "http_status", "error_when", "empty_when", "empty", "returned", "heuristic"
]
Verdict = Literal["pass", "rewrite", "block"]


@dataclass(frozen=True, kw_only=True)
class Build:
    """What code ran (P2.2)."""

    __pydantic_config__ = shape.STRICT

    commit: str = ""
    tree: str = ""


@dataclass(frozen=True, kw_only=True)
class Config:
    """What may differ between two runs that are compared: model, prose, rules, corpus."""

    __pydantic_config__ = shape.STRICT

    model: str
    prose: Mapping[str, str] = field(default_factory=dict[str, str])
    """Surface (`agents/deal-coach/SKILL.md`) -> sha256."""
    guardrails: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rule -> `version sha256`."""
    skill: str | None = None
    """The skill that whoever asked named (P5.1)."""
    corpus_snapshot: str | None = None
    lead: str | None = None
    """Which part of an answer its agent declares to lead, `heading: Next move`; None is the first paragraph."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the turn was allowed to use; None is no limit."""

    __pydantic_config__ = shape.STRICT

    tokens: int | None = None
    usd: Decimal | None = None
    seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """That something happened, in order."""

    __pydantic_config__ = shape.STRICT

    seq: int
    """From 1, without gaps."""
    at: datetime
    kind: str
    """`call`, `firing`, `usage`, `composition`, `decision`, `commit`, `answer`, `note`."""
    about: str = ""
    """The id of what it was, where it has one."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """One result item of a call, as the model saw it. `text` or `value` holds it."""

    __pydantic_config__ = shape.STRICT

    item_key: str
    """A handle with an optional part, given by the tool layer and never by the model: `Call#harbor-12/turn/31`."""
    path: str = ""
    text: str | None = None
    value: Any = None
    as_of: datetime | None = None
    """How old the source's word is (P4.7)."""

    @property
    def words(self) -> str:
        """The item as text: what evidence is read from."""
        return self.text if self.text is not None else canonical.dumps(self.value)


@dataclass(frozen=True, kw_only=True)
class SeenFigure:
    """A figure of an item, read once, when the call was saved."""

    __pydantic_config__ = shape.STRICT

    item: int
    """Index into the call's items."""
    start: int
    """Into the item's `words`."""
    end: int
    kind: figures.Kind
    value: str
    """As `figures.Figure.said` writes it."""
    unit: str = ""
    ulp: str = "0"
    approx: bool = False


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a tool, with its label."""

    __pydantic_config__ = shape.STRICT

    call_id: str
    tool: str
    args_canonical: str
    """Canonical JSON, so that a retry is recognised by equality."""
    t0: datetime
    t1: datetime
    label: Label
    label_rule: LabelRule
    truncated: bool = False
    """The model saw less than the tool returned."""
    error_code: str | None = None
    items: tuple[Item, ...] = ()
    figures: tuple[SeenFigure, ...] | None = None
    raw_sha256: str | None = None
    """Of the whole result, before it was cut for the model."""
    move: Literal["deeper", "across"] | None = None
    """Research only: further into a source, or on to another one (P6.2)."""


@dataclass(frozen=True, kw_only=True)
class AnswerSentence:
    """One unit of the answer, `markdown[start:end]`."""

    __pydantic_config__ = shape.STRICT

    i: int
    start: int
    end: int
    block: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was sent."""

    __pydantic_config__ = shape.STRICT

    markdown: str
    sentences: tuple[AnswerSentence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Citation:
    """That a sentence names an item as its source."""

    __pydantic_config__ = shape.STRICT

    sentence: int
    item_key: str


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A passage that a rule marked, with the exact words."""

    __pydantic_config__ = shape.STRICT

    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Firing:
    """One guardrail's verdict."""

    __pydantic_config__ = shape.STRICT

    stage: Literal["input", "output"]
    rule: str
    """`rule@version`."""
    verdict: Verdict
    failed: bool = False
    """The rule could not be run or read; `verdict` is then its failure policy's, and no opinion of its own."""
    latency_ms: int = 0
    marks: tuple[Mark, ...] = ()
    rewrite_of: str | None = None
    """The text before the rewrite, into which `marks` point; None where nothing was rewritten."""
    held: str | None = None
    """The text that this rule held back, into which `marks` point; None where it did not."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """One model call's tokens and cost."""

    __pydantic_config__ = shape.STRICT

    model: str
    input: int = 0
    output: int = 0
    cached: int = 0
    usd: Decimal | None = None
    """None where no price is known: not zero."""
    purpose: str = "agent"
    """`agent`, `guardrail`, `rewrite`, ..."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """What is known when a turn begins; saved then, so that a run that dies still says whose it was."""

    __pydantic_config__ = shape.STRICT

    run_id: str
    """A time-ordered UUID."""
    agent: str
    principal: str
    surface: str
    question: str
    started_at: datetime
    as_of: datetime
    config: Config
    audience: tuple[str, ...] = ()
    case_id: str | None = None
    rep: int | None = None
    build: Build = field(default_factory=Build)
    budget: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class Run(Start):
    """A run that has ended. Sealed: `sha256` is over its canonical JSON without that field."""

    ended_at: datetime
    status: Status
    reason: str = ""
    """Why it was not answered."""
    events: tuple[Event, ...] = ()
    calls: tuple[Call, ...] = ()
    compositions: tuple[str, ...] = ()
    """Ids; the records are the composer's."""
    decisions: tuple[str, ...] = ()
    """Ids of access decisions."""
    commits: tuple[str, ...] = ()
    """Ids of what was written through the gate."""
    answer: Answer | None = None
    citations: tuple[Citation, ...] = ()
    firings: tuple[Firing, ...] = ()
    usage: tuple[Usage, ...] = ()
    schema: int = SCHEMA
    sha256: str = ""
