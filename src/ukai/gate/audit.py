"""Refused attempts are kept too (W10): each in a transaction of its own, because the one it was refused in is gone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import ukai.kit.errors as failures
from ukai import store
from ukai.gate import rejection, rows
from ukai.gate.author import Author
from ukai.graph.catalogue import Catalogue
from ukai.kit import canonical, ids, strict_json

TEXT_KEPT = 64 << 10
"""Characters of a text that is no delta."""
DEPTH_KEPT = 100
BITS_KEPT = 4_000


class AuditFailed(failures.TemporaryError):
    """A proposal was refused, and that could not be written down. `rejections` say why it was refused."""

    hint = "nothing of the delta was written; look at the database, then propose it again"

    def __init__(self, why: str, *, rejections: Sequence[rejection.Rejection]) -> None:
        super().__init__(f"a refused attempt could not be recorded: {why}")
        self.rejections = tuple(rejections)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One refused proposal."""

    id: UUID
    at: datetime
    author: Author
    key: str
    number: int
    """Counted within the author's run and step, or within the key; 1 when there is neither."""
    codes: tuple[str, ...]
    fingerprints: tuple[str, ...]
    findings: tuple[Mapping[str, Any], ...]
    body: Any
    """The delta as it was submitted, the values of sensitive fields masked."""


async def refused(
    db: store.Database,
    *,
    author: Author,
    source: Any,
    key: str,
    rejections: Sequence[rejection.Rejection],
    catalogue: Catalogue,
    at: datetime,
    entropy: ids.Entropy,
) -> int:
    """Record a refused attempt; its number. Raises AuditFailed when that cannot be done."""
    body = storable(kept(source, catalogue))
    try:
        async with db.transaction() as tx:
            return await written(tx, author=author, body=body, key=key, rejections=rejections, at=at, entropy=entropy)
    except (failures.UkaiError, rows.Fault) as error:
        raise AuditFailed(str(error), rejections=rejections) from error


async def written(
    tx: store.Transaction,
    *,
    author: Author,
    body: Any,
    key: str,
    rejections: Sequence[rejection.Rejection],
    at: datetime,
    entropy: ids.Entropy,
) -> int:
    """The same inside a transaction that goes on: of a bulk, whose other rows are written with it. `body` is what was
    refused, masked (`kept`).
    """
    found = [r for r in rejections if r.severity == "error"]
    body = storable(body)
    return await rows.save_attempt(
        tx,
        id=ids.time_ordered(at, entropy=entropy),
        at=at,
        author=author,
        key=key,
        hash=hash_of(body),
        codes=sorted({r.code for r in found}),
        fingerprints=list(rejection.fingerprints(found)),
        findings=[storable(r.as_json()) for r in rejections],
        body=body,
    )


async def attempts(tx: store.Transaction, *, author: str = "", run: str = "", limit: int = 100) -> list[Attempt]:
    """Refused attempts, newest first, of an author (by id) or a run if given."""
    return [
        Attempt(
            id=r["id"],
            at=r["at"],
            author=Author(kind=r["author_kind"], id=r["author_id"], run=r["run"] or "", step=r["step"] or ""),
            key=r["key"] or "",
            number=r["number"],
            codes=tuple(r["codes"]),
            fingerprints=tuple(r["fingerprints"]),
            findings=tuple(r["findings"]),
            body=r["body"],
        )
        for r in await rows.attempts(tx, author=author, run=run, limit=limit)
    ]


async def top_codes(tx: store.Transaction, *, window: rows.Window, limit: int = 20) -> list[tuple[str, str, int]]:
    """(author id, code, attempts) with the most attempts: what writers stumble over."""
    return await rows.top_codes(tx, window, limit)


async def forget(db: store.Database, *, attempts_before: datetime, keys_before: datetime) -> tuple[int, int]:
    """Retention: how many refused attempts and how many used keys were let go.

    A delta that is sent again under a forgotten key is a new delta: keep keys for longer than anybody retries.
    """
    async with db.transaction() as tx:
        return await rows.forget_attempts(tx, attempts_before), await rows.forget_keys(tx, keys_before)


def hash_of(source: Any) -> str:
    """sha256 of the submitted delta without its key: the same proposal under another key is the same proposal."""
    if isinstance(source, dict):
        source = {k: v for k, v in cast("dict[str, Any]", source).items() if k != "key"}
    return canonical.sha256(source)


def kept(source: Any, catalogue: Catalogue) -> Any:
    """The delta with the values of every field masked that is sensitive in any type: what was meant may be unknown.

    Text is read first. Where that fails nothing says what in it is which field: it is masked whole if any is sensitive.
    """
    names = {f.key for d in catalogue.domains.values() for f in _fields(d.types, d.edges) if f.sensitive}
    if isinstance(source, bytes | bytearray):
        source = source.decode("utf-8", "replace")
    if isinstance(source, str):
        value, found = strict_json.loads(source)
        if not found:
            return _masked(value, names)
        return rejection.MASK if names else rejection.cut(source, TEXT_KEPT)
    return _masked(source, names) if names else source


def _fields(*parts: Iterable[Any]) -> Iterable[Any]:
    return (f for part in parts for declared in part for f in declared.fields)


def _masked(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        inner = cast("dict[str, Any]", value)
        return {k: rejection.MASK if k in names and v is not None else _masked(v, names) for k, v in inner.items()}
    if isinstance(value, list):
        return [_masked(v, names) for v in cast("list[Any]", value)]
    return value


def storable(value: Any, depth: int = DEPTH_KEPT) -> Any:
    """What the database can hold of it: a proposal may be refused for the very reason that it could not be stored."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict | list | tuple) and depth == 0:
        return "…"
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return {storable(str(k)): storable(v, depth - 1) for k, v in members.items()}
    if isinstance(value, list | tuple):
        return [storable(v, depth - 1) for v in cast("list[Any]", value)]
    if isinstance(value, int):  # true and false are whole numbers too
        return value if value.bit_length() <= BITS_KEPT else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return None if value is None else storable(str(value))
