"""The domains of a workspace, read together: a type may be named across files and has one home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ukai.catalog.settings import Settings
from ukai.graph import domain_file, shipped
from ukai.graph.schema import Domain
from ukai.kit import document, suggest
from ukai.kit.document import Document
from ukai.kit.finding import Finding


def read(documents: Mapping[str, Document], texts: Mapping[str, str]) -> tuple[dict[str, Domain], list[Finding]]:
    """Domain -> value, from path -> document and path -> text, and every finding."""
    declared = {path: _types_of(doc) for path, doc in documents.items()}
    found: dict[str, Domain] = {}
    homes = {t.type: f"{d.domain}, which comes with the product" for d in shipped.domains().values() for t in d.types}
    findings: list[Finding] = []
    for path, doc in documents.items():
        others = {t for other, types in declared.items() if other != path for t in types}
        domain, more = domain_file.from_document(doc, others=others, lines=tuple(texts[path].split("\n")))
        findings += more
        findings += _twice(doc, declared[path], homes)
        homes |= {t: path for t in declared[path] if t not in homes}
        if domain is None:
            continue
        if domain.domain in found:
            findings.append(
                Finding(
                    code="duplicate_name",
                    where=doc.where("/domain"),
                    message=f"a second domain is named {domain.domain!r}",
                    received=domain.domain,
                    hint="rename one of the two",
                )
            )
            continue
        found[domain.domain] = domain
    return found, findings


def fields(domains: Mapping[str, Domain]) -> dict[str, frozenset[str]]:
    """Type -> its fields, over all domains and those that come with the product."""
    every = [*domains.values(), *shipped.domains().values()]
    return {t.type: frozenset(t.by_key) | ({"state"} if t.states else frozenset[str]()) for d in every for t in d.types}


def indexes(settings: Settings, doc: Document | None, types: Mapping[str, frozenset[str]]) -> list[Finding]:
    """Whether the types and fields of ukai.yaml's indexes are declared."""
    findings: list[Finding] = []
    if doc is None:
        return findings
    for name, index in settings.indexes.items():
        at = document.pointer("indexes", name)
        if index.type not in types:
            findings.append(_unknown("type", index.type, types.keys(), doc.where(f"{at}/type")))
            continue
        known = types[index.type] | {"state"}
        for part in ("text", "metadata"):
            for place, field in enumerate(getattr(index, part)):
                if field not in known:
                    findings.append(_unknown("field", field, known, doc.where(f"{at}/{part}/{place}")))
        for field in index.where:
            if field not in known:
                findings.append(_unknown("field", field, known, doc.where_key(at + document.pointer("where", field))))
    return findings


def _unknown(kind: str, name: str, known: Any, where: str) -> Finding:
    return Finding(
        code=f"unknown_{kind}",
        where=where,
        message=f"no {kind} is named {name!r}",
        expected=", ".join(sorted(known)[:20]),
        received=name,
        hint=suggest.hint_for(name, known),
    )


def _types_of(doc: Document) -> dict[str, str]:
    """The types that a document declares, right or wrong in the rest, each with its pointer."""
    written: Any = doc.data
    if not isinstance(written, dict):
        return {}
    data = cast("dict[str, Any]", written)
    if isinstance(data.get("type"), str):
        return {data["type"]: "/type"}
    types: Any = data.get("types")
    entries = cast("list[Any]", types) if isinstance(types, list) else []
    return {
        e["type"]: f"/types/{i}/type"
        for i, e in enumerate(entries)
        if isinstance(e, dict) and isinstance(cast("dict[str, Any]", e).get("type"), str)
    }


def _twice(doc: Document, types: Mapping[str, str], homes: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(
            code="duplicate_name",
            where=doc.where(at),
            message=f"the type {name!r} is declared in {homes[name]} already",
            expected="a name of its own: handles say Type#key without the domain",
            received=name,
            hint="rename one of the two",
        )
        for name, at in types.items()
        if name in homes
    ]
