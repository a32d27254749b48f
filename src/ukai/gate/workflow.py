"""`workflows/<name>.yaml`: steps as data (W6), read with every reference checked against who produces it (W7).

A step asks an agent and emits values, writes a delta made of earlier values, lets an agent write under a contract, or
asks a human. What a step needs and nobody emits, or emits and nobody needs, is found when the file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field as Named

from ukai.gate import workflow_checks
from ukai.gate.contract import Contract
from ukai.gate.steps import Step, Trigger, Workflow
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue
from ukai.graph.schema import Field
from ukai.kit import document, shape
from ukai.kit.finding import Finding, errors

__all__ = ["Step", "Trigger", "Workflow", "from_document", "read"]


@dataclass(frozen=True, kw_only=True)
class _Trigger:
    __pydantic_config__ = shape.STRICT
    node_type: str = ""
    change: Literal["created", "updated", "deleted", "any"] = "any"
    schedule: str = ""
    timezone: str = ""
    webhook: str = ""
    manual: bool = False


@dataclass(frozen=True, kw_only=True)
class _Step:
    __pydantic_config__ = shape.STRICT
    id: str
    agent: str = ""
    ask: str = ""
    emits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    write: tuple[Mapping[str, Any], ...] = ()
    contract: Contract | None = None
    human: str = ""
    when: str = ""


@dataclass(frozen=True, kw_only=True)
class _Workflow:
    __pydantic_config__ = shape.STRICT
    workflow: str
    domain: str = ""
    on: Annotated[_Trigger | None, Named(alias="on")] = None
    steps: tuple[_Step, ...] = ()
    retries: int = 3
    budget_tokens: int | None = None
    description: str = ""


def read(raw: bytes, catalogue: Catalogue, *, name: str) -> tuple[Workflow | None, list[Finding]]:
    """The workflow in a file, checked against the domains. With error findings none comes back."""
    doc, findings = document.read(raw, name=name)
    if doc is None:
        return None, findings
    workflow, more = from_document(doc, catalogue)
    return workflow, findings + more


def from_document(doc: document.Document, catalogue: Catalogue) -> tuple[Workflow | None, list[Finding]]:
    """The workflow in a document that was read already."""
    parsed, findings = shape.parse(doc, _Workflow)
    if parsed is None:
        return None, findings
    steps: list[Step] = []
    for i, one in enumerate(parsed.steps):
        emits: dict[str, Field] = {}
        for key in one.emits:
            found, more = domain_file.read_options(doc, at=document.pointer("steps", i, "emits", key), key=key)
            findings = findings + more
            emits |= {key: found} if found else {}
        steps.append(
            Step(
                id=one.id,
                agent=one.agent,
                ask=one.ask,
                emits=emits,
                write=_written(doc.data, i),
                contract=one.contract,
                human=one.human,
                when=one.when,
            )
        )
    if errors(findings):
        return None, findings
    workflow = Workflow(
        workflow=parsed.workflow,
        domain=parsed.domain,
        on=Trigger(**vars(parsed.on)) if parsed.on else Trigger(),
        steps=tuple(steps),
        retries=parsed.retries,
        budget_tokens=parsed.budget_tokens,
        description=parsed.description,
    )
    findings = sorted([*findings, *workflow_checks.findings(workflow, doc, catalogue)], key=_place_of)
    return (None if errors(findings) else workflow), findings


def _written(data: Any, index: int) -> tuple[Any, ...]:
    """The operations as they stand in the file."""
    return tuple(data["steps"][index].get("write") or ())


def _place_of(finding: Finding) -> tuple[int, int]:
    _, line, column = finding.where.rsplit(":", 2)
    return int(line), int(column)
