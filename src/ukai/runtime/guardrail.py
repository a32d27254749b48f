"""A guardrail: one rule with one verdict, owned by a manager, reaching every agent it names (P1.5, P4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from ukai.kit import canonical, document, shape
from ukai.kit.finding import Finding

Stage = Literal["input", "output"]
Verdict = Literal["block", "rewrite"]
Kind = Literal["model", "pattern", "list", "figure"]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Texts that the rule must let pass and texts on which it must fire; they become cases."""

    __pydantic_config__ = shape.STRICT

    passes: Annotated[tuple[str, ...], Field(alias="pass")] = ()
    fire: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Guardrail:
    """The front matter of a guardrail file with its prose."""

    __pydantic_config__ = shape.STRICT

    id: str
    version: Annotated[int, Field(ge=1)] = 1
    title: str = ""
    stage: Stage
    verdict_type: Verdict
    kind: Kind = "model"
    model: str | None = None
    """The name of the model that judges; for the kind `model`."""
    applies_to: tuple[str, ...] = ()
    """Agents by name, globs over names, or `family:<name>`. Empty reaches nobody."""
    failure_policy: Literal["closed", "open"] = "closed"
    """What counts when the rule cannot be decided: `closed` holds the answer back."""
    patterns: tuple[str, ...] = ()
    """Regular expressions, for the kind `pattern`."""
    words: tuple[str, ...] = ()
    """Words and phrases, for the kind `list`."""
    examples: Examples = field(default_factory=Examples)
    prose: str = ""
    """The rule itself, as written below the front matter."""

    @property
    def sha256(self) -> str:
        """Over everything that decides, so that a rule whose wording changed is not taken for the old one."""
        decides: dict[str, Any] = {
            "stage": self.stage,
            "verdict_type": self.verdict_type,
            "kind": self.kind,
            "model": self.model,
            "patterns": list(self.patterns),
            "words": list(self.words),
            "title": self.title,
            "prose": self.prose,
        }
        return canonical.sha256(decides)


def parse(doc: document.Document) -> tuple[Guardrail | None, list[Finding]]:
    """The guardrail of a file with front matter; with error findings, None comes back."""
    return shape.checked(doc, Guardrail, lambda rule: _findings(rule, doc), given={"prose": doc.body})


_NEEDS = {"pattern": "patterns", "list": "words"}


def _findings(rule: Guardrail, doc: document.Document) -> Iterator[Finding]:
    for index, pattern in enumerate(rule.patterns):
        import regex  # what `rules.pattern` runs; a tenth of a second, for those alone that have such a rule

        try:
            regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            yield Finding(
                code="invalid_pattern",
                where=doc.where(f"/patterns/{index}"),
                message=f"not a regular expression: {error}",
                expected="a regular expression of Python",
                received=pattern,
                hint="correct the expression; a backslash needs single quotes around it in YAML",
            )
    needed = _NEEDS.get(rule.kind)
    if needed and not getattr(rule, needed):
        yield Finding(
            code="missing_key",
            where=doc.where("/kind"),
            message=f"a guardrail of kind {rule.kind!r} needs {needed!r}",
            expected=needed,
            hint=f"add `{needed}: [..]`",
        )
    for kind, name in _NEEDS.items():
        if getattr(rule, name) and rule.kind != kind:
            yield Finding(
                code="unused_field",
                severity="warning",
                where=doc.where_key(f"/{name}"),
                message=f"{name!r} is only read by the kind {kind!r}",
                expected=f"kind: {kind}",
                received=f"kind: {rule.kind}",
                hint=f"write `kind: {kind}`, or remove `{name}`",
            )
    if rule.kind == "model" and not rule.prose.strip():
        yield Finding(
            code="prose_missing",
            where=f"{doc.name}:{doc.body_line}:1",
            message="the rule has no prose, so a model would judge by nothing",
            expected="the rule in words below the front matter",
            hint="write what the rule forbids, and what it lets pass",
        )
    if not rule.applies_to:
        yield Finding(
            code="applies_to_nobody",
            severity="warning",
            where=doc.where("/applies_to"),
            message="the guardrail names no agent, so it never runs",
            expected="names of agents, globs, or family:<name>",
            hint='write `applies_to: ["*"]` to reach every agent',
        )
    if rule.stage == "input" and rule.verdict_type == "rewrite":
        yield Finding(
            code="rewrite_on_input",
            severity="warning",
            where=doc.where("/verdict_type"),
            message="there is no answer to rewrite before the agent has spoken; the rule blocks instead",
            expected="block",
            received="rewrite",
            hint="write `verdict_type: block`, or `stage: output`",
        )
