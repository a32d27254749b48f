"""What stands against an undo, judged under its locks: who wrote there afterwards, and what hangs on what it deletes.

A later write counts while it is in force. One that was taken back itself does not, nor does the commit that took it
back: otherwise nothing could be undone in reverse order (docs/design/undo.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ukai import store
from ukai.gate import delta as deltas
from ukai.gate import judge as judges
from ukai.gate import rows
from ukai.gate.rejection import Rejection, reject

HIDDEN = "a record that you may not read"
Problem = rows.Answer
Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Guard:
    """`guard(tx, begun)` asks the judge, takes the commits back, and says what stands against it."""

    judge: judges.Judge
    undoing: deltas.Undoing

    async def __call__(self, tx: store.Transaction, begun: Mapping[str, Any]) -> list[Problem]:
        problems = await self.judge(tx, begun)
        by = UUID(self.judge.program.body["commit"])
        already = await rows.take_back(tx, self.undoing.commits, by=by)
        if already:
            return [{**_judged("", taken_back(row)), "alone": True} for row in already]
        later = await rows.later_writes(tx, self.undoing.touched)
        conflicts = [_judged(t.at, self._written_since(t, row)) for row in later for t in (self._touched(row),)]
        conflicts += await self._hanging(tx)
        conflicts += await self._taken(tx)
        # What the store would say beside a conflict only follows from it.
        return [{**p, "alone": True} for p in (*problems, *conflicts)] if conflicts else problems

    async def _taken(self, tx: store.Transaction) -> list[Problem]:
        """Keys of deleted records that somebody has given to new ones."""
        back = {(row["type"], row["key"]): row["at"] for row in self.judge.program.nodes if row.get("revives")}
        going = [UUID(row["id"]) for row in self.judge.program.nodes if row["act"] == "delete"]
        found = await rows.holders(tx, list(back), without=going) if back else []
        return [
            _judged(
                at, _conflict(row, at, f"{row['type']}#{row['key']} was made anew afterwards", [], type=row["type"])
            )
            for row in found
            for at in (back[row["type"], row["key"]],)
        ]

    def _touched(self, row: Row) -> deltas.Touched:
        return self.undoing.touched[int(row["place"])]

    def _written_since(self, touched: deltas.Touched, row: Row) -> Rejection:
        record = self.judge.records.get(str(touched.id))
        fields = [touched.field] if touched.field else [f for f in row["fields"] if not f.startswith("@")]
        shown = [f for f in fields if record is None or self.judge.rights.read(record, f).allowed]
        what = ", ".join(shown) or "what you may not read of it"
        if row["op"] != "update":
            what = "all of it"
        done = {"create": "made again", "delete": "deleted"}.get(row["op"], "changed")
        where = touched.at + (f"/set/{touched.field}" if touched.field in shown and touched.field != "state" else "")
        return _conflict(row, where, f"{row['handle']}: {what} was {done} afterwards", shown, type=row["type"])

    async def _hanging(self, tx: store.Transaction) -> list[Problem]:
        """What others have attached since to a record that the undo deletes: it would be torn off without a word."""
        at = {UUID(row["id"]): row["at"] for row in self.judge.program.nodes if row["act"] == "delete"}
        if not at:
            return []
        gone = [t.id for t in self.undoing.touched if t.kind == "edge"]
        found = await rows.attached(tx, list(at), without=gone)
        named = await self._pointing(tx, list(at))
        ids = {str(r["other"]) for r in found} | {str(r["id"]) for r in named} | {str(id) for id in at}
        handles = await rows.handles(tx, sorted(ids), self.judge.rights)

        def name(id: UUID) -> str:
            return handles.get(str(id), HIDDEN)

        problems: list[Problem] = []
        for row in found:
            told = f"{name(row['node'])} has since been given the edge {row['type']} with {name(row['other'])}"
            problems.append(_judged(at[row["node"]], _conflict(row, at[row["node"]], told, [], type=row["type"])))
        by_handle = {handles.get(str(id), ""): place for id, place in at.items()}
        for row in named:
            place = by_handle.get(row["named"], "")
            problems.append(_judged(place, _named(place, row, name(row["id"]))))
        return problems

    async def _pointing(self, tx: store.Transaction, nodes: Sequence[UUID]) -> list[Row]:
        """Records that name a deleted one in a field which this undo leaves alone."""
        types = {r.type for id in nodes if (r := self.judge.records.get(str(id)))}
        handles = [f"{r.type}#{r.key}" for id in nodes if (r := self.judge.records.get(str(id)))]
        fields = list(self._refs(types))
        if not fields:
            return []
        going = {*nodes, *(t.id for t in self.undoing.touched if t.kind == "node" and not t.field)}
        reset = {(t.id, t.field) for t in self.undoing.touched}
        found = await rows.pointing(tx, handles, fields)
        return [r for r in found if r["id"] not in going and (r["id"], r["field"]) not in reset]

    def _refs(self, types: set[str]) -> Iterator[tuple[str, str]]:
        for name in self.judge.catalogue.types():
            compiled = self.judge.catalogue.type(name)
            for field in compiled.refs if compiled else ():
                if not field.to or field.to in types:
                    yield name, field.key


def taken_back(row: Row) -> Rejection:
    """The rejection of a commit that is taken back already; `by` is the commit that did it."""
    return reject(
        "already_undone",
        where="",
        message=f"the commit {row['id']} was taken back by {_by(row)} (commit {row['by']})",
        expected="a commit that is in force",
        received=str(row["id"]),
        hint=f"nothing is left to do; to have it back, undo the commit {row['by']}",
        expected_value={"undone_by": str(row["by"])},
        layer=3,
    )


def _conflict(row: Row, where: str, told: str, fields: Sequence[str], *, type: str) -> Rejection:
    return reject(
        "conflict",
        where=where,
        message=f"{told}, by {_by(row)} (commit {row['commit']})",
        expected="no later write that is in force",
        received=str(row["commit"]),
        hint=f"undo the commit {row['commit']} first, or write by hand what is meant",
        layer=3,
        op="undo",
        type=type,
        field=fields[0] if len(fields) == 1 else "",
        expected_value={
            "fields": list(fields),
            "commit": str(row["commit"]),
            "author": f"{row['author_kind']}:{row['author_id']}",
            "at": row["at"].isoformat().replace("+00:00", "Z"),
        },
    )


def _named(where: str, row: Row, who: str) -> Rejection:
    return reject(
        "conflict",
        where=where,
        message=f"{row['named']} is named by {who} in the field {row['field']}",
        expected="no record that names it",
        received=who,
        hint="give that field another value first",
        layer=3,
        op="undo",
        field=row["field"],
        expected_value={"fields": [row["field"]], "holder": who},
    )


def _by(row: Row) -> str:
    return f"{row['author_kind']} {row['author_id']} at {row['at'].isoformat(timespec='seconds')}"


def _judged(where: str, rejection: Rejection) -> Problem:
    return {"code": "judged", "where": where, "rejection": rejection}
