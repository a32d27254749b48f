"""Reading what IT wrote: the findings that several files of `access/` share.

One rule holds for all of them: an entry with an error allows nothing, and denies all that it may have meant to deny.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ukai.kit import document, principal, suggest
from ukai.kit.finding import Finding, Severity, excerpt


def broken(findings: Iterable[Finding]) -> bool:
    """Whether one of them is an error."""
    return any(f.severity == "error" for f in findings)


def entries(doc: document.Document | None, *, key: str, kind: type) -> tuple[Any, list[Finding]]:
    """The list or mapping under the only key a file has; None (with the reason) when the file says anything else."""
    if doc is None:
        return None, []
    data: Any = doc.data
    received: object = doc.data
    expected = f"`{key}:` and a {'mapping' if kind is dict else 'list'}"
    if not isinstance(data, dict):
        hint = f"begin the file with `{key}:`"
        return None, [_shape(doc, "", f"the file is not a mapping with the key {key!r}", expected, received, hint)]
    findings: list[Finding] = []
    for other in cast("dict[str, Any]", data):
        if other != key:
            at = document.pointer(other)
            findings.append(
                Finding(
                    code="unknown_key",
                    where=doc.where_key(at),
                    message=f"no field is named {other!r}",
                    expected=key,
                    received=other,
                    hint=suggest.hint_for(other, [key]),
                )
            )
    found: Any = cast("dict[str, Any]", data).get(key)
    if key not in data and not findings:
        hint = f"add `{key}:`"
        findings.append(_shape(doc, "", f"the field {key!r} is missing", expected, received, hint))
    elif key in data and not isinstance(found, kind):
        findings.append(_shape(doc, f"/{key}", f"{key!r} has the wrong type", expected, found, f"write {expected}"))
    return (None if findings else found), findings


def _shape(doc: document.Document, at: str, message: str, expected: str, received: object, hint: str) -> Finding:
    return Finding(
        code="wrong_type",
        where=doc.where(at),
        message=message,
        expected=expected,
        received=excerpt(received),
        hint=hint,
    )


def principal_at(doc: document.Document, at: str, written: str) -> tuple[str | None, list[Finding]]:
    """The canonical spelling of the principal at `at`: a note when written otherwise, an error when it names none."""
    name = principal.canonical(written)
    if name is None:
        return None, [
            Finding(
                code="invalid_principal",
                where=doc.where(at),
                message=f"{written!r} names no principal",
                expected="ann@example.com | group:x | service:x | public",
                received=excerpt(written),
                hint="write an address, `group:` or `service:` with a name, or `public` for everybody",
            )
        ]
    return name, [] if name == written else [not_canonical(doc.where(at), written, name)]


def not_canonical(where: str, written: str, name: str) -> Finding:
    """A note: letter case does not count, and files keep one spelling."""
    return Finding(
        code="not_canonical",
        severity="note",
        where=where,
        message="letter case does not count in principals",
        expected=name,
        received=written,
        hint=f"write {name!r}",
    )


def unknown(
    code: str, where: str, what: str, name: str, known: Iterable[str], *, severity: Severity = "error"
) -> Finding:
    """A name that nothing declares."""
    names: Sequence[str] = sorted(known)
    return Finding(
        code=code,
        severity=severity,
        where=where,
        message=f"no {what} is named {name!r}",
        expected=f"a declared {what}",
        received=name,
        hint=suggest.hint_for(name, names),
    )


def unknown_agent(where: str, name: str, known: Iterable[str]) -> Finding:
    """An agent that is not there. A warning: agents come and go in their owners' hands, and one that is gone is denied
    anyway; taken for an error, it would close every other agent with it.
    """
    return unknown("unknown_agent", where, "agent", name, known, severity="warning")


def names_nothing(where: str, what: str, hint: str) -> Finding:
    """Something that was written and says nothing: refused, because both of its readings are possible."""
    return Finding(code="names_nothing", where=where, message=what, expected="at least one name", hint=hint)
