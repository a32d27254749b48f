"""A person erased from everything the database holds (P3, W11). What stands there afterwards is a mark, and a tombstone
that says who erased, when and how much; never whom.

Not a delta: keys and history change, which nothing else may. Records that are about nobody but the person keep what
their type demands and lose the rest. What a person wrote stays, by the mark's name. Only the record room touches runs.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ukai import record, store
from ukai.gate import domains, rows
from ukai.gate.author import Author
from ukai.graph.catalogue import Catalogue
from ukai.kit import ids
from ukai.kit.clock import Clock

_TEXT_KINDS = ("string", "text")


@dataclass(frozen=True, kw_only=True)
class Erased:
    """What an erasure came to, or would."""

    mark: str
    """What stands in the person's place."""
    counts: Mapping[str, int]
    """records, own_records, edges, changes, runs (removed), runs_masked, and rows by table."""
    dry_run: bool

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"mark": self.mark, "dry_run": self.dry_run, "counts": dict(self.counts)}


async def erase(
    db: store.Database,
    person: str,
    *,
    names: Sequence[str] = (),
    author: Author,
    clock: Clock,
    dry_run: bool = False,
    entropy: ids.Entropy = os.urandom,
) -> Erased:
    """Remove a canonical principal, and other words by which they go (a full name, a handle).

    One transaction: all of it or nothing. A dry run is the same, rolled back, with the same counts. Whole words count,
    letter case does not: `ann@example.com` is not found in `joann@example.com`.
    """
    at = clock.now()
    name = f"erased-{entropy(4).hex()}"
    words = {_pattern(person): f"{name}@erased.invalid" if "@" in person else name}
    words |= {_pattern(w): name for w in names}
    patterns, marks = list(words), list(words.values())
    catalogue = await domains.known(db, fresh=True)
    commit, id = ids.time_ordered(at, entropy=entropy), ids.time_ordered(at, entropy=entropy)
    async with rows.tried(db, keep=not dry_run) as tx:
        runs = [await record.erase(tx, word, at=at) for word in (person, *names)]
        counts: dict[str, int] = dict(
            await rows.erase_graph(tx, patterns=patterns, marks=marks, own=_own(catalogue), commit=commit, at=at)
        )
        counts |= {"runs": sum(r.removed for r in runs), "runs_masked": max(r.masked for r in runs)}
        # Embeddings are found by their passages, so they go before the texts are rewritten.
        for found in (
            await rows.drop_rows(tx, patterns=patterns),
            await rows.mask_columns(tx, patterns=patterns, marks=marks),
        ):
            for table, count in found.items():
                counts[table] = counts.get(table, 0) + count
        by = marks[0] if re.fullmatch(re.escape(person), author.id, re.IGNORECASE) else author.id
        await rows.save_erasure(tx, id=id, commit=commit, at=at, kind=author.kind, author=by, mark=name, counts=counts)
    if not dry_run:
        await rows.vacuum(db, ["node", "edge", "change", "change_text", "run", *_rewritten(counts)])
    return Erased(mark=name, counts={k: v for k, v in counts.items() if v}, dry_run=dry_run)


def _rewritten(counts: Mapping[str, int]) -> list[str]:
    figures = {"records", "own_records", "edges", "changes", "runs", "runs_masked"}
    return sorted(t for t, n in counts.items() if n and t not in figures)


def _own(catalogue: Catalogue) -> dict[str, Any]:
    """Type with a key of one field -> what a record about the person alone keeps, and which texts are blanked."""
    found: dict[str, Any] = {}
    for name in catalogue.types():
        compiled = catalogue.type(name)
        if compiled is not None and len(compiled.type.key) == 1:
            needed = [f for f in compiled.type.fields if f.required and f.key not in compiled.type.key]
            blank = [f.key for f in needed if f.kind in _TEXT_KINDS and not f.many and not f.any_of]
            keep = [*compiled.type.key, *(f.key for f in needed if f.key not in blank)]
            found[name] = {"keep": keep, "blank": blank}
    return found


def _pattern(word: str) -> str:
    """The whole word, in letters of any case, as text and inside JSON, as the database's patterns write it."""
    forms = dict.fromkeys((word, json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1]))
    return rf"(?<![\w.+-])(?:{'|'.join(map(_quoted, forms))})(?![\w-])"


def _quoted(text: str) -> str:
    return re.sub(r"\\? +", r"\\s+", re.sub(r"([^\w\s@-])", r"\\\1", text))
