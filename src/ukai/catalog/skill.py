"""SKILL.md files of strangers, read as nested skills: tolerant where they go beyond what we know (P1.10).

The open Agent Skills format has six keys; files in the wild carry many more. An unknown key is a note, a key that was
probably misspelt an error, and everything that a skill does not need may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from ukai.catalog import dialect, prose, writing
from ukai.kit import document, suggest
from ukai.kit.finding import Finding, excerpt
from ukai.runtime import agent

KNOWN = (*dialect.OPEN_KEYS, "scope", "budget")
ELSEWHERE = frozenset(
    {
        "agent",
        "argument-hint",
        "arguments",
        "context",
        "disable-model-invocation",
        "disallowed-tools",
        "effort",
        "hooks",
        "model",
        "paths",
        "shell",
        "tools",
        "user-invocable",
        "when_to_use",
        "version",
        "author",
        "tags",
        "triggers",
    }
)
"""Keys that other clients read; they change nothing here."""
TOOLS_ELSEWHERE = frozenset(
    {
        "AskUserQuestion",
        "Bash",
        "Edit",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "LS",
        "MultiEdit",
        "NotebookEdit",
        "NotebookRead",
        "Read",
        "Skill",
        "SlashCommand",
        "Task",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Write",
    }
)
"""Tools of other clients that `allowed-tools` of strangers names."""
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")


def read(doc: document.Document, *, folder: str) -> tuple[agent.Skill | None, list[Finding]]:
    """The nested skill of a document with front matter (its `data` may be empty) in the folder `folder`."""
    written = cast("dict[str, Any]", doc.data)
    findings = list(_keys(written, doc))
    if any(f.severity == "error" for f in findings):
        return None, findings
    normal, more = dialect.native(replace(doc, data={k: v for k, v in written.items() if k in KNOWN}))
    findings += more
    data = dict(cast("dict[str, Any]", normal.data))
    if isinstance(data.get("allowed-tools"), str):
        data["allowed-tools"] = _TOOL.findall(data["allowed-tools"])
    findings += _softened(data, normal)
    findings += _defaults(data, normal, folder)
    skill, more = agent.parse_skill(replace(normal, data=data))
    return skill, [*findings, *more]


def _keys(written: dict[str, Any], doc: document.Document) -> Iterator[Finding]:
    for key in written:
        if key in KNOWN:
            continue
        guess = None if key in ELSEWHERE else suggest.suggest(key, dialect.OPEN_KEYS)
        if guess and guess.name not in written:
            yield Finding(
                code="unknown_key",
                where=doc.where_key(document.pointer(key)),
                message=f"no field is named {key!r}",
                expected=", ".join(KNOWN),
                received=key,
                hint=f"did you mean {guess.name!r}?",
            )
            continue
        yield Finding(
            code="key_not_used",
            severity="note",
            where=doc.where_key(document.pointer(key)),
            message=f"{key!r} is known from other clients and not used here"
            if key in ELSEWHERE
            else f"{key!r} is not used here",
            expected=", ".join(KNOWN),
            received=key,
            hint="leave it for the clients that read it",
        )


def _softened(data: dict[str, Any], doc: document.Document) -> Iterator[Finding]:
    """What strangers write in another shape than the format asks for is left out with a note."""
    metadata = data.get("metadata")
    if isinstance(metadata, dict):
        entries = cast("dict[str, Any]", metadata)
        for key, value in entries.items():
            if not isinstance(value, str):
                yield _not_text(doc, "/metadata" + document.pointer(key), f"metadata.{key}", value)
        data["metadata"] = {k: v for k, v in entries.items() if isinstance(v, str)}
    elif metadata is not None:
        yield _not_text(doc, "/metadata", "metadata", metadata)
        del data["metadata"]
    for key in ("license", "compatibility"):
        if data.get(key) is not None and not isinstance(data[key], str):
            yield _not_text(doc, f"/{key}", key, data[key])
            del data[key]


def _not_text(doc: document.Document, at: str, name: str, value: object) -> Finding:
    return Finding(
        code="value_not_used",
        severity="note",
        where=doc.where(at),
        message=f"{name!r} is not text and is not used here",
        expected="text",
        received=excerpt(value),
        hint="write it as text for clients that keep to the open format",
    )


def _defaults(data: dict[str, Any], doc: document.Document, folder: str) -> Iterator[Finding]:
    if not data.get("name"):
        data["name"] = folder
        yield _missing(doc, "name", folder)
    elif isinstance(data["name"], str) and data["name"] != folder:
        yield Finding(
            code="name_mismatch",
            severity="warning",
            where=doc.where("/name"),
            message=f"the skill calls itself {data['name']!r} and lies in {folder!r}",
            expected=folder,
            received=data["name"],
            hint="give both one name; until then the folder's counts",
        )
        data["name"] = folder
    if agent.name_problem(folder):
        yield Finding(
            code="invalid_name",
            severity="warning",
            where=doc.where("/name"),
            message=agent.name_problem(folder),
            expected="lower case letters, digits and single hyphens, at most 64",
            received=folder,
            hint="rename the folder and the field together",
        )
    if not data.get("description"):
        data["description"] = prose.first_sentence(doc.body)
        yield _missing(doc, "description", data["description"])


def _missing(doc: document.Document, field: str, default: str) -> Finding:
    return Finding(
        code=f"{field}_missing",
        severity="warning",
        where=doc.where(f"/{field}"),
        message=f"the skill has no {field}; {default!r} stands in",
        expected=field,
        hint=f"add `{field}: {writing.scalar(default)}`",
    )
