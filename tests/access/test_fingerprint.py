"""`principals_hash`: equal only where every answer is equal, so that it may stand in a cache's key (P3.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access import worlds

GROUPS = {"groups": {"g": {"members": ["ann@x.com", "bob@x.com"]}}}
POLICY = {
    "id": "p", "allow": "read", "records": {"types": ["A"], "paths": ["a/**"]}, "where": {"f": [1]},
    "fields": ["f"], "to": ["group:g"],
}  # fmt: skip
WRITE = {"id": "w", "allow": "write", "records": {"types": ["A"]}, "transitions": ["a->b"], "to": ["group:g"]}
LIST = {"version": 1, "allow": {"A": ["f"]}}


def of(policy: Any = POLICY, who: Any = ("ann@x.com",), one: Any = LIST, agent: str = "bot", types: Any = worlds.KNOWN):
    folder, findings = worlds.folder(GROUPS, [policy, WRITE], one=one, types=types)
    assert findings == []
    return folder.rights(folder.audience(who), agent, "one", "cli").principals_hash


@pytest.mark.parametrize(
    "other",
    [
        of(who=("bob@x.com",)),
        of(who=("ann@x.com", "bob@x.com")),
        of(who=()),
        of(agent="other"),
        of(types=None),
        of(one={**LIST, "version": 2}),
        of(one={**LIST, "allow": {"A": ["f", "g"]}}),
        of({**POLICY, "records": {"types": ["B"], "paths": ["a/**"]}}),
        of({**POLICY, "records": {"types": ["A"], "paths": ["a/*"]}}),
        of({**POLICY, "records": {"types": ["A"]}}),
        of({**POLICY, "where": {"f": ["1"]}}),
        of({**POLICY, "where": {"g": [1]}}),
        of({**POLICY, "fields": ["g"]}),
        of({**POLICY, "and_owned": True}),
        of({**{k: v for k, v in POLICY.items() if k != "allow"}, "deny": "read"}),
        of({**POLICY, "allow": "write"}),
    ],
)
def test_whatever_can_change_an_answer_changes_the_hash(other: str):
    assert other != of()


def test_what_cannot_does_not():
    assert of(who=("ann@x.com", "ann@x.com")) == of()
    assert of(who=("bob@x.com", "ann@x.com")) == of(who=("ann@x.com", "bob@x.com"))
    assert of({**POLICY, "id": "renamed"}) == of()
    assert of({**POLICY, "to": ["public"]}) == of()


def test_an_approximate_index_answers_only_an_audience_all_of_which_is_granted_it():
    near = {"id": "near", "allow": "approximate", "to": ["ann@x.com"]}

    def told(*who: str, more: Any = (near,)):
        folder, findings = worlds.folder(GROUPS, [POLICY, WRITE, *more], one=LIST, types=worlds.KNOWN)
        assert findings == []
        rights = folder.rights(folder.audience(who), "bot", "one", "cli")
        return rights.approximate, rights.principals_hash

    assert told("ann@x.com")[0]
    assert not told("ann@x.com", more=())[0]
    assert not told("ann@x.com", "bob@x.com")[0]
    assert not told("ann@x.com", more=(near, {"id": "n", "deny": "approximate", "to": ["group:g"]}))[0]
    assert told("ann@x.com")[1] != told("ann@x.com", more=())[1]
