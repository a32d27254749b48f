from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from hashlib import sha256
from itertools import islice

import pytest

from tests.examples import held, sample
from ukai.context import passages

generate = sample.generator()


def written(seed: str = "0", *arguments: str) -> str:
    """sha256 of what the program prints in a process whose hashes are salted with `seed`."""
    command = [sys.executable, str(sample.PROGRAM), *arguments]
    done = subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True)
    return sha256(done.stdout).hexdigest()


@pytest.mark.parametrize("what", ["records", "deltas"])
def test_the_same_seed_gives_the_same_bytes_in_every_process(what: str):
    assert written("1", what) == written("2", what)


def test_another_seed_gives_another_company_with_the_same_stories():
    other = {generate.handle(made): made for made in generate.records(8)}
    story = "Call#dana-whitlock-2025-09-16"

    assert list(other.values()) != list(sample.company())
    assert other[story] == next(made for made in sample.company() if generate.handle(made) == story)


def test_an_account_is_the_same_however_many_there_are():
    few = [made for made in generate.records(accounts=41, density=0.5) if made["type"] != "Teammate"]
    many = (made for made in generate.records(accounts=90, density=0.5) if made["type"] != "Teammate")

    assert list(islice(many, len(few))) == few


def test_forty_accounts_stay_below_six_thousand_passages():
    accounts = [made for made in sample.company() if made["type"] == "Account"]

    assert len(accounts) == 40
    assert 4_000 < len(sample.passages()) <= 6_000
    assert {made["fields"]["owner"] for made in accounts} == {"ann@harbor-apis.example", "ben@harbor-apis.example"}


def test_two_years_end_today():
    days = [made["provenance"]["at"] for made in sample.company() if made["type"] in ("Call", "Mail", "Ticket", "Note")]

    assert min(days) >= "2024-11-20"
    assert max(days) <= f"{generate.AS_OF}T23:59:59Z"


def test_every_handle_is_unique_and_every_edge_points_back():
    seen: set[str] = set()
    for made in generate.records(accounts=60):
        name = generate.handle(made)
        assert name not in seen
        seen.add(name)
        for edge in made["edges"]:
            assert edge["to"] in seen, (name, edge)


def test_unique_fields_are_unique_among_many_accounts():
    claimed: set[tuple[str, str, str]] = set()
    for made in generate.records(accounts=1_500, density=0.0):
        for field in sample.catalogue().type(made["type"]).type.unique:
            value = (made["type"], field.key, made["fields"][field.key])
            assert value not in claimed
            claimed.add(value)


def test_memory_does_not_grow_with_the_number_of_accounts():
    list(islice(generate.records(accounts=10_000), 2_000))  # the texts are read once
    tracemalloc.start()

    for _ in islice(generate.records(accounts=10_000), 15_000):
        pass

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


@pytest.mark.parametrize("canary", [None, "zq7"])
def test_every_record_keeps_the_rules_of_its_domain(canary: str | None):
    wrong = [
        problem
        for made in generate.records(canary=canary)
        for problem in held.problems(made, sample.catalogue(), keys=generate.KEYS)
    ]

    assert wrong == []


def test_a_record_that_breaks_its_domain_is_noticed():
    made = dict(next(m for m in sample.company() if m["type"] == "Opportunity" and m["state"] == "won"))
    made["fields"] = {**made["fields"], "outcome": "lost", "kind": "gift", "close_date": "soon"}
    del made["fields"]["name"]

    found = held.problems(made, sample.catalogue(), keys=generate.KEYS)

    assert {problem.split(" ")[1] for problem in found} == {
        "kind",
        "close_date",
        "name",
        "outcome-follows-state",
    }


def test_the_generator_and_the_domains_agree_on_keys_texts_and_passages():
    declared = {t.type: (t, domain.domain) for domain in sample.domains() for t in domain.types}

    assert {name: place for name, (_, place) in declared.items()} == dict(generate.DOMAINS)
    assert {name: t.key for name, (t, _) in declared.items()} == dict(generate.KEYS)
    assert {name: t.text for name, (t, _) in declared.items() if t.text} == dict(generate.SEARCHED)
    assert {n: (t.passages.source, t.passages.part) for n, (t, _) in declared.items() if t.passages} == generate.PARTS


def test_the_composer_cuts_a_record_into_the_same_passages():
    for made in sample.company():
        cut = passages.of(sample.catalogue().type(made["type"]).type, made["fields"])
        name = generate.handle(made)
        assert [(f"{name}/{p.part}", p.text) for p in cut] == list(generate.passages(made))


def test_deltas_are_bounded_and_every_target_was_made_before():
    made: set[str] = set()
    keys: list[str] = []
    for delta in generate.deltas(generate.records(accounts=60), size=50):
        keys.append(delta["key"])
        refs: dict[str, str] = {}
        for op in delta["ops"]:
            if op["kind"] == "upsert_node":
                assert sample.catalogue().type(op["node_type"]).domain.domain == delta["domain"]
                refs[op["ref"]] = f"{op['node_type']}#{':'.join(op['match'].values())}"
            else:
                assert op["from"]["ref"] in refs
                assert op["to"].get("ref") in refs or op["to"].get("handle") in made
        assert len(refs) <= 50
        made |= set(refs.values())

    assert len(set(keys)) == len(keys)
    assert made == {generate.handle(m) for m in generate.records(accounts=60)}


def test_a_second_run_has_the_keys_of_the_first():
    first = [delta["key"] for delta in generate.deltas(generate.records())]

    assert [delta["key"] for delta in generate.deltas(generate.records())] == first


def test_the_readme_names_what_is_there():
    text = (sample.WORKSPACE / "README.md").read_text(encoding="utf-8")
    records = {generate.handle(made): made for made in sample.company()}
    named = re.findall(r"`([A-Z][A-Za-z]+#[^`]+)`", text)

    assert len(named) > 40
    assert [item for item in named if sample.looked_up(records, item) is None] == []
    assert f"| together | {len(records):,} | {len(sample.passages()):,} |" in text
