"""Random worlds for the laws: groups, policies, field policies and records over few names, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ukai import access
from ukai.kit.document import Document

TYPES = ("A", "B", "C")
FIELDS = ("f", "g", "owner")
PEOPLE = ("ann@x.com", "bob@x.com", "service:s")
GROUPS = ("group:g", "group:h", "group:k")
EVERYBODY = (*PEOPLE, *GROUPS, "public")
ASKING = (*EVERYBODY, "stranger@x.com", "nonsense", "group:unknown")
PATHS = ("", "a", "a/b", "a/b/c", "a/d", "x/b", "a.b", "a\nb", "é/b")
GLOBS = ("**", "a/**", "a/*", "*", "**/b", "a/b", "a?b", "é/*", "x/**/b")
KNOWN = {t: frozenset((*FIELDS, "state")) for t in TYPES}

SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [
        0,
        1,
        -1,
        2**60,
        True,
        False,
        "",
        "1",
        "true",
        "ann@x.com",
        "bob@x.com",
        "g",
        "group:h",
        "é",
        '"',
        "string:1",
        "%s",
    ]
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    SCALARS,
    st.sampled_from([1.0, 0.5, 1e300, None, {}, {"a": 1}, [], [[1]], [["ann@x.com"]]]),
    st.lists(st.one_of(SCALARS, st.just(1.0), st.none()), max_size=3),
)
ABOUT = st.sampled_from(["caller.id", "caller.email", "caller.groups"])


def lists(names: Any, **kw: Any) -> st.SearchStrategy[list[Any]]:
    kw = {"min_size": 1, "max_size": 2, "unique": True} | kw
    return st.lists(st.sampled_from(names), **kw)


def _file(groups: dict[str, list[str]]) -> dict[str, Any]:
    return {"groups": {g: {"members": m} for g, m in groups.items()}}


NESTED = st.fixed_dictionaries(
    {
        "g": lists((*PEOPLE, "group:h", "group:k"), max_size=3),
        "h": lists((*PEOPLE, "group:k"), max_size=3),
        "k": lists(PEOPLE, min_size=0),
    }
).map(_file)
WILD = st.fixed_dictionaries(
    {g.removeprefix("group:"): lists((*PEOPLE, *GROUPS), min_size=0, max_size=2) for g in GROUPS}
).map(_file)
GROUP_FILES = st.one_of(NESTED, NESTED, NESTED, WILD)

RECORDS_PART = st.sampled_from(
    [{"types": ["*"]}] * 4
    + [{"types": [t]} for t in TYPES]
    + [{"types": ["A", "B"]}, {"paths": ["a/**"]}, {"paths": ["**"]}, {"types": ["*"], "paths": ["a/*", "**/b"]}]
    + [{"paths": [g]} for g in GLOBS]
)
WHERE = st.one_of(
    st.dictionaries(
        st.sampled_from((*FIELDS, "state")),
        st.one_of(ABOUT, SCALARS, st.lists(st.one_of(ABOUT, SCALARS), min_size=1, max_size=3)),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from([{"owner": "caller.email"}, {"owner": "caller.groups"}, {"owner": ["caller.id", "g"]}]),
)
TO = st.one_of(lists(EVERYBODY), st.just(["public"]), lists(("public", *GROUPS), max_size=3))


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One time in four."""
    return st.one_of(st.none(), st.none(), st.none(), strategy)


def entries(effects: tuple[str, ...] = ("allow", "allow", "allow", "deny"), rights: tuple[str, ...] = ("read",)) -> Any:
    return st.fixed_dictionaries(
        {
            "effect": st.sampled_from(effects),
            "right": st.sampled_from(rights),
            "records": RECORDS_PART,
            "to": TO,
            "where": maybe(WHERE),
            "and_owned": st.sampled_from((None, False, True)),
            "fields": maybe(lists((*FIELDS, "*"))),
            "agents": maybe(lists(("bot", "b*", "other"))),
        }
    ).map(_entry)


def _entry(parts: dict[str, Any]) -> dict[str, Any]:
    parts = {k: v for k, v in parts.items() if v is not None}
    return {parts.pop("effect"): parts.pop("right"), **parts}


def numbered(policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"p{i}", **p} for i, p in enumerate(policies)]


POLICIES = st.lists(entries(), min_size=1, max_size=6).map(numbered)
TELLS = st.lists(
    st.fixed_dictionaries(
        {"tell": lists((*FIELDS, "state")), "records": RECORDS_PART, "to": TO, "where": maybe(WHERE)}
    ).map(lambda entry: {k: v for k, v in entry.items() if v is not None}),
    min_size=1,
    max_size=3,
)
"""What refusals tell, beside policies."""
ABOUT_FIELDS = st.lists(
    st.fixed_dictionaries(
        {
            "effect": st.sampled_from(("allow", "deny")),
            "right": st.just("read"),
            "records": st.sampled_from([{"types": ["*"]}, {"types": ["*"]}, {"types": ["A", "B"]}]),
            "to": st.just(["public"]),
            "where": maybe(st.sampled_from([{"f": [0, 1, "1", True]}, {"g": ["1", "g", -1]}])),
            "and_owned": st.sampled_from((None, None, True)),
            "fields": st.one_of(lists(("f", "g")), lists((*FIELDS, "state"), min_size=3, max_size=4)),
        }
    ).map(_entry),
    min_size=2,
    max_size=4,
).map(numbered)
"""Policies that grant some fields and take them away again."""
ALLOWLISTS = st.dictionaries(st.sampled_from(TYPES), lists((*FIELDS, "*"), max_size=3), min_size=1, max_size=3).map(
    lambda allow: {"version": 1, "allow": allow}
)
NAMED = st.sampled_from([None, None, "one", "one", ["one", "two"], "missing"])
AUDIENCES = st.one_of(lists(PEOPLE, max_size=1), lists(EVERYBODY), lists(ASKING, min_size=0, max_size=3))

ABOUT_OWNERS = st.lists(
    st.fixed_dictionaries(
        {
            "effect": st.sampled_from(("allow", "allow", "allow", "deny")),
            "right": st.just("read"),
            "records": st.sampled_from([{"types": ["A"]}, {"types": ["B"]}, {"types": ["*"], "paths": ["a/**"]}]),
            "to": st.just(["public"]),
            "and_owned": st.sampled_from((True, True, None)),
            "fields": maybe(lists(FIELDS)),
        }
    ).map(_entry),
    min_size=1,
    max_size=3,
).map(numbered)
"""Policies that mostly reach a record by way of its owners."""

PROPS = st.fixed_dictionaries(
    {},
    optional={
        "f": VALUES,
        "g": VALUES,
        "owner": st.one_of(st.sampled_from(["ann@x.com", "bob@x.com", "g", "group:h", ["ann@x.com", "k"]]), VALUES),
    },
)


@st.composite
def records(draw: Any, depth: int = 2) -> access.Record:
    owners = draw(st.lists(records(depth=depth - 1), max_size=2)) if depth else []
    return access.Record(
        type=draw(st.sampled_from((*TYPES, *TYPES, *TYPES, "Ghost"))),
        key=draw(st.sampled_from(("1", "2"))),
        path=draw(st.sampled_from((*PATHS, None))),
        fields=draw(PROPS),
        readers=draw(maybe(st.frozensets(st.sampled_from(EVERYBODY), max_size=2))),
        owners=tuple(owners),
    )


@st.composite
def owned(draw: Any, depth: int = 3) -> access.Record:
    """A record that hangs on a chain or two of owners."""
    owners = draw(st.lists(owned(depth=depth - 1), min_size=1, max_size=2)) if depth else []
    return access.Record(
        type=draw(st.sampled_from(("A", "B", "C", "C", "C") if depth < 3 else ("C", "C", "A"))),
        key="1",
        path=draw(st.sampled_from(("a", "b", "c", "d/e"))),
        fields=dict.fromkeys(FIELDS, 1),
        readers=draw(st.sampled_from((None, None, None, frozenset({"public"}), frozenset[str]()))),
        owners=tuple(owners),
    )


def folder(
    groups: Any, policies: Any, *, one: Any = None, two: Any = None, types: Any = KNOWN
) -> tuple[access.Access, list[Any]]:
    """Access read from plain data."""
    files = {"groups.yaml": groups, "policies.yaml": {"policies": policies}}
    files |= {f"field_policies/{n}.yaml": p for n, p in (("one", one), ("two", two)) if p is not None}
    return access.read({n: Document(name=n, data=d) for n, d in files.items()}, types=types)
