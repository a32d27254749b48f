"""`ukai db erase` and `ukai db retain`: what is forgotten because somebody asked, and because its time is over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import desk as desks
from ukai.app import loading
from ukai.app.evals import folder
from ukai.catalog.settings import Retention
from ukai.context.rows import compositions
from ukai.gate import audit, erase, review
from ukai.kit import principal
from ukai.kit.errors import PermanentError

LARGEST = 2 << 20
"""Files above that are no text that somebody wrote."""


class Nobody(PermanentError):
    """Who is to be erased is not named as anybody."""

    hint = "write the mail address, and other words by which they go with --also"


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """What went, or would go."""

    done: erase.Erased
    evaluations: int
    """Files of evaluations in which the person was masked."""
    files: tuple[str, ...]
    """Files of the workspace that still name the person: they are the company's to change."""

    def as_json(self) -> dict[str, Any]:
        """`{"mark", "dry_run", "counts", "files"}`."""
        found = self.done.as_json()
        if self.evaluations:
            found["counts"]["evaluations"] = self.evaluations
        return {**found, "files": list(self.files)}

    def lines(self) -> Iterator[str]:
        """For a person."""
        counts = self.as_json()["counts"]
        yield "would be erased (nothing was changed; --yes does it):" if self.done.dry_run else "erased:"
        yield from (f"  {count:>8} {name.replace('_', ' ')}" for name, count in counts.items())
        if not counts:
            yield "  nothing in the database names them"
        elif not self.done.dry_run:
            yield f"in their place stands {self.done.mark}; dumps and backups that were made before still hold them"
        yield from (f"still named in {name}" for name in self.files)


async def erased(
    path: Path, person: str, *, names: Sequence[str] = (), named: str | None = None, sure: bool = False
) -> Erasure:
    """Erase somebody from the workspace's database and evaluations; without `sure` only count. Raises Nobody."""
    who = principal.canonical(person)
    if who is None or principal.kind_of(who) not in ("person", "service"):
        raise Nobody(f"{person!r} names nobody")
    if any(len(name.strip()) < 3 for name in names):
        raise Nobody("a word of fewer than three characters is found in everybody's texts")
    async with desks.opened(path, named=named, max_size=2) as desk:
        words = [name.strip() for name in names]
        done = await erase.erase(
            desk.db, who, names=words, author=desk.standing.author, clock=desk.clock, dry_run=not sure
        )
        masked = sum(folder.forget(desk.root, word) for word in (who, *words)) if sure else 0
        return Erasure(done=done, evaluations=masked, files=tuple(_naming(desk.root, (who, *words))))


def _naming(root: Path, words: Sequence[str]) -> Iterator[str]:
    """The files of the workspace in which one of the words stands, but those of this machine and of version control."""
    wanted = [w.casefold() for w in words]
    for folder_, inner, files in os.walk(root):
        inner[:] = sorted(d for d in inner if not d.startswith("."))
        for name in sorted(files):
            file = Path(folder_, name)
            if not file.is_symlink() and file.stat().st_size <= LARGEST:
                text = file.read_bytes().decode("utf-8", "replace").casefold()
                if any(w in text for w in wanted):
                    yield file.relative_to(root).as_posix()


async def retained(path: Path, *, named: str | None = None) -> dict[str, Any]:
    """Let go of what is older than `retention` in ukai.yaml allows; items of review expire. Needs no right: the file
    decides. `{"runs", "compositions", "attempts", "keys", "review_items"}`; None where nothing says how long.
    """
    async with desks.opened(path, named=named, max_size=2) as desk:
        rule = loading.load(desk.root).catalog.settings.retention
        now = desk.clock.now()
        since = {name: _since(rule, name, now) for name in ("runs", "compositions", "attempts", "keys")}
        gone: dict[str, int | None] = dict.fromkeys(since)
        if (before := since["runs"]) is not None:
            gone["runs"] = await _runs(desk, before)
        if (before := since["compositions"]) is not None:
            async with desk.db.transaction() as tx:
                gone["compositions"] = await compositions.delete_compositions(tx, before)
        if since["attempts"] is not None or since["keys"] is not None:
            begin = datetime(1, 1, 2, tzinfo=now.tzinfo)
            attempts, keys = await audit.forget(
                desk.db, attempts_before=since["attempts"] or begin, keys_before=since["keys"] or begin
            )
            gone |= {"attempts": attempts} if since["attempts"] else {}
            gone |= {"keys": keys} if since["keys"] else {}
        return {**gone, "review_items": await review.expire(desk.db, clock=desk.clock)}


def _since(rule: Retention, name: str, now: datetime) -> datetime | None:
    days = rule.days(name)
    return None if days is None else now - timedelta(days=days)


async def _runs(desk: desks.Desk, before: datetime) -> int:
    total = 0
    while True:
        async with desk.db.transaction() as tx:
            gone = await record.retain(tx, since=before)
        total += gone
        if gone == 0:
            return total
