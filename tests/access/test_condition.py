"""`where` (formats §6): exact, strict about kinds, and closed about callers that are many people at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access import worlds
from ukai import access

GROUPS = {"groups": {"g": {"members": ["ann@x.com"]}, "h": {"members": ["group:g"]}}}


def reads(who: str, wanted: Any, value: Any, *, effect: str = "allow") -> bool:
    """Whether a policy `where: {f: wanted}` lets `who` read a record whose `f` is `value`."""
    policies = [{"id": "p", effect: "read", "records": {"types": ["A"]}, "where": {"f": wanted}, "to": ["public"]}]
    if effect == "deny":
        policies.append({"id": "all", "allow": "read", "records": {"types": ["A"]}, "to": ["public"]})
    folder, findings = worlds.folder(GROUPS, policies)
    assert findings == []
    fields = {} if value is None else {"f": value}
    return folder.rights(folder.audience([who]), "bot").read(access.Record(type="A", key="1", fields=fields)).allowed


@pytest.mark.parametrize(
    ("wanted", "value", "holds"),
    [
        ("a", "a", True), ("a", "A", False), ("a", ["b", "a"], True), ("a", [["a"]], False), ("a", [], False),
        (1, 1, True), (1, "1", False), ("1", 1, False), (1, True, False), (True, 1, False), (True, True, True),
        (0, False, False), (False, 0, False), (1, 1.0, False), (1, [True, 1], True), (["a", 1], 1, True),
        ("a", None, False), ("a", {"a": "a"}, False),
        ("caller.email", "ann@x.com", True), ("caller.email", "Ann@x.com", False), ("caller.email", "bob@x.com", False),
        ("caller.id", "ann@x.com", True), (["caller.email", "shared"], "shared", True),
        ("caller.groups", "g", True), ("caller.groups", "group:h", True), ("caller.groups", "k", False),
    ],
)  # fmt: skip
def test_what_a_condition_holds_of(wanted: Any, value: Any, holds: bool):
    assert reads("ann@x.com", wanted, value) is holds


@pytest.mark.parametrize("who", ["public", "group:g"])
@pytest.mark.parametrize("about", ["caller.id", "caller.email"])
@pytest.mark.parametrize("value", ["public", "group:g", "ann@x.com"])
def test_what_is_one_persons_own_belongs_to_no_group_of_people(who: str, about: str, value: str):
    assert not reads(who, about, value)


@pytest.mark.parametrize("about", ["caller.id", "caller.email", "caller.groups"])
def test_what_is_denied_to_somebody_among_many_is_denied_to_all(about: str):
    assert not reads("public", about, "whatever", effect="deny")
    assert not reads("group:g", [about, "x"], "whatever", effect="deny")
    assert reads("public", about, None, effect="deny")
    assert reads("ann@x.com", about, "whatever", effect="deny")


def test_a_service_has_no_address():
    assert not reads("service:s", "caller.email", "service:s")
    assert reads("service:s", "caller.id", "service:s")
