"""A type told to whoever is to write it: all that they need and nothing that they may not see (W3)."""

from __future__ import annotations

from inline_snapshot import snapshot

from tests.app import build
from tests.examples import sample
from ukai import access
from ukai.gate import describe, door, shape
from ukai.gate.author import Author
from ukai.gate.delta import Delta
from ukai.graph.catalogue import Catalogue
from ukai.kit.clock import SystemClock

CATALOGUE = Catalogue([build.domain()])


def rights(who: str) -> access.Rights:
    files = build.files()
    return files.rights(files.caller(who), "(direct)", channel="cli")


def told(type: str, sight: describe.Sight) -> str:
    found = describe.of(CATALOGUE, type, sight)
    assert found is not None
    return found.text()


def test_everything_is_told_to_whoever_may_do_everything():
    assert told("PullRequest", describe.ALL) == snapshot("""\
PullRequest (domain review, version 0)
handle: PullRequest#<repo>:<number>
fields (! is required, - may not be written by you):
  number!: integer
  repo!: string
  title!: string; max length 300 (What it is about.)
  classification: small fix | feature | refactor
  cost: number with at most 2 decimal places
  - opened_by: string; set by the server (author)
  due: date (YYYY-MM-DD)
  parent: ref to PullRequest
states: open, ready, merged; begins in open
  you may move: open -> ready, ready -> merged
edge in_repo: PullRequest -> Repo (0..1 out of each)
  since: date (YYYY-MM-DD)
rule merged-is-classified: classify it
rule stays-small: it costs too much
example: {"domain": "review", "ops": [{"kind": "create_node", "ref": "$new", "node_type": "PullRequest", "set": {"number": 1, "repo": "text", "title": "text"}}]}\
""")  # noqa: E501


def test_whoever_may_do_little_is_told_little():
    assert told("PullRequest", rights(build.BEN)) == snapshot("""\
PullRequest (domain review, version 0)
handle: PullRequest#<repo>:<number>
fields (! is required, - may not be written by you):
  - number!: integer
  - repo!: string
  title!: string; max length 300 (What it is about.)
states: open, ready, merged; begins in open
  you may move: open -> ready
rule merged-is-classified: classify it
rule stays-small: it costs too much
example: {"domain": "review", "ops": [{"kind": "update_node", "target": {"handle": "PullRequest#…"}, "set": {"title": "text"}, "to_state": "ready"}]}\
""")  # noqa: E501


def test_a_type_of_which_nothing_may_be_seen_is_not_there():
    assert describe.of(CATALOGUE, "Repo", rights(build.BEN)) is None
    assert describe.of(CATALOGUE, "Nothing", describe.ALL) is None
    assert describe.names(CATALOGUE, rights("nobody@example.com")) == []


def test_every_example_of_the_sample_company_passes_layer_one():
    unknowable = ("rule_violation", "pattern_mismatch")  # a value that fits these is not invented
    catalogue = Catalogue(sample.domains())
    for name in catalogue.types():
        found = describe.of(catalogue, name, describe.ALL)
        assert found is not None
        assert found.example is not None
        delta, rejections = door.read(found.example)
        assert isinstance(delta, Delta), rejections
        checked = shape.check(
            delta, catalogue, author=Author(kind="human", id=build.ANN), now=SystemClock().now(), context={}
        )
        wrong = [str(r) for r in checked.rejections if r.severity == "error" and r.code not in unknowable]
        assert wrong == [], found.example
