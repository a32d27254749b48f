"""The workflows of a workspace, held against its domains and agents (W6, W7)."""

from __future__ import annotations

from collections.abc import Mapping

from ukai.catalog.naming import Naming
from ukai.gate import workflow
from ukai.gate.steps import Workflow
from ukai.graph.catalogue import Catalogue
from ukai.graph.schema import Domain
from ukai.kit.document import Document
from ukai.kit.finding import Finding


def read(
    documents: Mapping[str, Document], domains: Mapping[str, Domain], agents: set[str], naming: Naming
) -> tuple[dict[str, Workflow], list[Finding]]:
    """Name -> workflow, and every finding. Agents that no folder has are told through `naming`."""
    catalogue = Catalogue(domains.values())
    found: dict[str, Workflow] = {}
    findings: list[Finding] = []
    for path, doc in documents.items():
        value, more = workflow.from_document(doc, catalogue)
        findings += more
        if value is None:
            continue
        for index, step in enumerate(value.steps):
            if step.agent:
                naming.known("agent", step.agent, agents, where=doc.where(f"/steps/{index}/agent"))
        stem = path.rpartition("/")[2].removesuffix(".yaml")
        if value.workflow != stem:
            findings.append(
                Finding(
                    code="name_mismatch",
                    where=doc.where("/workflow"),
                    message=f"the workflow calls itself {value.workflow!r}, its file is named {stem!r}",
                    expected=stem,
                    received=value.workflow,
                    hint=f"write `workflow: {stem}`, or rename the file",
                )
            )
        found[value.workflow] = value
    return found, findings
