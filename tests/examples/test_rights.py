"""What the cast may read, by the rules of `access/`: the labelled questions can be answered, and no canary arrives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest

from tests.examples import sample
from ukai import access
from ukai.kit import handle, principal

generate = sample.generator()
PEOPLE = ("ann", "ben", "mira", "sol", "tess")
CAST = (*(f"{name}@harbor-apis.example" for name in PEOPLE), "cody@brightside.example", "public")
OWNING = {e.edge: e.owns for domain in sample.domains() for e in domain.edges if e.owns}


@cache
def rights(who: str) -> tuple[access.Rights, ...]:
    """With every agent that this principal may invoke."""
    rules = sample.rules_of_access()
    found = [rules.rights(rules.caller(who), agent, policy, "cli") for agent, policy in sample.agents().items()]
    found = [one for one in found if one.invoke.allowed]
    # Whoever may invoke no agent is asked without one, so that the policies alone have to hold.
    return tuple(found) or (rules.rights(rules.caller(who), "", None, None),)


def stored(made: Mapping[str, Any], others: Mapping[str, access.Record]) -> access.Record:
    """A record as the store holds it, with its owners."""
    kind = sample.catalogue().type(made["type"]).type
    fields = made["fields"] | ({"state": made["state"]} if "state" in made else {})
    declared = kind.readers
    names: Sequence[str] | None = None
    if declared:
        names = fields[declared.field] if declared.field else declared.names
    return access.Record(
        type=made["type"],
        key=handle.key_of(made["fields"][k] for k in kind.key),
        path=kind.path.format_map({f: made["fields"].get(f, "") for f in kind.by_key}),
        fields=fields,
        readers=None if names is None else frozenset(str(principal.canonical(n)) for n in names),
        owners=tuple(others[e["to"]] for e in made["edges"] if OWNING.get(e["edge"]) == "target"),
    )


def store(records: Sequence[Mapping[str, Any]]) -> dict[str, access.Record]:
    found: dict[str, access.Record] = {}
    for made in records:
        found[generate.handle(made)] = stored(made, found)
    return found


STORE = store(sample.company())


def arrives(who: str, record: access.Record) -> Iterator[str]:
    """Everything of the record that reaches this principal through any agent, as text; its handle and path included."""
    for one in rights(who):
        seen = one.visible(record)
        if seen is not None:
            yield json.dumps([seen.handle, seen.path, dict(seen.fields)], ensure_ascii=False)


@pytest.mark.parametrize("who", CAST)
def test_no_canary_reaches_who_must_not_see_it(who: str):
    hidden = generate.hidden_from(who, "zq7")

    leaks = [
        (name, word)
        for name, record in CANARIES.items()
        for text in arrives(who, record)
        for word in hidden
        if word in text
    ]

    assert leaks == []


CANARIES = store(list(generate.records(canary="zq7")))


def test_every_canary_is_somewhere_and_somebody_sees_most_of_them():
    everything = json.dumps([[r.handle, r.path, dict(r.fields)] for r in CANARIES.values()])
    managers = json.dumps([text for r in CANARIES.values() for text in arrives("mira@harbor-apis.example", r)])

    assert all(word in everything for word in generate.hidden_from("public", "zq7"))
    seen = {label for label, word in generate.tokens("zq7").items() if word in managers}
    assert seen >= {"book-ann", "book-ben", "terms", "desk", "management"}


@pytest.mark.parametrize("label", ["book-ann", "book-ben", "terms", "desk", "security", "management", "internal"])
def test_a_canary_stands_in_texts_and_in_paths(label: str):
    word = generate.tokens("zq7")[label]
    marked = [r for r in CANARIES.values() if word in str(r.path)]
    if label in ("terms",):
        marked = [r for r in CANARIES.values() if r.type == "Terms"]

    assert marked
    assert all(word in json.dumps(dict(r.fields)) for r in marked)


@pytest.mark.parametrize(
    "question", sample.cases("evals/questions.yaml", "agents/*/cases/*.yaml"), ids=lambda q: str(q["id"])
)
def test_who_asks_a_labelled_question_may_read_its_evidence_with_one_agent(question):
    items = question.get("requires", {}).get("items", ())
    agents = [one for one in rights(question["as"]) if question["agent"] in ("", one.agent)]

    assert any(all(readable(one, item) for item in items) for one in agents)


def readable(one: access.Rights, item: str) -> bool:
    whole, _, part = item.partition("/")
    record = STORE[whole]
    field = {"turn": "turns", "comment": "comments"}.get(part.partition("/")[0], part.partition("/")[0])
    return one.read(record, field).allowed if field else one.read(record).allowed


REFUSED = {
    "refused-book-of-ben": ("Account#bramble", ""),
    "refused-book-of-ann": ("Call#dana-whitlock-2025-09-16", "turns"),
    "refused-book-of-ann-person": ("Person#dana-whitlock", ""),
    "refused-floor-of-own-account": ("Account#quillon", "discount_floor"),
    "refused-floor-of-bramble": ("Account#bramble", "discount_floor"),
    "refused-terms-of-bramble": ("Terms#bramble", ""),
    "refused-agency-of-solvane": ("Note#solvane-2026-02-13", ""),
    "refused-agency-for-support": ("Page#hold-register", ""),
    "refused-money-for-analyst": ("Account#corvane", "arr"),
    "refused-talk-for-analyst": ("Call#tarn-2026-09-22", "turns"),
    "refused-money-for-support": ("Account#tarn", "arr"),
    "refused-account-for-contractor": ("Account#quillon", ""),
    "refused-inside-page-for-contractor": ("Page#escalation", ""),
    "refused-concessions-for-seller": ("Page#discount-approvals", ""),
    "refused-holds-for-support": ("Page#hold-register", ""),
    "refused-pay-for-manager": ("Teammate#ann@harbor-apis.example", "on_target_earnings"),
}
"""What would answer each refusal: a record, and the field of it that holds the answer."""


@pytest.mark.parametrize("refusal", sample.cases("evals/refusals.yaml"), ids=lambda q: str(q["id"]))
def test_what_would_answer_a_refusal_may_not_be_read(refusal):
    name, field = REFUSED[refusal["id"]]

    for one in rights(refusal["as"]):
        assert not one.read(STORE[name], field or None).allowed


def test_a_seller_is_told_whose_account_it_is_and_nothing_else():
    (coach,) = rights("ann@harbor-apis.example")

    assert coach.tell(STORE["Account#bramble"]) == {"owner"}
    assert coach.tell(STORE["Note#bramble-2026-11-03"]) == frozenset()


def test_everybody_whom_a_file_names_is_in_the_house():
    groups = sample.yaml(sample.WORKSPACE / "access" / "groups.yaml").data["groups"]
    members = {m for group in groups.values() for m in group["members"] if "@" in m}
    team = {made["fields"]["email"] for made in sample.company() if made["type"] == "Teammate"}
    asked = {q["as"] for q in sample.cases("evals/*.yaml", "agents/*/cases/*.yaml")}

    assert members - team == {"cody@brightside.example"}
    assert asked <= members
