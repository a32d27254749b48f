"""What comes broken: every row that cannot be read or stored is told, kept as it came, and the others come in (X3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.connect import world
from ukai import store
from ukai.connect import csv, source

JSONL: dict[str, Any] = {"source": {"kind": "jsonl", "files": "*.jsonl"}}
BIG = "x" * (source.MAX_CELL + 1)


@pytest.fixture
async def db(database: store.Database) -> store.Database:
    await world.upload(database)
    return database


CSV = {
    "a byte order mark": (b"\xef\xbb\xbfid,name\n1,A\n", ["1"], []),
    "ends of lines of another system": (b"id,name\r\n1,A\r\n2,B\r\n", ["1", "2"], []),
    "old ends of lines": (b"id,name\r1,A\r2,B\r", ["1", "2"], []),
    "UTF-16": ("id,name\n1,Ä\n".encode("utf-16"), ["1"], []),
    "UTF-16, big end first": (b"\xfe\xff" + "id,name\n1,A\n".encode("utf-16-be"), ["1"], []),
    "UTF-16 that does not say so": ("id,name\n1,A\n".encode("utf-16-le"), [], ["invalid_header"]),
    "a byte that is no text": (b"id,name\n1,A\xff\n2,B\n", ["2"], ["format_invalid"]),
    "NUL": (b"id,name\n1,A\x00\n2,B\n", ["2"], ["format_invalid"]),
    "cells too many and too few": (b"id,name\n1,A,x\n2\n3,C\n", ["3"], ["ragged_row", "ragged_row"]),
    "text after a quote": (b'id,name\n1,"A"x\n2,B\n', ["2"], ["row_unreadable"]),
    "a quote that is never closed": (b'id,name\n1,A\n2,"B\n3,C\n', ["1"], ["row_unreadable"]),
    "lines inside a cell": (b'id,name\n1,"A\nB"\n', ["1"], []),
    "empty lines": (b"id,name\n\n1,A\n\n\n", ["1"], []),
    "a large cell": (f"id,name\n1,{BIG}\n2,B\n".encode(), ["2"], ["too_large"]),
    "a column twice": (b"id,name,name\n1,A,B\n", [], ["invalid_header"]),
    "a column without a name": (b"id,name,\n1,A,B\n", [], ["invalid_header"]),
    "nothing": (b"", [], ["invalid_header"]),
    "no key": (b"id,name\n,A\n2,B\n", ["2"], ["key_missing"]),
    "keys that separate": (b"id,name\na:b/c#d e%,A\n", ["a%3Ab%2Fc%23d%20e%25"], []),
}


@pytest.mark.parametrize("name", CSV)
async def test_broken_tables(db: store.Database, tmp_path: Path, name: str):
    raw, keys, codes = CSV[name]
    world.write(tmp_path, raw)

    report = await world.pulled(db, tmp_path)

    assert list(await world.nodes(db)) == keys
    told = [c for r in report.refused for c in r.codes]
    assert told + [f.code for f in report.findings if f.code not in told] == codes
    held = await world.held(db)
    assert len(held) == report.counts["refused"] == report.counts["read"] - len(keys)
    assert all(json.loads(h.source) is not None for h in held)


LINES = {
    "no JSON": ('{"id": "1"', "json_syntax"),
    "NaN": ('{"id": "1", "name": "A", "arr": NaN}', "json_constant"),
    "a key twice": ('{"id": "1", "id": "2", "name": "A"}', "duplicate_key"),
    "a list": ('["1", "A"]', "row_unreadable"),
    "half a pair": ('{"id": "1", "name": "\\ud800"}', "lone_surrogate"),
    "NUL": ('{"id": "1", "name": "A\\u0000"}', "format_invalid"),
    "too deep": ('{"id": "1", "name": ' + "[" * 200 + "]" * 200 + "}", "too_deep"),
    "deeper than is stored": ('{"id": "1", "arr": ' + "[" * 40 + "]" * 40 + "}", "too_deep"),
    "a long number": ('{"id": "1", "arr": ' + "9" * 2000 + "}", "number_too_long"),
    "a large line": (json.dumps({"id": "1", "name": BIG}), "too_large"),
    "another kind": ('{"id": "1", "name": {"first": "A"}}', "type_mismatch"),
    "no name": ('{"id": "1"}', "null_not_allowed"),
}


@pytest.mark.parametrize("name", LINES)
async def test_broken_lines(db: store.Database, tmp_path: Path, name: str):
    line, code = LINES[name]
    world.write(tmp_path, f'{{"id": "0", "name": "before"}}\n{line}\r\n\n{{"id": "9", "name": "after"}}', "a.jsonl")

    report = await world.pulled(db, tmp_path, world.connector(**JSONL))

    assert list(await world.nodes(db)) == ["0", "9"]
    (held,) = await world.held(db)
    assert (held.codes, held.place) == ((code,), "a.jsonl:2")
    assert report.counts["refused"] == 1
    came = json.loads(held.source)
    assert came == line[: source.KEPT] if held.is_raw else came == json.loads(line)


async def test_what_cannot_be_read_on_is_told_and_nothing_is_taken_for_missing(
    db: store.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv, "MAX_ROW", 4_096)
    made = world.connector(missing="tombstone")
    world.write(tmp_path, "id,name\n1,A\n2,B\n")
    await world.pulled(db, tmp_path, made)
    world.write(tmp_path, 'id,name\n1,A\n"' + "x,y\n" * 2_000)

    report = await world.pulled(db, tmp_path, made)

    assert report.is_failed
    assert [f.code for f in report.findings] == ["row_unreadable"]
    assert list(await world.nodes(db)) == ["1", "2"]
    (tmp_path / "a.csv").unlink()
    gone = await world.pulled(db, tmp_path, made)
    assert [f.code for f in gone.findings] == ["glob_matches_nothing"]
    assert list(await world.nodes(db)) == ["1", "2"]


async def test_expressions_that_fail_cost_their_row(db: store.Database, tmp_path: Path):
    made = world.connector(map={"key": "row.id", "set": {"name": "row.name", "since": "date(row.since)"}})
    world.write(tmp_path, "id,name,since\n1,A,soon\n2,B,2026-01-05\n")

    await world.pulled(db, tmp_path, made)

    assert await world.nodes(db) == {"2": {"id": "2", "name": "B", "since": "2026-01-05"}}
    (held,) = await world.held(db)
    assert held.codes == ("no_value",)
    assert "'soon' is no date" in held.findings[0]["message"]
