"""`principals_hash`: equal only where every answer is equal, so that it may stand in a cache's key (P3.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access import worlds
from ukai import access
from ukai.kit.document import Document

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


def test_what_decides_nothing_about_an_audience_does_not_show_in_its_hash():
    """An agent or a type beside those that it has a right on: that it is there is not told by any hash."""

    def told(*, agents: Any = ("bot",), types: Any = worlds.KNOWN, agent: str = "bot", more: Any = ()) -> str:
        docs = {"groups.yaml": GROUPS, "policies.yaml": {"policies": [POLICY, WRITE, *more]}}
        folder, _ = access.read({n: Document(name=n, data=d) for n, d in docs.items()}, types=types, agents=agents)
        return folder.rights(folder.audience(["ann@x.com"]), agent, None, "cli").principals_hash

    less = [
        {"id": "n", "deny": "read", "records": {"types": ["A"]}, "fields": ["f"], "where": {"g": 1}, "to": ["public"]}
    ]
    assert told(agents=("bot", "layoffs")) == told()
    assert told(types={**worlds.KNOWN, "Layoff": {"who"}}) == told()
    assert told(types={**worlds.KNOWN, "A": {"f", "who"}}) == told()
    assert told(agents=("layoffs",)) != told()
    assert told(types={"B": {"f"}}) != told()
    assert told(types={"A": {"g"}}, more=less) != told(types={"A": {"f"}}, more=less)
