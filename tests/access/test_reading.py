"""The laws of reading (P3.1, P3.2, P3.4, X3): what is decided is what formats §6 says, and nothing ever widens it."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.access import oracle, worlds
from ukai import access

MANY = settings(max_examples=150, deadline=None)


def names_of(named: Any) -> list[str]:
    return [named] if isinstance(named, str) else list(named or ())


def seen(folder: access.Access, audience: list[str], record: access.Record, named: Any = None) -> set[str] | None:
    """The names of the fields shown, or None where the record is not read."""
    rights = folder.rights(folder.audience(audience), "bot", named)
    return oracle.plain(rights.fields(record), record) if rights.read(record).allowed else None


def within(less: set[str] | None, more: set[str] | None) -> bool:
    return less is None or (more is not None and less <= more)


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES | worlds.ABOUT_FIELDS, one=worlds.ALLOWLISTS,
    two=worlds.ALLOWLISTS, named=worlds.NAMED, audience=worlds.AUDIENCES, record=worlds.records(),
)  # fmt: skip
def test_reading_follows_the_format_to_the_letter(groups, policies, one, two, named, audience, record):
    folder, _ = worlds.folder(groups, policies, one=one, two=two)
    world = oracle.World(groups, policies, {"one": one, "two": two}, worlds.KNOWN)
    rights = folder.rights(folder.audience(audience), "bot", named)

    is_open = world.is_open(record, audience, "bot", names_of(named))
    fields = world.fields(record, audience, "bot", names_of(named))

    assert rights.read(record).allowed is is_open
    assert oracle.plain(rights.fields(record), record) == fields
    shown = rights.visible(record)
    assert (dict(shown.fields) if shown else {}) == {f: record.fields[f] for f in fields}
    assert all(rights.read(record, f).allowed is (f in fields) for f in record.fields)


@MANY
@given(policies=worlds.ABOUT_OWNERS, record=worlds.owned())
def test_ownership_follows_the_format_to_the_letter(policies, record):
    folder, _ = worlds.folder({"groups": {}}, policies)
    world = oracle.World({"groups": {}}, policies, {}, worlds.KNOWN)

    allowed = folder.rights(folder.audience(["ann@x.com"]), "bot").read(record).allowed

    assert allowed is world.is_open(record, ["ann@x.com"], "bot", [])


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, more=worlds.entries(("deny",)),
    audience=worlds.AUDIENCES, record=worlds.records(),
)  # fmt: skip
def test_one_more_denial_never_widens(groups, policies, more, audience, record):
    before, _ = worlds.folder(groups, policies)
    after, _ = worlds.folder(groups, [*policies, {"id": "more", **more}])

    assert within(seen(after, audience, record), seen(before, audience, record))


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, index=st.integers(0, 5),
    audience=worlds.AUDIENCES, record=worlds.records(),
)  # fmt: skip
def test_one_allowance_less_never_widens(groups, policies, index, audience, record):
    allows = [p for p in policies if "allow" in p]
    less = [p for p in policies if p is not allows[index % len(allows)]] if allows else policies
    before, _ = worlds.folder(groups, policies)
    after, _ = worlds.folder(groups, less)

    assert within(seen(after, audience, record), seen(before, audience, record))


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, audience=worlds.AUDIENCES,
    newcomer=st.sampled_from(worlds.ASKING), record=worlds.records(),
)  # fmt: skip
def test_one_more_in_the_audience_never_widens(groups, policies, audience, newcomer, record):
    folder, _ = worlds.folder(groups, policies)

    if audience:
        assert within(seen(folder, [*audience, newcomer], record), seen(folder, audience, record))


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, group=st.sampled_from(worlds.GROUPS),
    member=st.sampled_from(worlds.PEOPLE), record=worlds.records(),
)  # fmt: skip
def test_many_people_see_no_more_than_each_of_them(groups, policies, group, member, record):
    folder, _ = worlds.folder(groups, policies)
    public = seen(folder, ["public"], record)

    assert within(public, seen(folder, [member], record))
    if group in folder.caller(member).groups:
        assert within(seen(folder, [group], record), seen(folder, [member], record))
    if folder.caller(group).is_known:
        assert within(public, seen(folder, [group], record))


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, group=st.sampled_from(worlds.GROUPS),
    newcomer=st.sampled_from(["new@x.com", "service:new"]), record=worlds.records(),
)  # fmt: skip
def test_a_new_member_of_a_group_changes_nothing_for_other_people(groups, policies, group, newcomer, record):
    before, _ = worlds.folder(groups, policies)
    name = group.removeprefix("group:")
    members = [*groups["groups"][name]["members"], newcomer]
    after, _ = worlds.folder({"groups": {**groups["groups"], name: {"members": members}}}, policies)

    for person in (*worlds.PEOPLE, "stranger@x.com", "public"):
        assert seen(before, [person], record) == seen(after, [person], record)


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, one=worlds.ALLOWLISTS, two=worlds.ALLOWLISTS,
    audience=worlds.AUDIENCES, record=worlds.records(),
)  # fmt: skip
def test_one_more_field_policy_never_widens(groups, policies, one, two, audience, record):
    folder, _ = worlds.folder(groups, policies, one=one, two=two)
    free, first, both = (seen(folder, audience, record, n) for n in (None, "one", ["one", "two"]))

    assert within(both, first)
    assert within(first, free)
    assert seen(folder, audience, record, ["one", "missing"]) is None


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, seed=st.randoms(), audience=worlds.AUDIENCES,
    record=worlds.records(),
)  # fmt: skip
def test_order_does_not_matter(groups, policies, seed, audience, record):
    shuffled = list(policies)
    seed.shuffle(shuffled)
    one, _ = worlds.folder(groups, policies)
    other, _ = worlds.folder(groups, shuffled)

    assert seen(one, audience, record) == seen(other, audience, record)
    first, second = (f.rights(f.audience(audience), "bot").principals_hash for f in (one, other))
    assert first == second


@MANY
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, other=worlds.POLICIES, record=worlds.records(),
    who=st.sampled_from(worlds.ASKING), whom=st.sampled_from(worlds.ASKING),
)  # fmt: skip
def test_equal_hashes_mean_equal_answers(groups, policies, other, record, who, whom):
    one, _ = worlds.folder(groups, policies)
    two, _ = worlds.folder(groups, other)
    for folder, asking in ((one, whom), (two, who)):
        first = one.rights(one.audience([who]), "bot").principals_hash
        second = folder.rights(folder.audience([asking]), "bot").principals_hash
        if first == second:
            assert seen(one, [who], record) == seen(folder, [asking], record)


def test_a_filtered_copy_carries_no_owner_along():
    folder, _ = worlds.folder(
        {"groups": {}}, [{"id": "a", "allow": "read", "records": {"types": ["A"]}, "and_owned": True, "to": ["public"]}]
    )
    account = access.Record(type="A", key="1", fields={"f": 1})
    call = access.Record(type="B", key="2", fields={"f": 2}, owners=(account,))
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")

    shown = rights.visible(call)

    assert shown is not None
    assert (shown.fields, shown.owners) == ({"f": 2}, ())


def test_rights_travel_four_owning_edges_and_no_further():
    folder, _ = worlds.folder(
        {"groups": {}}, [{"id": "a", "allow": "read", "records": {"types": ["A"]}, "and_owned": True, "to": ["public"]}]
    )
    rights = folder.rights(folder.audience(["ann@x.com"]), "bot")
    record = access.Record(type="A", key="0", fields={"f": 1})
    open_at = []

    for depth in range(1, 7):
        record = access.Record(type="B", key=str(depth), fields={"f": 1}, owners=(record,))
        open_at.append(rights.read(record).allowed)

    assert open_at == [True] * 4 + [False] * 2
