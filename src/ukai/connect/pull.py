"""One pull of a connector: rows of a source, in batches through the gate, each exactly once however often it is killed.

A batch, the rows of it that went to quarantine and how far the pull has come are one transaction. A pull that ended in
the middle goes on behind its last batch as long as the source is what it was, and begins again where that cannot be
known; what was taken in before is then recognised by its content and not proposed again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ukai import store
from ukai.connect import definition, proposing, report, rows
from ukai.connect.proposing import Mapped, Refused
from ukai.connect.source import Item, Row, Site, Unread
from ukai.gate import bulk, domains
from ukai.gate.author import Author
from ukai.gate.rights import Rights
from ukai.graph.catalogue import Catalogue, CompiledType
from ukai.kit import ids
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError, TemporaryError
from ukai.kit.finding import Finding, errors

MOST = 32 << 20
"""Characters of one batch: of long values a few rows make one, so that memory does not grow with them."""
SHOWN = 20
"""Refused rows that a report shows; the others wait in quarantine just as well."""
WAITING = "unknown_id"
"""Refused for what is not there yet: tried again at the end of the pull, when it may be."""
AGAIN = 10
"""Rounds of that: each lets in what hangs on the one before."""

Progress = Callable[[str], None]


class Busy(TemporaryError):
    """Somebody else pulls with this connector."""

    hint = "wait until it is done"


class NotUploaded(PermanentError):
    """The store does not know the type that the rows become, or knows another one by its name."""

    hint = "make the domain current with `ukai schema upload`"


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What a pull works with."""

    db: store.Database
    rights: Rights
    clock: Clock
    site: Site
    progress: Progress = lambda _: None
    entropy: ids.Entropy = os.urandom


async def run(
    bench: Bench, connector: definition.Connector, *, full: bool = False, dry_run: bool = False
) -> report.Report:
    """Pull once. `full` asks for everything again, whatever was taken in before.

    Raises Busy, NotUploaded, and what the database raises; what was taken in until then stays.
    """
    async with _alone(bench.db, connector.name):
        work = await _begun(bench, connector, full=full, dry_run=dry_run)
        return await work.run()


async def retry(bench: Bench, connector: definition.Connector, held: Sequence[rows.Held]) -> int:
    """Propose rows of the quarantine again under the present connector; how many of them do not wait any more.

    Text that could not be read as a row stays: only its source can be repaired.
    """
    async with _alone(bench.db, connector.name):
        work = await _begun(bench, connector, full=True, dry_run=False, again=True)
        await work.again(held)
        async with bench.db.transaction() as tx:
            return len(held) - await rows.still(tx, [h.id for h in held])


@asynccontextmanager
async def _alone(db: store.Database, name: str) -> AsyncGenerator[None]:
    async with db.statements() as tx:
        if not await rows.lock(tx, name):
            raise Busy(f"the connector {name!r} is being pulled already")
        try:
            yield
        finally:
            await rows.unlock(tx, name)


async def _begun(
    bench: Bench, connector: definition.Connector, *, full: bool, dry_run: bool, again: bool = False
) -> _Work:
    catalogue = await domains.known(bench.db, fresh=True)
    type = _type(connector, catalogue)
    author = Author(kind="connector", id=connector.principal)
    mapper = proposing.Mapper(connector=connector, type=type, author=str(author))
    at = bench.clock.now()
    source = "" if again else connector.source.fingerprint(bench.site)
    async with bench.db.transaction() as tx:
        before = await rows.last(tx, connector.name, "done")
        running = await rows.last(tx, connector.name, "running")
        resumed = running is not None and source != "" and running.source == source and not (full or dry_run or again)
        if again:
            pull = running or before or await rows.begin(tx, connector.name, _id(bench), source="", at=at)
        elif resumed and running is not None:
            pull = running
        elif dry_run:
            pull = rows.Pull(id=_id(bench), state="", source=source, position=0, cursor=None, columns=(), counts={})
        else:
            pull = await rows.begin(tx, connector.name, _id(bench), source=source, at=at)
    return _Work(
        bench=bench,
        connector=connector,
        catalogue=catalogue,
        mapper=mapper,
        author=author,
        pull=pull,
        full=full,
        dry_run=dry_run,
        known=frozenset(before.columns) if before is not None else None,
        since=None if full or before is None else before.cursor,
        resumed=pull.position if resumed else 0,
        position=pull.position if resumed else 0,
        cursor=pull.cursor if resumed or before is None else before.cursor,
        standalone=again,
        counts=Counter(pull.counts if resumed else {}),
    )


def _type(connector: definition.Connector, catalogue: Catalogue) -> CompiledType:
    name, given = connector.file.into.node_type, connector.file.map
    type = catalogue.type(name)
    if type is None:
        raise NotUploaded(f"no uploaded domain declares the type {name!r}")
    unknown = [n for n in given.set if n not in type.type.by_key]
    if unknown or len(given.keys) != len(type.type.key):
        what = f"no field {unknown[0]!r}" if unknown else f"a key of {len(type.type.key)} fields"
        raise NotUploaded(f"the uploaded type {name!r} has {what}")
    return type


def _id(bench: Bench) -> UUID:
    return ids.time_ordered(bench.clock.now(), entropy=bench.entropy)


@dataclass(kw_only=True)
class _Part:
    """What stands behind a lot."""

    rows: int = 0
    size: int = 0
    """Characters of its rows."""
    proposed: list[Mapped] = field(default_factory=list[Mapped])
    """In the order of the lot's proposals."""
    refused: list[tuple[Item, Refused]] = field(default_factory=list[tuple[Item, Refused]])
    met: list[str] = field(default_factory=list[str])
    counts: Counter[str] = field(default_factory=Counter[str])
    position: int = 0
    cursor: Any = None
    is_again: bool = False
    """A second try of rows in quarantine."""
    gone: list[str] = field(default_factory=list[str])
    """Of tombstones: the keys, in the order of the lot's proposals."""


@dataclass(kw_only=True)
class _Work:
    bench: Bench
    connector: definition.Connector
    catalogue: Catalogue
    mapper: proposing.Mapper
    author: Author
    pull: rows.Pull
    full: bool
    dry_run: bool
    known: frozenset[str] | None
    """The columns of the last pull; None when there was none."""
    since: Any
    """The cursor of the last pull."""
    resumed: int
    position: int
    cursor: Any
    counts: Counter[str]
    findings: dict[str, Finding] = field(default_factory=dict[str, Finding])
    shown: list[report.Shown] = field(default_factory=list[report.Shown])
    columns: set[str] = field(default_factory=set[str])
    recent: list[dict[str, bytes]] = field(default_factory=lambda: [{}, {}])
    """Key -> content of the rows of this batch and the one before, which may be under way."""
    standalone: bool = False
    """A second try by itself: no pull is under way."""
    keyless: bool = False
    """A row was refused of which nobody knows whose it is."""

    async def run(self) -> report.Report:
        try:
            await self._submit(self._lots(self._items()))
        except proposing.Stop as stop:
            self.findings["stop"] = stop.finding
        failed = bool(errors(self.findings.values()))
        if not self.dry_run:
            if not failed:
                await self._second()
                await self._tombstones()
            async with self.bench.db.transaction() as tx:
                state = "failed" if failed else "done"
                columns = sorted(self.columns | (self.known or set()))
                await rows.move(tx, self.pull.id, position=self.position, cursor=self.cursor, counts=self.counts)
                await rows.end(tx, self.pull.id, state=state, columns=columns, at=self.bench.clock.now())
        return self.reported()

    async def again(self, held: Sequence[rows.Held]) -> None:
        """Rows of the quarantine once more."""
        self.recent = [{}, {}]
        items = [Row(h.place, json.loads(h.source)) for h in held if not h.is_raw]
        await self._submit(self._lots(items, again=True))

    def reported(self) -> report.Report:
        return report.Report(
            connector=self.connector.name,
            counts={**_NONE, **{k: v for k, v in sorted(self.counts.items()) if v}},
            findings=tuple({**self.findings, **self.mapper.notes}.values()),
            refused=tuple(self.shown),
            resumed=self.resumed,
            dry_run=self.dry_run,
        )

    # Reading.

    def _items(self) -> Iterator[Item]:
        site = Site(root=self.bench.site.root, environ=self.bench.site.environ, cursor=self.since)
        for n, item in enumerate(self.connector.source.items(site)):
            if n >= self.resumed:
                yield item

    async def _lots(self, items: Iterable[Item], *, again: bool = False) -> AsyncIterator[bulk.Lot]:
        part, chunk = _Part(), list[Mapped]()
        taken = 0
        for item in items:
            taken += 1
            if taken % bulk.LOOK_UP == 0:
                await asyncio.sleep(0)
            self._take(item, part, chunk)
            part.rows += 1
            if part.rows == bulk.BATCH or part.size >= MOST:
                yield await self._lot(part, chunk, taken, again=again)
                part, chunk = _Part(), list[Mapped]()
        if part.rows:
            yield await self._lot(part, chunk, taken, again=again)

    def _take(self, item: Item, part: _Part, chunk: list[Mapped]) -> None:
        if isinstance(item, Unread):
            if item.ends:
                self.findings[item.place] = item.finding
            if item.raw or not item.ends:
                part.counts["read"] += 1
                part.refused.append((item, Refused(findings=(item.finding,))))
            return
        part.counts["read"] += 1
        if (stray := self._strays(item)) is not None:
            part.refused.append((item, stray))
            return
        found = self.mapper.mapped(item)
        part.size += 0 if isinstance(found, Refused) else found.size
        if isinstance(found, Refused):
            part.refused.append((item, found))
        elif self._is_behind(found):
            part.counts["skipped"] += 1
        else:
            self._further(found, part)
            self._once(item, found, part, chunk)

    def _strays(self, row: Row) -> Refused | None:
        """Columns that the source did not have before, as the connector's mode says."""
        read = self.connector.expressions.columns
        if self.connector.source.is_fixed and read is not None and not read <= row.values.keys():
            raise proposing.Stop(report.unknown_column(row, min(read - row.values.keys())))
        new = row.values.keys() - self.columns
        if not new:
            return None
        self.columns |= new
        strange = sorted(new - self.known) if self.known is not None else []
        mode = self.connector.file.mode.columns
        if strange and mode == "freeze":
            raise proposing.Stop(report.new_columns(row, strange, "error"))
        if strange and mode == "discard_row":
            self.columns -= set(strange)
            return Refused(findings=(report.new_columns(row, strange, "error"),))
        if strange:
            self.findings.setdefault(f"columns {strange}", report.new_columns(row, strange, "note"))
        return None

    def _is_behind(self, mapped: Mapped) -> bool:
        return self.since is not None and mapped.cursor is not None and _order(mapped.cursor) < _order(self.since)

    def _further(self, mapped: Mapped, part: _Part) -> None:
        best = part.cursor if part.cursor is not None else self.cursor
        if mapped.cursor is not None and (best is None or _order(mapped.cursor) > _order(best)):
            part.cursor = mapped.cursor

    def _once(self, item: Item, mapped: Mapped, part: _Part, chunk: list[Mapped]) -> None:
        """The first row of a record; a second one that says the same is no news, and one that says otherwise is only
        taken where a cursor tells which is newer.
        """
        earlier = self.recent[0].get(mapped.key) or self.recent[1].get(mapped.key)
        if earlier == mapped.content:
            part.counts["unchanged"] += 1
        elif earlier is not None and not self.connector.file.cursor:
            part.refused.append((item, Refused(findings=(report.twice(mapped),), key=mapped.key)))
        else:
            self.recent[0][mapped.key] = mapped.content
            chunk.append(mapped)

    # Proposing.

    async def _lot(self, part: _Part, chunk: list[Mapped], taken: int, *, again: bool) -> bulk.Lot:
        name, file = self.connector.name, self.connector.file
        async with self.bench.db.transaction() as tx:
            said = {} if again else await rows.said(tx, name, [m.key for m in chunk])
            fresh: list[Mapped] = []
            for mapped in chunk:
                content, pull = said.get(mapped.key, (b"", None))
                if content == mapped.content and (pull == self.pull.id or not self.full):
                    part.counts["unchanged"] += 1
                    part.met.append(mapped.key)
                elif pull == self.pull.id and not file.cursor and mapped.key not in self.recent[1]:
                    row = Row(mapped.place, dict(mapped.values))
                    part.refused.append((row, Refused(findings=(report.twice(mapped),), key=mapped.key)))
                else:
                    fresh.append(mapped)
            types = {n.type: t for m in fresh for n in m.named if (t := self.catalogue.type(n.type)) is not None}
            made = await proposing.proposals(tx, self.mapper, fresh, types)
        for mapped, proposal in zip(fresh, made, strict=True):
            if isinstance(proposal, Refused):
                part.refused.append((Row(mapped.place, dict(mapped.values)), proposal))
            else:
                part.proposed.append(mapped)
        self.recent = [{}, self.recent[0]]
        part.is_again = again
        part.position = self.resumed + taken
        key = "" if again else f"{self.pull.id}:{part.position}"
        return bulk.Lot(key=key, proposals=[p for p in made if isinstance(p, bulk.Proposal)], note=part)

    async def _submit(self, lots: AsyncIterator[bulk.Lot]) -> None:
        await bulk.submit_many(
            self.bench.db,
            lots,
            author=self.author,
            rights=self.bench.rights,
            clock=self.bench.clock,
            along=self._along,
            done=self._done,
            dry_run=self.dry_run,
            entropy=self.bench.entropy,
        )

    async def _along(self, tx: store.Transaction, batch: bulk.Batch) -> None:
        part: _Part = batch.lot.note
        name, pull, at = self.connector.name, self.pull.id, self.bench.clock.now()
        if part.gone:
            await rows.forget(tx, name, [k for n, k in enumerate(part.gone) if _is_gone(batch, n)])
        taken = [m for n, m in enumerate(part.proposed) if not batch.is_refused(n)]
        refused = _refused(batch)
        if taken:
            # The last of those that say something about one record.
            latest = {m.key: m.content for m in taken}
            await rows.say(tx, name, pull, list(latest), list(latest.values()))
            # A row that named no record is known by what it says.
            again = [_content(_source(m.values)) for m in taken] if part.is_again else []
            await rows.release(tx, name, list(latest), again)
        met = [*part.met, *(r.key for _, r in refused if r.key is not None)]
        if met:
            await rows.met(tx, name, pull, met)
        if refused:
            await rows.hold(tx, name, pull, [self._held(item, why) for item, why in refused], at)
        if not self.standalone:
            cursor = self.cursor if part.cursor is None else part.cursor
            position = self.position if part.is_again or part.gone else part.position
            await rows.move(
                tx, pull, position=position, cursor=cursor, counts=_summed(self.counts, self._counted(batch))
            )

    def _done(self, batch: bulk.Batch) -> None:
        part: _Part = batch.lot.note
        self.counts = _summed(self.counts, self._counted(batch))
        if not (part.is_again or part.gone):
            self.position = part.position
        if part.cursor is not None:
            self.cursor = part.cursor
        for item, why in _refused(batch):
            self.keyless = self.keyless or why.key is None
            if len(self.shown) < SHOWN and not part.is_again:
                first = errors(why.findings)[0]
                codes = tuple(dict.fromkeys(f.code for f in errors(why.findings)))
                self.shown.append(report.Shown(place=item.place, key=why.key, codes=codes, message=first.message))
        self.bench.progress(f"{self.connector.name}: {self.counts['read']} rows, {self.counts['refused']} refused")

    def _counted(self, batch: bulk.Batch) -> Counter[str]:
        """What the batch adds to the counts."""
        part: _Part = batch.lot.note
        counts = Counter({f"{kind}s_{_DONE[op]}": n for (kind, op), n in batch.changes.items()})
        taken = sum(not batch.is_refused(n) for n in range(len(part.proposed)))
        if part.is_again:  # they have been counted as read and refused
            return _summed(counts, Counter(written=taken, refused=-taken))
        if part.gone:
            kept = sum(not _is_gone(batch, n) for n in range(len(part.gone)))
            return _summed(counts, Counter(missing=len(part.gone), missing_kept=kept))
        return _summed(counts, part.counts, Counter(written=taken, refused=len(_refused(batch))))

    def _held(self, item: Item, why: Refused) -> dict[str, Any]:
        raw = isinstance(item, Unread)
        source = _source(item.raw if isinstance(item, Unread) else item.values)
        return {
            "id": _id(self.bench),
            "content": _content(source),
            "place": _storable(item.place),
            "key": None if why.key is None else _storable(why.key),
            "codes": sorted({f.code for f in errors(why.findings)}),
            "findings": [{k: _storable(v) for k, v in Finding.as_json(f).items()} for f in why.findings],
            "source": source,
            "is_raw": raw,
        }

    # What comes after the last row.

    async def _second(self) -> None:
        """Rows that were refused for something that was not there yet: perhaps it is now."""
        for _ in range(AGAIN):
            before, after = self.counts["written"], None
            while True:
                async with self.bench.db.transaction() as tx:
                    held = await rows.held(
                        tx,
                        connector=self.connector.name,
                        code=WAITING,
                        pull=self.pull.id,
                        after=after,
                        limit=bulk.BATCH,
                    )
                if not held:
                    break
                after = held[-1].id
                await self.again(held)
            if self.counts["written"] == before:
                return

    async def _tombstones(self) -> None:
        """Records that a full pull does not have any more. None, where it is not sure that it was one."""
        if self.connector.file.missing != "tombstone" or self.since is not None:
            return
        async with self.bench.db.transaction() as tx:
            if not await rows.unsaid(tx, self.connector.name, self.pull.id, "", 1):
                return
        if self.keyless or not self.counts["read"]:
            said = "a row whose key is not known" if self.keyless else "no row at all"
            self.findings["missing"] = report.not_sure(self.connector.where, said)
            return
        type = self.mapper.type.type.type

        async def lots() -> AsyncIterator[bulk.Lot]:
            after = ""
            while True:
                async with self.bench.db.transaction() as tx:
                    keys = await rows.unsaid(tx, self.connector.name, self.pull.id, after, bulk.BATCH)
                if not keys:
                    return
                after = keys[-1]
                deltas = [{"ops": [{"kind": "delete_node", "target": {"handle": f"{type}#{key}"}}]} for key in keys]
                sources = {"connector": self.connector.name}
                proposals = [bulk.Proposal(delta=d, provenance=sources) for d in deltas]
                yield bulk.Lot(key="", proposals=proposals, note=_Part(gone=keys, position=self.position))

        await self._submit(lots())


_NONE = {"read": 0, "written": 0, "refused": 0}
_DONE = {"create": "created", "update": "updated", "delete": "deleted"}
_GONE = frozenset({"unknown_id", "deleted_target"})


def _refused(batch: bulk.Batch) -> list[tuple[Item, Refused]]:
    """All rows of the batch that are refused: by the connector, and by the gate."""
    part: _Part = batch.lot.note
    return [
        *part.refused,
        *(
            (
                Row(m.place, dict(m.values)),
                Refused(findings=tuple(batch.rejections[n]), key=m.key),
            )
            for n, m in enumerate(part.proposed)
            if batch.is_refused(n)
        ),
    ]


def _is_gone(batch: bulk.Batch, n: int) -> bool:
    """Whether there is nothing left to delete."""
    return not batch.is_refused(n) or {r.code for r in errors(batch.rejections[n])} <= _GONE


def _summed(*parts: Counter[str]) -> Counter[str]:
    """The sum, which a plain `+` would rid of what is negative."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return total


def _order(value: Any) -> tuple[bool, Any]:
    """Numbers and texts each in their order, numbers first."""
    return (False, value) if isinstance(value, int | float) else (True, str(value))


def _source(came: Any) -> str:
    """What came, as it waits in quarantine."""
    return json.dumps(came, default=str)


def _content(source: str) -> bytes:
    return hashlib.blake2b(source.encode(), digest_size=16).digest()


def _storable(text: str) -> str:
    """What the database can hold of it; the row itself is kept in escapes."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
