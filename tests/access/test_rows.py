"""The same rights in SQL and in Python (formats §6): for random worlds, both find the same records."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from tests.access import oracle, worlds
from tests.access.test_cases import AGENTS, FOLDER, LINES, RECORDS
from ukai import access
from ukai.access import OwningEdge
from ukai.access.record import includes
from ukai.kit import glob

OWNING = (
    OwningEdge(edge="about", owned_side="from"),
    OwningEdge(edge="holds", owned_side="to"),
    OwningEdge(edge="both", owned_side="from"),
    OwningEdge(edge="both", owned_side="to"),
)
SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

NODES: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from((*worlds.TYPES, *worlds.TYPES, "Ghost")),
            "path": st.sampled_from(worlds.PATHS),
            "readers": worlds.maybe(st.lists(st.sampled_from(worlds.EVERYBODY), max_size=2)),
            "props": worlds.PROPS,
            "state": st.sampled_from((None, None, "ann@x.com", "1")),
            "alive": st.sampled_from((True, True, True, False)),
        }
    ),
    min_size=1,
    max_size=8,
)
EDGES = st.lists(
    st.tuples(
        st.sampled_from(("about", "holds", "both", "other")),
        st.integers(0, 7),
        st.integers(0, 7),
        st.sampled_from((True, True, True, False)),
    ),
    max_size=8,
    unique_by=lambda e: e[:3],
)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url) as open_connection:
        yield open_connection


def store(connection: psycopg.Connection, nodes: Any, edges: Any) -> None:
    with connection.cursor() as cursor:
        for i, n in enumerate(nodes):
            cursor.execute(
                "insert into node (id, domain, type, key, path, readers, props, state, alive)"
                " values (%s, 'd', %s, %s, %s, %s, %s, %s, %s)",
                (UUID(int=i), n["type"], str(i), n["path"], n["readers"], Jsonb(n["props"]), n["state"], n["alive"]),
            )
        for i, (kind, source, target, alive) in enumerate(edges):
            cursor.execute(
                "insert into edge (id, domain, type, src, dst, alive) values (%s, 'd', %s, %s, %s, %s)"
                " on conflict do nothing",
                (UUID(int=i), kind, UUID(int=source % len(nodes)), UUID(int=target % len(nodes)), alive),
            )


def loaded(connection: psycopg.Connection) -> dict[str, access.Record]:
    """The records as a careful loader would hand them over, with owners up to four edges away."""
    rows = {
        row[0]: row[1:]
        for row in connection.execute("select id, type, key, path, readers, props, state from node where alive")
    }
    above: dict[UUID, list[UUID]] = {}
    for kind, source, target in connection.execute("select type, src, dst from edge where alive"):
        for owning in OWNING:
            if owning.edge == kind:
                owned, owner = (source, target) if owning.owned_side == "from" else (target, source)
                if owner in rows:
                    above.setdefault(owned, []).append(owner)

    def record(id: UUID, depth: int) -> access.Record:
        kind, key, path, readers, props, state = rows[id]
        return access.Record(
            type=kind,
            key=key,
            path=path,
            fields=props if state is None else {**props, "state": state},
            readers=None if readers is None else frozenset(readers),
            owners=tuple(record(o, depth - 1) for o in above.get(id, ())) if depth else (),
        )

    return {row[1]: record(id, access.OWNERS_DEPTH) for id, row in rows.items()}


def found(connection: psycopg.Connection, rights: access.Rights) -> set[str]:
    """In both ways: each row for itself, and all of them together."""
    text, params = rights.sql("n", OWNING)
    one_by_one = keys(connection, f"n.alive and {text}", params)
    together = rights.sql_among(("array(select id from node)", []), OWNING)
    if together is not None:
        assert keys(connection, f"n.id = any({together[0]})", together[1]) == one_by_one
    return one_by_one


def agree_on_fields(connection: psycopg.Connection, rights: access.Rights, records: dict[str, access.Record]) -> None:
    """What is read of some record, of all that are read at all, and of each."""
    reading = rights.reading
    for field in (*worlds.FIELDS, "state"):
        text, params = rights.sql_field(field, "n", OWNING)
        listed = [t for t in (*worlds.TYPES, "Ghost") if includes(reading.listed(t), field)]
        found = keys(connection, f"n.alive and n.type = any(%s) and {text}", [listed, *params])
        having = {key: r for key, r in records.items() if field in r.fields}
        shown = {key for key, r in having.items() if includes(rights.fields(r), field)}
        assert found & having.keys() == shown
        assert all(reading.most(having[key].type, frozenset((field,))) for key in shown)
        sure = {key for key, r in having.items() if reading.always(r.type, field) and rights.read(r).allowed}
        assert sure <= shown


def keys(connection: psycopg.Connection, text: str, params: Any) -> set[str]:
    return {row[0] for row in connection.execute(f"select n.key from node n where {text}", params)}  # type: ignore


@SLOW
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, tells=worlds.TELLS, one=worlds.ALLOWLISTS, named=worlds.NAMED,
    audience=worlds.AUDIENCES, nodes=NODES, edges=EDGES, types=st.sampled_from((worlds.KNOWN, None)),
)  # fmt: skip
def test_sql_and_python_find_the_same_records(
    connection, groups, policies, tells, one, named, audience, nodes, edges, types
):
    folder, _ = worlds.folder(groups, worlds.numbered([*policies, *tells]), one=one, types=types)
    rights = folder.rights(folder.audience(audience), "bot", named)
    try:
        store(connection, nodes, edges)
        records = loaded(connection)

        assert found(connection, rights) == {key for key, r in records.items() if rights.read(r).allowed}
        agree_on_fields(connection, rights, records)
        told, params = rights.sql_tell("n", OWNING)
        tellable = {key for key, r in records.items() if rights.tell(r) & r.fields.keys()}
        assert keys(connection, f"n.alive and {told}", params) == tellable
    finally:
        connection.rollback()


@SLOW
@given(
    policies=worlds.ABOUT_OWNERS | worlds.ABOUT_FIELDS,
    nodes=NODES,
    edges=EDGES.filter(bool),
)
def test_sql_and_python_agree_along_owning_edges_and_where_single_fields_are_left(connection, policies, nodes, edges):
    folder, _ = worlds.folder({"groups": {}}, policies)
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")
    try:
        store(connection, nodes, edges)
        records = loaded(connection)

        assert found(connection, rights) == {key for key, r in records.items() if rights.read(r).allowed}
        agree_on_fields(connection, rights, records)
    finally:
        connection.rollback()


def test_a_field_that_is_withheld_of_a_row_is_not_told_of_it(connection):
    public = {"records": {"types": ["A"]}, "to": ["public"]}
    policies = [
        {"id": "a", "tell": ["owner"], **public},
        {"id": "b", "deny": "read", **public, "fields": ["owner"], "where": {"f": "x"}},
    ]
    folder, _ = worlds.folder({"groups": {}}, policies)
    node = {"type": "A", "path": "", "readers": None, "state": None, "alive": True}
    store(connection, [node | {"props": {"owner": "ann", "f": f}} for f in "xy"], [])

    text, params = folder.rights(folder.audience(["ann@x.com"]), "bot").sql_tell("n", OWNING)

    assert keys(connection, text, params) == {"1"}


LINKS: dict[str, Any] = {
    "gives": {"type": "A"},
    "gives, dead": {"type": "A", "alive": False},
    "gives, closed": {"type": "A", "readers": []},
    "takes": {"type": "B"},
    "neither": {"type": "C"},
}


def test_every_chain_of_owners_is_decided_alike(connection):
    """By each row for itself, by all together, by the last ones alone, and in Python."""
    policies = [
        {"id": "a", "allow": "read", "records": {"types": ["A"]}, "to": ["public"], "and_owned": True},
        {"id": "b", "deny": "read", "records": {"types": ["B"]}, "to": ["public"], "and_owned": True},
    ]
    folder, findings = worlds.folder({"groups": {}}, policies)
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")
    chains = [("neither", *c) for n in (1, 2, 3) for c in itertools.product(LINKS, repeat=n)]
    chains += [("neither", *["neither"] * n, *end) for n in (2, 3, 4) for end in itertools.product(LINKS, repeat=2)]
    nodes: list[Any] = []
    edges: list[Any] = []
    for chain in chains:
        edges += [("about", len(nodes) + i, len(nodes) + i + 1, True) for i in range(len(chain) - 1)]
        nodes += [{"path": "", "readers": None, "props": {}, "state": None, "alive": True} | LINKS[c] for c in chain]
    store(connection, nodes, edges)
    first = [UUID(int=n) for n, node in enumerate(nodes) if n == 0 or (n - 1, n) not in {e[1:3] for e in edges}]

    expected = {key for key, r in loaded(connection).items() if rights.read(r).allowed}
    alone = rights.sql_among(("%s::uuid[]", [first]), OWNING)

    assert findings == []
    assert 100 < len(expected) < len(nodes) - 100
    assert found(connection, rights) == expected
    assert alone is not None
    assert keys(connection, f"n.id = any({alone[0]})", alone[1]) == expected & {str(id.int) for id in first}


def test_a_record_of_which_no_field_may_be_read_is_not_read_however_it_is_asked(connection):
    """By what is granted less what is denied, by what the field policy lists besides, by what its type declares."""
    node = {"type": "A", "path": "", "readers": None, "props": {"f": "x", "g": 1}, "state": None, "alive": True}
    low, bare, other = node | {"props": {"f": "low"}}, node | {"props": {"g": 1}}, node | {"type": "C"}
    store(connection, [node, low, bare, other], [("about", 3, 1, True)])
    records = loaded(connection)
    some = {"allow": "read", "records": {"types": ["A", "C"]}, "to": ["public"], "fields": ["f"]}
    every = {k: v for k, v in some.items() if k != "fields"}
    low_only = {"deny": "read", "records": {"types": ["A"]}, "to": ["public"], "where": {"f": "low"}}

    def read(*policies: Any, one: Any = None, types: Any = worlds.KNOWN) -> set[str]:
        folder, _ = worlds.folder({"groups": {}}, worlds.numbered(list(policies)), one=one, types=types)
        rights = folder.rights(folder.audience(["ann@x.com"]), "bot", one and "one")
        seen = {key for key, r in records.items() if rights.visible(r)}
        assert found(connection, rights) == seen == {key for key, r in records.items() if rights.read(r).allowed}
        return seen

    assert read(some) == {"0", "1", "2", "3"}
    assert read(some, low_only | {"fields": ["f", "g"]}) == {"0", "2", "3"}
    assert read(some, low_only | {"fields": ["f"], "and_owned": True}) == {"0", "2"}
    assert read(every, low_only | {"fields": ["f", "g"]}) == {"0", "1", "2", "3"}
    assert read(every, low_only | {"fields": ["f", "g"]}, types={"A": {"f", "g"}, "C": {"f"}}) == {"0", "2", "3"}
    either = [low_only | {"fields": ["f"]}, low_only | {"fields": ["g"], "where": {"g": 1}}]
    assert read(some | {"fields": ["f", "g"]}, *either) == {"0", "1", "2", "3"}
    assert read(some, one={"version": 1, "allow": {"A": ["g"], "C": ["f"]}}) == {"3"}
    assert read(some, types={"A": {"g"}, "C": {"f"}}) == {"3"}


def test_whoever_may_read_whole_records_is_asked_about_no_field():
    every = {"allow": "read", "records": {"types": ["A", "C"]}, "to": ["public"]}
    less = {"deny": "read", "records": {"types": ["A"]}, "to": ["public"], "where": {"g": 1}, "fields": ["f"]}
    folder, _ = worlds.folder({"groups": {}}, worlds.numbered([every, less]))
    one, _ = worlds.folder({"groups": {}}, worlds.numbered([every]))

    texts = [f.rights(f.audience(["ann@x.com"]), "bot").sql("n", OWNING)[0] for f in (folder, one)]

    assert texts[0] == texts[1]
    assert "props" not in texts[0]


def test_an_owner_of_many_rows_is_asked_once(connection):
    policies = [
        {
            "id": "a",
            "allow": "read",
            "records": {"types": ["A"]},
            "to": ["public"],
            "where": {"f": "x"},
            "and_owned": True,
        },
    ]
    folder, _ = worlds.folder({"groups": {}}, policies)
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")
    node = {"path": "", "readers": None, "props": {"f": "x"}, "state": None, "alive": True}
    store(
        connection,
        [node | {"type": "C" if n else "A"} for n in range(300)],
        [("about", n, 0, True) for n in range(1, 300)],
    )
    among = rights.sql_among(("%s::uuid[]", [[UUID(int=n) for n in range(1, 300)]]), OWNING)
    assert among is not None

    rows = connection.execute(
        f"explain (analyze, format json) select from node n where n.id = any({among[0]})", among[1]
    )
    asked = [step for step in steps(rows.fetchone()[0][0]["Plan"]) if step.get("Alias") == "n_o"]

    assert len(keys(connection, f"n.id = any({among[0]})", among[1])) == 299
    assert [(step["Actual Loops"], step["Actual Rows"]) for step in asked] == [(1, 1)]


def steps(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from steps(inner)


def test_the_table_of_cases_holds_in_sql_too(connection):
    handles = list(RECORDS)
    nodes = [
        {
            "type": r.type,
            "path": r.path,
            "readers": None if r.readers is None else sorted(r.readers),
            "props": {k: v for k, v in r.fields.items() if k != "state"},
            "state": r.fields.get("state"),
            "alive": True,
        }
        for r in RECORDS.values()
    ]
    edges = [
        ("about", i, handles.index(owner.handle), True) for i, r in enumerate(RECORDS.values()) for owner in r.owners
    ]
    store(connection, nodes, edges)

    for who, agent in {(who, agent) for who, agent, asks, _, _ in LINES if asks.startswith("read")}:
        rights = FOLDER.rights(FOLDER.audience([] if who == "nobody" else who.split(", ")), agent, AGENTS[agent])
        seen = {handles[int(key)] for key in found(connection, rights)}
        assert seen == {h for h, r in RECORDS.items() if rights.read(r).allowed}, (who, agent)


ODD = "ab/*?.+()[]{}^$|\\-_%'\"\n\té́😀 :="


@SLOW
@given(
    patterns=st.lists(st.text(alphabet=ODD, max_size=10), min_size=1, max_size=8),
    paths=st.lists(st.text(alphabet=ODD, max_size=10), min_size=1, max_size=8),
)
def test_globs_mean_the_same_in_postgresql(connection, patterns, paths):
    globs = [glob.compile(p) for p in patterns]

    rows = connection.execute(
        "select p, g, (p || '/') ~ g from unnest(%s::text[]) p, unnest(%s::text[]) g", (paths, [g.sql for g in globs])
    ).fetchall()

    assert {(p, g): m for p, g, m in rows} == {(p, g.sql): g.matches(p) for p in paths for g in globs}


def test_no_value_becomes_part_of_the_text(connection):
    hostile = "x' or true --"
    folder, findings = worlds.folder(
        {"groups": {}},
        [
            {
                "id": "a", "allow": "read", "to": ["public"], "where": {hostile: [hostile, "caller.id"]},
                "records": {"types": ["A"], "paths": ["'; drop table node; --/**"]},
            }
        ],
        types=None,
    )  # fmt: skip
    assert findings == []

    text, params = folder.rights(folder.audience(["o'ann@x.com"]), "bot").sql("n", OWNING)

    assert set(re.findall(r"'[^']*'", text)) <= {"'array'", "':'", "'{}'", "'/'", "''"}
    assert text.count("%s") == len(params)
    assert hostile in params
    assert connection.execute(f"select count(*) from node n where {text}", params).fetchone() == (0,)
    with pytest.raises(ValueError, match="not an alias"):
        folder.rights(folder.audience(["public"]), "bot").sql('n"; drop table node; --')


def test_nobody_reads_nothing_in_sql_too():
    folder, _ = worlds.folder({"groups": {}}, [])

    assert folder.rights(folder.audience([]), "bot").sql() == ("false", [])
    assert folder.rights(folder.audience(["ann@x.com"]), "bot").sql() == ("false", [])


def test_the_loader_of_this_test_reaches_four_edges(connection):
    nodes = [{"type": "A", "path": "", "readers": None, "props": {}, "state": None, "alive": True}] * 6
    store(connection, nodes, [("about", i, i + 1, True) for i in range(5)])

    assert len(oracle.above(loaded(connection)["0"], 9)) == 4
