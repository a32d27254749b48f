"""The proof that the scenes prove something: the commit function is broken on purpose, and each time some turn red.

The functions are taken from the test's own database, one piece of their text is replaced, and they are put back. There
is no switch for this in the product.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
import pytest

from tests.gate import world
from tests.gate.races import scenes
from ukai import store

Edit = Callable[[str], str]


def swap(old: str, new: str) -> Edit:
    return lambda text: text.replace(old, new)


@dataclass(frozen=True, kw_only=True)
class Sabotage:
    name: str
    edits: dict[str, Edit]
    """Function -> what is done to its text."""
    settings: tuple[str, ...] = ()
    caught_by: tuple[scenes.Scene, ...] = field(default=())
    """Scenes that must turn red, every one of them."""


IN_LOCK = """select id into got from (
                select node.id, set_config('sabotage.n' || replace(node.id::text, '-', ''),
                    (select count(*) from edge e where e.src = node.id and e.type = 'road' and e.gone = 0)::text, true)
                from node where node.id = want.id for no key update) x;"""

SABOTAGES = (
    Sabotage(
        name="repeatable read",
        edits={"gate_open": swap("current_setting('transaction_isolation') <> 'read committed'", "false")},
        settings=("default_transaction_isolation = 'repeatable read'",),
        caught_by=(scenes.the_last_place_is_given_once, scenes.no_edge_leads_to_what_is_being_deleted),
    ),
    Sabotage(
        name="locks in the order of the delta",
        edits={
            "gate_lock": lambda text: re.sub(
                r"select id, max\(mode\).*?order by id\n",
                "select id, mode from unnest(ids, modes) with ordinality w(id, mode, place)"
                " where id is not null and mode > 0 order by place\n",
                text,
                flags=re.DOTALL,
            )
        },
        caught_by=(scenes.two_in_opposite_order_do_not_wait_for_each_other,),
    ),
    Sabotage(
        name="no locks",
        edits={"gate_lock": lambda text: re.sub(r" for (no key update|key share|share|update);", ";", text)},
        caught_by=(
            scenes.the_last_place_is_given_once,
            scenes.no_edge_leads_to_what_is_being_deleted,
            scenes.readers_are_not_taken_from_what_is_changing,
            scenes.lists_that_many_append_to_have_one_history,
        ),
    ),
    Sabotage(
        name="no second check",
        edits={"gate_close": swap("problems := gate_check(plan, nodes, edges, o);", "problems := null;")},
        caught_by=(
            scenes.the_last_place_is_given_once,
            scenes.a_stale_write_is_a_conflict_after_the_wait,
            scenes.no_edge_leads_to_what_is_being_deleted,
            scenes.lists_that_many_append_to_have_one_history,
        ),
    ),
    Sabotage(
        name="no claims",
        edits={"gate_open": swap("o.taken := gate_claim(plan, nodes, edges, o);", "o.taken := null;")},
        caught_by=(scenes.a_unique_value_is_taken_once,),
    ),
    Sabotage(
        name="counted in the locking statement",
        edits={
            "gate_lock": swap("select id into got from node where id = want.id for no key update;", IN_LOCK),
            "gate_check_counts": swap(
                "(select count(*) from edge e where e.src = node and e.type = total.type and e.gone = 0)",
                "current_setting('sabotage.n' || replace(node::text, '-', ''), true)::bigint",
            ),
        },
        caught_by=(scenes.the_last_place_is_given_once,),
    ),
    Sabotage(
        name="neighbours locked too weakly for their readers",
        edits={"gate_lock": swap("for share", "for key share")},
        caught_by=(scenes.readers_are_not_taken_from_what_is_changing,),
    ),
    Sabotage(
        name="deletions lock like updates",
        edits={"gate_lock": swap("for update", "for no key update")},
        caught_by=(scenes.nothing_is_deleted_from_under_a_new_edge,),
    ),
    Sabotage(
        name="no key of its own",
        edits={"gate_open": swap("if plan ? 'key' then", "if false then")},
        caught_by=(scenes.one_key_in_two_hands_has_one_effect,),
    ),
    Sabotage(
        name="the schema is not held",
        edits={"gate_schema": swap("pg_advisory_xact_lock_shared(hashtextextended(", "length((")},
        caught_by=(scenes.a_schema_does_not_change_under_a_commit,),
    ),
)


async def commit_sabotage(url: str, sabotage: Sabotage) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        for name, edit in sabotage.edits.items():
            cursor = await connection.execute("select pg_get_functiondef(%s::regproc)", (name,))
            ((sound,),) = await cursor.fetchall()
            broken = edit(sound)
            assert broken != sound, f"{name} no longer holds what {sabotage.name!r} breaks"
            await connection.execute(broken.encode())
        for setting in sabotage.settings:
            base = connection.info.dbname
            await connection.execute(f'alter database "{base}" set {setting}'.encode())


CASES = [(s, scene) for s in SABOTAGES for scene in s.caught_by]


@pytest.mark.parametrize(("sabotage", "scene"), CASES, ids=[f"{s.name}: {c.__name__}" for s, c in CASES])
async def test_a_broken_commit_is_caught(sabotage: Sabotage, scene: scenes.Scene, database_url: str):
    await commit_sabotage(database_url, sabotage)
    async with store.connect(database_url) as db:
        await world.upload(db)

        wrong = await scene(db, database_url)

    assert wrong, f"{scene.__name__} does not notice: {sabotage.name}"
