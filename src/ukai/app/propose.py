"""`ukai propose` and `POST /mutations`: one delta to the gate, and what came of it in the forms that doors show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from ukai import gate
from ukai.app import desk as desks
from ukai.gate import delta_schema as schemas
from ukai.gate import limits, render
from ukai.gate.contract import Contract
from ukai.gate.rejection import Rejection, reject
from ukai.kit import document, handle, shape, strict_json
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding

MAX_BYTES = limits.LIMITS.bytes
MAX_KEY = limits.LIMITS.key
ENOUGH = MAX_BYTES + 1
"""No delta, contract or domain is read further than that: a pipe may have no end, and this is too large already."""
RETRY_AFTER_S = 1
"""Locks are waited for within the gate for less than that."""


class Unreadable(PermanentError):
    """A file that was named cannot be read."""


class NotFit(PermanentError):
    """A contract that has findings. They are told with it."""

    def __init__(self, name: str, findings: Sequence[Finding]) -> None:
        super().__init__(f"{name} is no contract: " + "; ".join(map(str, findings)))
        self.findings = tuple(findings)


@dataclass(frozen=True, kw_only=True)
class Given:
    """A delta as it came in, and where its parts stand."""

    value: Any
    """Plain data, or the bytes of JSON text: those are for the gate to read."""
    doc: document.Document | None = None
    """With the marks of a file's lines, where there are any."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A commit, a passed dry run or a rejection."""

    answer: gate.Committed | gate.Rejected
    given: Given = Given(value=None)

    @property
    def is_refused(self) -> bool:
        """Nothing was written, or would be."""
        return isinstance(self.answer, gate.Rejected)

    @property
    def status(self) -> int:
        """The HTTP status; a dry run has the one that the commit would have."""
        return self.problem()["status"] if isinstance(self.answer, gate.Rejected) else 200

    @property
    def retry_after_s(self) -> int | None:
        """After which time the same delta may be sent again, if that is all that is needed."""
        if not isinstance(self.answer, gate.Rejected):
            return None
        stopping = render.errors_of(self.answer.rejections)
        return RETRY_AFTER_S if stopping and all(r.repair == "resend" for r in stopping) else None

    def as_json(self) -> dict[str, Any]:
        """The document of formats §4."""
        if isinstance(self.answer, gate.Rejected):
            return {**render.rejected(self.answer.rejections), "attempt": self.answer.attempt}
        return self.answer.as_json()

    def problem(self) -> dict[str, Any]:
        """The rejection as `application/problem+json`."""
        rejected = cast("gate.Rejected", self.answer)
        return {**render.problem(rejected.rejections), "attempt": rejected.attempt}

    def text(self) -> str:
        """For a person at a terminal."""
        return "\n".join(
            _refused(self.answer, self.given) if isinstance(self.answer, gate.Rejected) else _done(self.answer)
        )


async def run(
    path: Path,
    file: Path | None,
    raw: bytes,
    *,
    named: str | None,
    dry_run: bool = False,
    contract: Path | None = None,
    context: Mapping[str, str] | None = None,
) -> Outcome | list[Finding]:
    """Propose what stands in a file (`file` is None for what was piped in). Findings when it is not even YAML or JSON.

    Raises NotFit, Unreadable, NoWorkspace, NobodyActs, MayNotImpersonate.
    """
    given, findings = read(raw, name=file.name if file else "stdin")
    if given is None:
        return findings
    promised = None if contract is None else read_contract(read_file(contract, most=ENOUGH), name=contract.name)
    async with desks.opened(path, named=named, max_size=2) as desk:
        return await submit(desk, given, dry_run=dry_run, contract=promised, context=context)


async def submit(
    desk: desks.Desk,
    given: Given,
    *,
    key: str = "",
    dry_run: bool = False,
    contract: Contract | None = None,
    context: Mapping[str, str] | None = None,
) -> Outcome:
    """Propose as whoever stands at the desk. `key` is an idempotency key that came beside the delta."""
    value = given.value
    if key:
        value, clash = _keyed(value, key)
        if clash is not None:
            return Outcome(answer=gate.Rejected(rejections=(clash,)), given=given)
    answer = await gate.submit(
        desk.db,
        value,
        author=desk.standing.author,
        rights=desk.rights,
        clock=desk.clock,
        contract=contract,
        context=context,
        dry_run=dry_run,
    )
    return Outcome(answer=answer, given=given)


def read(raw: bytes, *, name: str) -> tuple[Given | None, list[Finding]]:
    """A delta in a file: JSON goes to the gate as it is, anything else is read as YAML."""
    doc, findings = document.read(raw, name=name)
    if name.endswith(".json") or raw.lstrip()[:1] in (b"{", b"["):
        return Given(value=raw, doc=doc), []
    return (None, findings) if doc is None else (Given(value=doc.data, doc=doc), [])


def read_contract(raw: bytes, *, name: str) -> Contract:
    """A contract in YAML or JSON, `{produces: {deltas: [..]}}`. Raises NotFit."""
    doc, findings = document.read(raw, name=name)
    contract, more = shape.parse(doc, Contract) if doc is not None else (None, [])
    if contract is None:
        raise NotFit(name, [*findings, *more])
    return contract


def read_context(pairs: Sequence[str]) -> dict[str, str]:
    """`name=Type#key` or `name=<id>`, pair by pair. Raises ValueError with what is wrong."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not (name and sign and value):
            raise ValueError(f"{pair!r} is no name=value")
        if not names_record(value):
            raise ValueError(f"{value!r} is neither a handle (Type#key) nor an id")
        found[name] = value
    return found


def delta_schema(*, refs: str) -> dict[str, Any]:
    """The form of a delta as JSON Schema, its definitions under `$defs`; `refs` is where they will stand."""
    return schemas.schema(refs=refs)


def names_record(text: str) -> bool:
    """Whether it is a handle or an id: what a context holds."""
    if handle.parse(text) is not None:
        return True
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def read_file(path: Path, *, most: int = -1) -> bytes:
    """The bytes of a file, the first `most` of them. Raises Unreadable."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise Unreadable(f"{str(path)!r} cannot be read ({error.strerror})", hint="name a file that is there") from None


def _keyed(value: Any, key: str) -> tuple[Any, Rejection | None]:
    """The delta with the key in it. One that cannot be read stays as it is: the gate says why."""
    data: Any = value
    if isinstance(value, bytes):
        read, _ = strict_json.loads(value, strict_json.Limits(bytes=MAX_BYTES, depth=limits.LIMITS.depth))
        data = read
    if not isinstance(data, dict):
        return value, None
    members = cast("dict[str, Any]", data)
    given = members.get("key", "")
    if given in ("", key):
        return {**members, "key": key}, None
    return value, reject(
        "malformed_delta",
        where="/key",
        message="the key in the delta is not the one in the header Idempotency-Key",
        expected=repr(key),
        received=repr(given),
        hint="send one key, in one of the two places",
        layer=0,
    )


def _done(answer: gate.Committed) -> Iterator[str]:
    if answer.dry_run:
        yield "valid: nothing was written (dry run)"
        yield from (f"  would {c.get('op', 'change')} {c.get('handle', '')}".rstrip() for c in answer.would_change)
    else:
        yield f"{'committed before' if answer.replayed else 'committed'}: {answer.commit}"
        width = max((len(n) for n in answer.nodes), default=0)
        for name, node in answer.nodes.items():
            yield f"  {name:<{width}}  {node.handle}  version {node.version}"
    yield from (str(w) for w in answer.warnings)


def _refused(answer: gate.Rejected, given: Given) -> Iterator[str]:
    stopping = len(render.errors_of(answer.rejections))
    yield f"rejected: {stopping} problem{'' if stopping == 1 else 's'}, nothing was written"
    yield from render.lines(_placed(r, given.doc) for r in answer.rejections)


def _placed(rejection: Rejection, doc: document.Document | None) -> Rejection:
    """With the line and column of the file, where it has some."""
    is_pointer = rejection.where == "" or rejection.where.startswith("/")
    if doc is None or not doc.marks or not is_pointer:
        return rejection
    place = doc.where_key(rejection.where) if rejection.code == "unknown_field" else doc.where(rejection.where)
    return replace(rejection, where=f"{place} {rejection.where or '/'}")
