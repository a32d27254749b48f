"""A `tools.py` loaded for serving: the one place where a workspace's code is run (P1.7).

`json`, `embed` and `get_index` are there without an import, as in the article, and `credential` beside them. What the
code raises is a finding at its line, so that one team's mistake stops one team's agent.
"""

from __future__ import annotations

import hashlib
import json
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ukai.catalog import source, walk
from ukai.kit.errors import ToolFailed
from ukai.kit.finding import Finding, errors
from ukai.runtime.tools import ToolSpec

Handler = Callable[..., Any]


def _nobody() -> str:
    raise ToolFailed("nothing is called on anybody's behalf here")


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the file finds without importing it. Both read under the rights of whoever is calling at the time."""

    embed: Callable[[str], Any]
    """Text -> vector."""
    get_index: Callable[[str], Any]
    """Name -> something with `query(vector=, top_k=, include_metadata=, filter=)`."""
    credential: Callable[[], str] = _nobody
    """The secret for the tool that is being called, of whoever it is called for."""


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """The tools of one file, each with the function behind it."""

    specs: Mapping[str, ToolSpec]
    handlers: Mapping[str, Handler]


def load(path: Path, *, name: str, given: Given) -> tuple[Toolset | None, list[Finding]]:
    """Read, then run the file at `path`; `name` is how people see it. With error findings, None comes back."""
    raw, findings = walk.read(walk.File(path=name, real=path))
    if raw is None:
        return None, findings
    declared, more = source.read(raw, name=name)
    findings += more
    if errors(findings):
        return None, findings
    module = ModuleType(f"ukai_tools_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}")
    there = {"json": json, "embed": given.embed, "get_index": given.get_index, "credential": given.credential}
    vars(module).update({"__file__": str(path), **there})
    sys.modules[module.__name__] = module  # dataclasses and pickle look a class's module up by name
    try:
        exec(compile(raw, str(path), "exec"), vars(module))  # noqa: S102 - running it is what serving means
    except (Exception, SystemExit) as error:  # whatever a team's code raises is theirs to repair, and stays theirs
        del sys.modules[module.__name__]
        return None, [*findings, _failed(error, path, name)]
    handlers, more = _handlers(module, declared)
    return (None if more else Toolset(specs=declared.specs, handlers=handlers)), [*findings, *more]


def _handlers(module: ModuleType, declared: source.Declared) -> tuple[dict[str, Handler], list[Finding]]:
    given: Any = vars(module).get("HANDLERS", {})
    table = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    found: dict[str, Handler] = {}
    findings: list[Finding] = []
    for name in declared.specs:
        handler = table.get(name, vars(module).get(name))
        if callable(handler):
            found[name] = handler
            continue
        findings.append(
            Finding(
                code="handler_missing",
                where=declared.places[name],
                message=f"after loading, there is no function for {name!r}",
                expected=f'HANDLERS = {{"{name}": ...}}',
                received=repr(handler)[:80],
                hint="let HANDLERS name a function",
            )
        )
    return found, findings


def _failed(error: BaseException, path: Path, name: str) -> Finding:
    """At the innermost line of the file itself, wherever below it the error was raised."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    frame = frames[-1] if frames else None
    return Finding(
        code="tools_failed",
        where=f"{name}:{frame.lineno or 1 if frame else 1}:{(frame.colno or 0) + 1 if frame else 1}",
        message=f"loading the file raised {type(error).__name__}: {error}",
        expected="a file that loads without an error",
        hint="keep work out of the module's top level; do it in the functions",
    )
