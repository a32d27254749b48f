"""Whatever is refused is kept, and what must not be kept is masked, in whichever form it came (W10)."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.gate import world
from ukai import gate, store
from ukai.gate import audit

SECRET = {
    "ops": [
        {
            "kind": "create_node",
            "node_type": "House",
            "set": {"town": "a", "number": "x", "secret": "hidden-7"},
        }
    ]
}


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def forms(delta: dict[str, Any]) -> list[Any]:
    text = json.dumps(delta)
    return [delta, text, text.encode(), text.encode("utf-16"), text[:-1], text.encode() + b"\xff"]


@pytest.mark.parametrize("form", range(6))
async def test_a_sensitive_value_is_not_kept_in_any_form(database: store.Database, form: int):
    await world.upload(database)

    outcome = await gate.submit(database, forms(SECRET)[form], author=world.ANN, rights=gate.ALL, clock=world.CLOCK)

    assert isinstance(outcome, gate.Rejected)
    async with database.transaction() as tx:
        [attempt] = await audit.attempts(tx)
    kept = json.dumps(attempt.body)
    assert "hidden-7" not in kept.replace("\\ufffd", "")


@pytest.mark.parametrize(
    "source",
    [
        b"[\x00\x00",
        b"\xff\xfe[\x00]\x00",
        '{"ops": "\\u0000"}',
        {"ops": "\0", "a\0b": "\ud800"},
        {"ops": [float("nan")]},
        {"ops": 10**5000},
        {"ops": {1, 2}},
        {7: 8},
        nested(900),
        "x" * 2_000_000,
        None,
        b"",
    ],
    ids=lambda source: repr(source)[:20] if not isinstance(source, dict) else "data",
)
async def test_what_cannot_be_stored_is_refused_and_kept_all_the_same(database: store.Database, source: Any):
    outcome = await gate.submit(database, source, author=world.ANN, rights=gate.ALL, clock=world.CLOCK)

    assert isinstance(outcome, gate.Rejected)
    assert outcome.attempt == 1
    async with database.transaction() as tx:
        assert len(await audit.attempts(tx)) == 1


async def test_a_hundred_refused_operations_are_explained_with_as_many_statements_as_ten(
    database: store.Database, monkeypatch: pytest.MonkeyPatch
):
    await world.upload(database)
    names = [f"t{i}" for i in range(100)]
    await world.done(database, *(world.town(n) for n in names))
    await world.done(database, *(world.change(f"Town#{n}", size=1) for n in names))
    statements = _counted(monkeypatch)

    asked: list[int] = []
    for many in (10, 100):
        ops = [world.change(f"Town#{n}", size=2, if_version=1) for n in names[:many]]
        ops += [world.change(f"Town#x{n}", size=2) for n in names[:many]]
        before = len(statements)
        found = await world.refused(database, *ops, dry_run=True)
        asked.append(len(statements) - before)
        assert sorted(set(found)) == ["conflict", "unknown_id"]

    assert asked[0] == asked[1]


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One entry for each statement that is sent."""
    sent: list[None] = []
    plain = psycopg.AsyncCursor.execute

    async def execute(self: Any, *args: Any, **more: Any) -> Any:
        sent.append(None)
        return await plain(self, *args, **more)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", execute)
    return sent
