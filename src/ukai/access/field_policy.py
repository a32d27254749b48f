"""`field_policies/<name>.yaml`: the only fields that an agent naming the policy ever reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ukai.access import mend
from ukai.access.record import ALL, NONE, Fields, common
from ukai.kit import document, shape
from ukai.kit.finding import Finding


@dataclass(frozen=True, kw_only=True)
class _File:
    __pydantic_config__ = shape.STRICT
    version: int
    allow: dict[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class FieldPolicy:
    """Type -> fields. A type that is absent has none."""

    name: str
    place: str
    version: int
    allow: Mapping[str, Fields]

    def fields(self, type: str) -> Fields:
        return self.allow.get(type, NONE)

    def __str__(self) -> str:
        return f"{self.name} version {self.version}"


@dataclass(frozen=True, kw_only=True)
class Allowlist:
    """Several field policies as one: what all of them list (an agent's, its family's). None at all: every field."""

    policies: tuple[FieldPolicy, ...] = ()
    unknown: tuple[str, ...] = ()
    """Names that no readable file has; one is enough to leave nothing."""

    def fields(self, type: str) -> Fields:
        left: Fields = NONE if self.unknown else ALL
        for policy in self.policies:
            left = common(left, policy.fields(type))
        return left

    def types(self) -> frozenset[str] | None:
        """Types of which a field is left; None: any."""
        if not self.policies and not self.unknown:
            return None
        named = frozenset[str]().union(*(p.allow for p in self.policies))
        return frozenset(t for t in named if self.fields(t))


def read(
    doc: document.Document, name: str, types: Mapping[str, frozenset[str]] | None
) -> tuple[FieldPolicy | None, list[Finding]]:
    """The policy of one file. What an error touches is not listed; a file with an error of form lists nothing."""
    parsed, findings = shape.parse(doc, _File)
    if parsed is None:
        return None, findings
    if parsed.version < 1:
        findings.append(_version(doc, parsed.version))
    allow: dict[str, Fields] = {}
    for type, names in parsed.allow.items():
        at = document.pointer("allow", type)
        if types is not None and type not in types:
            findings.append(mend.unknown("unknown_type", doc.where_key(at), "type", type, types))
            continue
        if not names:
            findings.append(mend.names_nothing(doc.where(at), f"no field of {type!r} is listed", "name fields, or *"))
        known = types[type] | {"state"} if types is not None else None
        strangers = {n for n in names if known is not None and n != "*" and n not in known}
        for i, field in enumerate(names):
            if field in strangers and known is not None:
                findings.append(mend.unknown("unknown_field", doc.where(f"{at}/{i}"), "field", field, known))
        allow[type] = ALL if "*" in names else frozenset(names) - strangers
    return FieldPolicy(name=name, place=doc.where(), version=parsed.version, allow=allow), findings


def _version(doc: document.Document, received: int) -> Finding:
    return Finding(
        code="invalid_value",
        where=doc.where("/version"),
        message="versions count from 1",
        expected="a whole number from 1",
        received=str(received),
        hint="raise it with every change of the list",
    )
