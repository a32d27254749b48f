"""One turn's record, kept durably while it happens: each part is committed before the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ukai.kit.clock import Clock
from ukai.record import rows
from ukai.record.draft import Draft, Part, RunSealed
from ukai.record.run import Call, Run, Start, Status
from ukai.store import Database


class Recorder:
    """A `Draft` whose entries are written to the database as they are added."""

    def __init__(self, db: Database, draft: Draft) -> None:
        self._db = db
        self._draft = draft
        self._turn = asyncio.Lock()
        """Tools run side by side; their entries are written one by one, in the order in which they are numbered."""

    @classmethod
    async def begin(cls, db: Database, start: Start, *, clock: Clock) -> Recorder:
        """Save the beginning."""
        draft = Draft(start, clock=clock)
        async with db.statements() as tx:
            await rows.begin(tx, draft.start)
        return cls(db, draft)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls so far, as they are kept."""
        return self._draft.calls

    async def add(self, *parts: Part) -> None:
        """Something happened. Raises RunSealed when the run has ended."""
        if not parts:
            return
        async with self._turn:
            entries = [self._draft.add(part) for part in parts]
            async with self._db.statements() as tx:
                await rows.append(tx, self._draft.start.run_id, entries)

    async def refer(self, kind: str, id: str) -> None:
        """A record kept elsewhere: `composition`, `decision`, `commit`; or a `note`."""
        async with self._turn:
            entry = self._draft.refer(kind, id)
            async with self._db.statements() as tx:
                await rows.append(tx, self._draft.start.run_id, [entry])

    async def seal(self, status: Status, *, reason: str = "", parts: Sequence[Part] = ()) -> Run:
        """End with `parts` and seal, in one transaction.

        Raises RunSealed when somebody closed it as abandoned meanwhile: that record then stands.
        """
        for part in parts:
            self._draft.add(part)  # the sealed run takes the place of its entries, so these need no rows of their own
        run, text = self._draft.written(status, reason=reason)
        async with self._db.statements() as tx:
            if not await rows.finish(tx, run, text):
                raise RunSealed(run.run_id)
        return run
