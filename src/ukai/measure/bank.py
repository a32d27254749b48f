"""Banks: questions with what is known before their answer exists, split by subject (P8.7, formats §9).

- {id: stalled-rollout, ask: "Why has the rollout stalled?", as: ann@example.com, subject: Account#harbor,
   requires: {items: ["Call#harbor-12/turn/31"]}, rules: {should_pass: [no-discounts]}, repeats: 3}
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from ukai.kit import canonical, document, handle, principal, shape, suggest
from ukai.kit.finding import Finding, errors
from ukai.measure.case import Case

Split = Literal["work", "select", "holdout"]
SPLITS: tuple[Split, ...] = ("work", "select", "holdout")
SHARES = (40, 60)
"""Percent below which a subject is work, and below which it is select. As much is held out as is worked on, because a
confirmation needs the same cases as a screen."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Which tools an answer takes."""

    __pydantic_config__ = shape.STRICT

    any_of: tuple[str, ...] = ()
    """At least one of them brings something."""


@dataclass(frozen=True, kw_only=True)
class Requires:
    """What must be there for an answer to count."""

    __pydantic_config__ = shape.STRICT

    items: tuple[str, ...] = ()
    """Handles, with parts: each is cited, or the record that holds it, or a part of it."""
    tools: Tools = field(default_factory=Tools)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What people say about guardrails on this question."""

    __pydantic_config__ = shape.STRICT

    should_pass: tuple[str, ...] = ()
    should_fire: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """One case of a bank, as it is written."""

    __pydantic_config__ = shape.STRICT

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    ask: Annotated[str, Field(pattern=r"\S")]
    asker: Annotated[str | None, Field(alias="as")] = None
    """Who asks; None is whoever runs the bank."""
    subject: str = ""
    """What it is about. Cases of one subject are not independent, and stay together when a bank is split."""
    agent: str | None = None
    """Whom it is for; in an agent's own folder that agent. None: the first that its asker may use and that reads what
    it requires."""
    requires: Requires = field(default_factory=Requires)
    rules: Rules = field(default_factory=Rules)
    repeats: Annotated[int, Field(ge=1, le=100)] = 1

    @property
    def cluster(self) -> str:
        """Its subject; a case without one stands alone."""
        return self.subject or self.id

    @property
    def split(self) -> Split:
        """Where its subject belongs, today and in every later version of the bank."""
        return split_of(self.cluster)

    @property
    def case(self) -> Case:
        """As the checks read it."""
        return Case(
            id=self.id,
            cluster=self.cluster,
            required=self.requires.items,
            should_pass=self.rules.should_pass,
            should_fire=self.rules.should_fire,
        )


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text that a guardrail's owner says it must let pass, or must fire on."""

    rule: str
    number: int
    """From 1, within its kind."""
    text: str
    expects: Literal["pass", "fire"]

    @property
    def id(self) -> str:
        """`no-discounts/fire-2`."""
        return f"{self.rule}/{self.expects}-{self.number}"


@dataclass(frozen=True, kw_only=True)
class Bank:
    """Everything that one evaluation asks."""

    questions: tuple[Question, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def sha256(self) -> str:
        """Over all of it: evaluations of two banks have unpaired cases, or other requirements."""
        return canonical.sha256([asdict(q) for q in self.questions] + [asdict(e) for e in self.examples])

    def of(self, splits: Sequence[Split]) -> Bank:
        """The questions of some splits, with all examples."""
        return replace(self, questions=tuple(q for q in self.questions if q.split in splits))

    def repeated(self, times: int | None) -> Bank:
        """Every question so often; None leaves what each says."""
        if times is None:
            return self
        return replace(self, questions=tuple(replace(q, repeats=times) for q in self.questions))

    @property
    def runs(self) -> tuple[tuple[Question, int], ...]:
        """Every question with every repeat, the first repeats of all first: whoever stops early has seen every case."""
        most = max((q.repeats for q in self.questions), default=0)
        return tuple((q, rep) for rep in range(1, most + 1) for q in self.questions if rep <= q.repeats)


def split_of(cluster: str) -> Split:
    """By a hash of the subject and nothing else, so that adding cases moves none."""
    place = int.from_bytes(hashlib.sha256(f"ukai split {cluster}".encode()).digest()[:8], "big") % 100
    return SPLITS[sum(place >= share for share in SHARES)]


def read(doc: document.Document) -> tuple[tuple[Question, ...], list[Finding]]:
    """The cases of one file; what is wrong with it, all at once, by line and column."""
    if doc.data is None:
        return (), []
    written: object = doc.data
    if not isinstance(written, list):
        return (), [_no_list(doc)]
    found: list[Question] = []
    findings: list[Finding] = []
    for number in range(len(cast("list[Any]", written))):
        at = f"/{number}"
        question, wrong = shape.parse(doc, Question, at=at)
        findings += wrong
        if question is not None:
            findings += _findings(question, doc, at)
            findings += _repeated(question, found, doc, at)
            found.append(question)
    return (() if errors(findings) else tuple(found)), findings


def lint(doc: document.Document) -> list[Finding]:
    """What is wrong with a file of cases."""
    return read(doc)[1]


def undeclared(doc: document.Document, types: Collection[str]) -> Iterator[Finding]:
    """Of a file that is read otherwise: what no answer can cite, since nothing can be of its type."""
    for number, question in enumerate(read(doc)[0]):
        for i, item in enumerate(question.requires.items):
            named = handle.parse(item)
            if named is not None and named.type not in types:
                yield Finding(
                    code="unknown_type",
                    severity="warning",
                    where=doc.where(f"/{number}/requires/items/{i}"),
                    message=f"no domain declares the type {named.type!r}",
                    received=item,
                    hint=suggest.hint_for(named.type, types),
                )


def _findings(question: Question, doc: document.Document, at: str) -> Iterator[Finding]:
    if question.asker is not None and principal.canonical(question.asker) is None:
        yield Finding(
            code="invalid_value",
            where=doc.where(f"{at}/as"),
            message=f"{question.asker!r} names nobody",
            expected="ann@example.com | service:name | public",
            received=question.asker,
            hint="write who asks the question",
        )
    for i, item in enumerate(question.requires.items):
        if handle.parse(item) is None and not item.startswith("tool:"):
            yield Finding(
                code="invalid_value",
                where=doc.where(f"{at}/requires/items/{i}"),
                message=f"{item!r} is no handle",
                expected="Type#key, or with a part Type#key/turn/31",
                received=item,
                hint="copy the handle from the sources of an answer",
            )
    for rule in question.rules.should_pass:
        if rule in question.rules.should_fire:
            place = f"{at}/rules/should_fire/{question.rules.should_fire.index(rule)}"
            yield Finding(
                code="invalid_value",
                where=doc.where(place),
                message=f"{rule!r} cannot pass and fire on one answer",
                expected="should_pass or should_fire",
                received=rule,
                hint="remove it from one of the two lists",
            )


def _repeated(question: Question, found: Sequence[Question], doc: document.Document, at: str) -> Iterator[Finding]:
    if any(question.id == other.id for other in found):
        yield Finding(
            code="duplicate_name",
            where=doc.where(f"{at}/id"),
            message=f"a case above has the id {question.id!r}",
            received=question.id,
            hint="give every case an id of its own: runs are paired by it",
        )


def _no_list(doc: document.Document) -> Finding:
    return Finding(
        code="wrong_type",
        where=doc.where(),
        message="a file of cases is a list",
        expected="- {id: .., ask: ..}",
        hint="begin every case with a dash",
    )
