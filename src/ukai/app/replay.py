"""`ukai gate replay`: deltas from a file against a schema from a file, on an empty database that is thrown away.

Nothing of a workspace is read or written. Everything is allowed: what is tried out is the schema, not the rights.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ukai import gate, store
from ukai.app import db, propose, workspace
from ukai.gate import author as authors
from ukai.gate import contract as contracts
from ukai.gate import domains, render
from ukai.gate.author import Author
from ukai.graph import domain_file
from ukai.kit import document, shape, strict_json
from ukai.kit.clock import Clock, SystemClock
from ukai.kit.finding import Finding, errors
from ukai.store import scratch

Status = Literal["committed", "rejected", "unreadable"]
Progress = Callable[[str], None]
EVERY = 200
"""Lines between two signs of life."""
_LINE = strict_json.Limits(bytes=16 << 20, depth=64)


@dataclass(frozen=True, kw_only=True)
class _Author:
    __pydantic_config__ = shape.STRICT
    kind: authors.Kind
    id: str
    run: str = ""
    step: str = ""


@dataclass(frozen=True, kw_only=True)
class _Line:
    __pydantic_config__ = shape.STRICT
    id: str | int
    author: str | _Author
    delta: Any
    contract: Any = None
    context: Mapping[str, str] = field(default_factory=dict[str, str])
    expect: Literal["committed", "rejected"] | None = None
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one line."""

    id: str
    status: Status
    body: Mapping[str, Any]
    """The commit, or `{"findings": [..]}`."""
    codes: tuple[str, ...] = ()
    """Of the errors, each once."""
    expect: str | None = None
    expected_codes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Not what the line expects: another outcome, or a rejection without one of the codes. Unreadable ones do."""
        if self.status == "unreadable" or (self.expect and self.status != self.expect):
            return True
        return self.status == "rejected" and not set(self.expected_codes) <= set(self.codes)

    def as_json(self) -> dict[str, Any]:
        """One entry of `lines`."""
        expected = {"expect": self.expect, "expected_codes": list(self.expected_codes)} if self.expect else {}
        return {"id": self.id, "status": self.status, **expected, "differs": self.differs, **self.body}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of all of them."""

    results: tuple[Result, ...]
    dry_run: bool
    findings: tuple[Finding, ...] = ()
    """Of the schema; with an error nothing was replayed."""

    @property
    def failed(self) -> bool:
        """A schema with errors, or a line that came out otherwise than expected."""
        return bool(errors(self.findings)) or any(r.differs for r in self.results)

    def as_json(self) -> dict[str, Any]:
        """`{"lines", "committed", "rejected", "unreadable", "codes", "results", "differ"}`."""
        by = Counter(r.status for r in self.results)
        codes = Counter(c for r in self.results for c in r.codes)
        return {
            "lines": len(self.results),
            "dry_run": self.dry_run,
            **{s: by[s] for s in ("committed", "rejected", "unreadable")},
            "codes": dict(sorted(codes.items(), key=lambda item: (-item[1], item[0]))),
            "findings": [f.as_json() for f in self.findings],
            "results": [r.as_json() for r in self.results],
            "differ": [r.id for r in self.results if r.differs],
        }

    def text(self) -> str:
        """Counts, then what differs, with its reasons."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (str(f) for f in self.findings)
        counts = self.as_json()
        yield ", ".join(f"{counts[k]} {k}" for k in ("lines", "committed", "rejected", "unreadable"))
        yield from (f"  {n:>6}  {code}" for code, n in counts["codes"].items())
        differing = [r for r in self.results if r.differs]
        yield f"{len(differing)} differ from what was expected"
        for result in differing:
            wanted = " ".join(filter(None, (result.expect, ", ".join(result.expected_codes)))) or "anything readable"
            yield f"  {result.id}: {result.status} {', '.join(result.codes)} (expected {wanted})"
            for found in result.body.get("findings", ())[:3]:
                yield f"      {found['where'] or '/'}: [{found['code']}] {found['message']}"


def replay(
    path: Path,
    *,
    schema: Path,
    deltas: Path,
    dry_run: bool = False,
    progress: Progress = lambda _: None,
    clock: Clock | None = None,
) -> Report:
    """Every line of `deltas`, in order, under the domain of `schema`. Raises Unreadable, and what the database raises.

    With `dry_run` each line is judged against the empty database and leaves nothing for the next.
    """
    domain, findings = domain_file.read(propose.read_file(schema), name=schema.name)
    lines = propose.read_file(deltas).splitlines()
    if domain is None:
        return Report(results=(), dry_run=dry_run, findings=tuple(findings))
    with _database(path, progress) as url:
        results = asyncio.run(_all(url, domain, lines, dry_run, progress, clock or SystemClock()))
    return Report(results=tuple(results), dry_run=dry_run, findings=tuple(findings))


@contextmanager
def _database(path: Path, progress: Progress) -> Generator[str]:
    """An empty database: beside the one that is configured, else on a server of its own."""
    try:
        here = db.site(path)
    except workspace.NoWorkspace:
        progress("starting a database of its own")
        with scratch.alone() as url:
            yield url
        return
    with scratch.beside(here.reach()) as url:
        yield url


async def _all(
    url: str, domain: Any, lines: Sequence[bytes], dry_run: bool, progress: Progress, clock: Clock
) -> list[Result]:
    found: list[Result] = []
    async with store.connect(url, max_size=2) as database:
        intake = Author(kind="human", id="replay")
        done = await domains.upload(database, domain, author=intake, at=clock.now())
        assert done.domain is not None, done.findings  # the database is empty
        for number, raw in enumerate(lines, 1):
            if raw.strip():
                found.append(await _one(database, number, raw, dry_run, clock))
            if number % EVERY == 0:
                progress(f"{number} of {len(lines)} deltas")
    return found


async def _one(database: store.Database, number: int, raw: bytes, dry_run: bool, clock: Clock) -> Result:
    line, contract, findings = _read(number, raw)
    if line is None:
        told = {"findings": [f.as_json() for f in findings]}
        return Result(id=f"line {number}", status="unreadable", body=told, codes=tuple({f.code for f in findings}))
    answer = await gate.submit(
        database,
        line.delta,
        author=_author(line.author),
        rights=gate.ALL,
        clock=clock,
        contract=contract,
        context=line.context,
        dry_run=dry_run,
    )
    if isinstance(answer, gate.Committed):
        body, codes = answer.as_json(), ()
        body.pop("status")
    else:
        body = {"findings": render.rejected(answer.rejections)["findings"]}
        codes = tuple(dict.fromkeys(r.code for r in render.errors_of(answer.rejections)))
    return Result(
        id=str(line.id),
        status="committed" if isinstance(answer, gate.Committed) else "rejected",
        body=body,
        codes=codes,
        expect=line.expect,
        expected_codes=line.codes,
    )


def _read(number: int, raw: bytes) -> tuple[_Line | None, contracts.Contract | None, list[Finding]]:
    data, findings = strict_json.loads(raw, _LINE)
    if findings:
        return None, None, findings
    doc = document.Document(name=f"line {number}", data=data)
    line, findings = shape.parse(doc, _Line)
    if line is None:
        return None, None, findings
    findings = [
        *findings,
        *(_context(doc, name, value) for name, value in line.context.items() if not propose.names_record(value)),
    ]
    contract = None
    if line.contract is not None:
        contract, more = shape.parse(doc, contracts.Contract, at="/contract")
        findings += more
    return (None if errors(findings) else line), contract, findings


def _context(doc: document.Document, name: str, value: str) -> Finding:
    return Finding(
        code="invalid_value",
        where=doc.where(f"/context{document.pointer(name)}"),
        message=f"the context {name!r} is neither a handle nor an id",
        expected="Type#key",
        received=value,
        hint="write the handle of a record",
    )


def _author(given: str | _Author) -> Author:
    """`agent:clerk`, or somebody by their name: then a human."""
    if isinstance(given, _Author):
        return Author(kind=given.kind, id=given.id, run=given.run, step=given.step)
    kind, colon, name = given.partition(":")
    for known in authors.KINDS:
        if colon and kind == known and name:
            return Author(kind=known, id=name)
    return Author(kind="human", id=given)
