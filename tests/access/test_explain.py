"""Permissions that explain themselves (P3.3), and refusals that disclose nothing (P3.5)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.access import build, worlds
from ukai import access
from ukai.access import explain

FOLDER = build.company()
RECORDS = build.records()


def rights(*who: str, agent: str = "deal-coach", policy: str | None = "commercial_only", channel: str = "cli"):
    return FOLDER.rights(FOLDER.audience(who), agent, policy, channel)


def about(found: explain.Explanation, policy: str, who: str | None = None) -> explain.Considered:
    return next(c for c in found.considered if c.id == policy and who in (None, c.who))


def test_a_decision_names_the_policy_and_its_line():
    decision = rights("ann@example.com").read(RECORDS["Account#harbor"])

    assert decision.reason == "ann@example.com may read Account#harbor: allowed by own-book (policies.yaml:5:5)"


def test_a_denial_names_the_policy_and_what_would_be_needed():
    decision = rights("carl@example.com", agent="status-bot", policy=None).read(RECORDS["Document#nda"])

    assert decision.reason == ("carl@example.com may not read Document#nda: denied by no-legal (policies.yaml:8:5)")
    assert decision.missing == ("no-legal (policies.yaml:8:5) would have to except carl@example.com",)


def test_what_nothing_allows_says_who_is_allowed_and_by_what():
    decision = rights("kim@example.com").invoke

    assert decision.reason == (
        "kim@example.com may not invoke deal-coach: no policy allows it;"
        " others are allowed by sellers-coach (policies.yaml:2:5)"
    )
    assert decision.missing[0] == (
        "to be one of group:sales-managers or group:sellers, for sellers-coach (policies.yaml:2:5)"
    )


def test_a_withheld_field_names_the_field_policy_and_its_version():
    decision = rights("ann@example.com").read(RECORDS["Account#harbor"], "margin")

    assert "field policy commercial_only version 4 (field_policies/commercial_only.yaml:" in decision.reason
    assert decision.denied_by == ("field_policy:commercial_only",)


def test_the_member_of_the_audience_who_fails_is_named():
    decision = rights("ann@example.com", "kim@example.com").read(RECORDS["Account#harbor"])

    assert decision.who == "kim@example.com"


def test_every_policy_is_considered_and_says_why_not():
    found = explain.of(rights("ann@example.com"), RECORDS["Account#baker"])

    assert [c.id for c in found.considered if c.says in ("allow read", "deny read")] == [
        p.id for p in FOLDER.policies if p.right == "read"
    ]
    assert about(found, "own-book").why == "`where` asks that owner is caller.email, and it is 'bob@example.com'"
    assert about(found, "drive").why == "`paths` is drive/**, and the record lies at 'accounts/baker'"
    assert about(found, "managers-read").why.startswith("`to` names group:sales-managers, and not ann@example.com")
    assert about(found, "pull-request-titles").why.startswith("`to` names")
    assert about(found, "say-owner").matched
    assert found.tell == {"owner"}


def test_an_owner_on_the_way_is_named():
    found = explain.of(rights("ann@example.com"), RECORDS["Call#h1"])

    assert about(found, "own-book").why == "it covers Account#harbor, which owns the record"


def test_without_a_record_the_types_that_are_read_are_listed_with_their_conditions():
    found = explain.of(rights("ann@example.com"))
    types = {r.type: r for r in found.readable}

    assert types["Account"].fields == {"name", "industry", "owner", "renewal_date"}
    assert types["Account"].under == (
        "ann@example.com: drive where its path is in drive/** or own-book where owner is caller.email,"
        " except sealed where its path is in accounts/sealed, except embargo where embargoed is True",
    )
    assert types["PullRequest"].under == ()
    assert "own-book by way of an owner" in types["Deal"].under[0]


def test_a_refusal_is_the_same_whether_the_record_is_denied_hidden_or_absent():
    told = {
        rights("ann@example.com").read(record).refusal
        for name, record in {**RECORDS, "Account#none": build.record("Account#none")}.items()
        if not rights("ann@example.com").read(record).allowed
    }

    assert told == {"There is nothing of that name that may be read here. Whoever keeps access/ can grant it."}


@settings(max_examples=150, deadline=None)
@given(
    groups=worlds.GROUP_FILES, policies=worlds.POLICIES, named=worlds.NAMED, one=worlds.ALLOWLISTS,
    audience=worlds.AUDIENCES, record=worlds.records(),
)  # fmt: skip
def test_an_explanation_matches_what_was_decided(groups, policies, named, one, audience, record):
    folder, _ = worlds.folder(groups, policies, one=one)
    asked = folder.rights(folder.audience(audience), "bot", named)
    found = explain.of(asked, record)
    decision = found.read
    assert decision is not None

    def ids(says: str) -> set[str]:
        return {c.id for c in found.considered if c.says == says and c.matched}

    assert decision.allowed is asked.read(record).allowed
    assert decision.reason
    assert bool(decision.refusal) is not decision.allowed
    if decision.allowed:
        assert set(decision.matched) == ids("allow read")
    assert {d for d in decision.denied_by if d.startswith("p")} <= ids("deny read")


@settings(max_examples=100, deadline=None)
@given(record=worlds.records(), policies=worlds.POLICIES, text=st.just("ann@x.com"))
def test_a_refusal_never_carries_anything_of_the_record_or_of_a_policy(record, policies, text):
    folder, _ = worlds.folder({"groups": {}}, policies)
    decision = folder.rights(folder.audience([text]), "bot").read(record)

    if not decision.allowed:
        assert (
            decision.refusal
            == "There is nothing of that name that may be read here. Whoever keeps access/ can grant it."
        )


def test_a_caller_whose_name_means_nothing_is_told_apart_in_the_reason():
    decision = access.Access().rights(access.Access().caller("nonsense"), "bot").invoke

    assert decision.denied_by == ("unknown",)
    assert "names nobody" in decision.reason
