"""Who acts (P3.4): the local principal, or somebody else where that is allowed."""

from __future__ import annotations

import pytest

from tests.app import build
from ukai import access
from ukai.app import identity


def acting(named: str | None, *, local: str | None = build.ANN, is_local: bool = False) -> identity.Standing:
    return identity.acting(build.files(), local, named, is_local=is_local, channel="cli")


def test_whoever_names_nobody_is_the_local_principal():
    assert acting(None).principal == build.ANN
    assert acting("Ann@Example.com").principal == build.ANN


def test_on_a_shared_database_another_name_needs_a_right():
    with pytest.raises(identity.MayNotImpersonate, match=r"ann@example\.com may not act as ben@example\.com"):
        acting(build.BEN)

    assert acting(build.BEN, local="cy@example.com").principal == build.BEN


def test_on_the_own_database_any_name_will_do():
    assert acting(build.BEN, is_local=True).principal == build.BEN
    assert acting(build.BEN, local=None, is_local=True).principal == build.BEN


@pytest.mark.parametrize("named", [None, "", "nobody at all"])
def test_without_a_name_nobody_acts(named: str | None):
    with pytest.raises(identity.NobodyActs):
        acting(named, local=None, is_local=True)


def test_a_service_writes_as_a_connector_and_a_person_as_a_human():
    assert str(acting("service:intake", is_local=True).author) == "connector:service:intake"
    assert str(acting(None).author) == f"human:{build.ANN}"


def test_by_hand_no_right_of_a_named_agent_counts():
    files, _ = access.read({})
    from ukai.kit import document

    doc, _ = document.read(
        b"policies:\n"
        b"  - {id: a, allow: write, records: {types: [T]}, fields: ['*'], agents: [coach], to: [ann@example.com]}\n"
        b"  - {id: b, allow: write, records: {types: [S]}, fields: ['*'], to: [ann@example.com]}\n"
        b"  - {id: c, deny: write, records: {types: [S]}, fields: [secret], agents: ['*'], to: [public]}\n",
        name="policies.yaml",
    )
    files, findings = access.read({"policies.yaml": doc})
    rights = identity.acting(files, build.ANN, None, is_local=True, channel="cli").rights

    assert findings == []
    assert not rights.may_write("T", frozenset({"x"})).allowed
    assert rights.may_write("S", frozenset({"x"})).allowed
    assert not rights.may_write("S", frozenset({"secret"})).allowed


@pytest.mark.parametrize("name", ["group:sellers", "public"])
def test_a_group_is_nobody_who_could_act(name: str):
    with pytest.raises(identity.NobodyActs, match="people and services"):
        acting(name)
