"""A small domain and the few calls that every test of layers 1 and 2 makes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ukai.gate import door, shape
from ukai.gate.author import Author
from ukai.gate.rejection import Rejection
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue
from ukai.graph.schema import Domain

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
AUTHOR = Author(kind="agent", id="reviewer")

REVIEW = """
domain: review
types:
  - type: PullRequest
    key: [repo, number]
    fields:
      - {key: number, kind: integer, required: true, min: 1}
      - {key: repo, kind: string, required: true, pattern: '^[a-z][a-z0-9-]*$'}
      - {key: title, kind: string, required: true, max_length: 40, description: The title on the page}
      - {key: author, kind: string, required: true}
      - {key: classification, kind: enum, values: [small fix, feature, refactor]}
      - {key: cost, kind: number, places: 2}
      - {key: weight, kind: number}
      - {key: draft, kind: boolean, default: false}
      - {key: opened_by, kind: string, server_set: author}
      - {key: opened_at, kind: datetime, server_set: now}
      - {key: due, kind: date}
      - {key: merged_at, kind: datetime}
      - {key: support, any_of: [date, boolean]}
      - {key: labels, kind: string, list: true, max_items: 3, unique_items: true}
      - {key: parent, kind: ref, to: PullRequest}
      - {key: reviewers, kind: ref, to: Person, list: true}
      - {key: token, kind: string, sensitive: true, max_length: 5}
      - {key: branch, kind: string, immutable: true}
      - {key: raw, kind: json, schema: {type: object, required: [id]}}
    states:
      values: [open, ready, closed, merged]
      initial: [open]
      transitions: [{from: open, to: ready}, {from: ready, to: closed}, {from: ready, to: merged}]
    rules:
      - {id: cheap, require: "new.cost == null || dec(new.cost) < 100000", message: a review costs less than 1000}
      - {id: own, require: "author != new.author", message: nobody enters their own pull request}
  - {type: Issue, key: number, fields: [{key: number, kind: integer, required: true}, {key: title, kind: string}]}
  - type: Person
    key: email
    fields:
      - {key: email, kind: string, required: true}
      - {key: name, kind: string}
      - {key: badge, kind: integer, unique: true}
  - {type: Repo, key: name, fields: [{key: name, kind: string, required: true}, {key: stars, kind: integer}]}
  - {type: Slot, key: [person, day], fields: [{key: person, kind: ref, to: Person, required: true},
      {key: day, kind: date, required: true}]}
  - {type: Note, fields: [{key: text, kind: text, required: true}]}
edges:
  - {edge: closes, from: PullRequest, to: Issue, max_out: 2, max_in: 1}
  - {edge: in_repo, from: PullRequest, to: Repo, max_out: 1, fields: [{key: since, kind: date, required: true}]}
  - {edge: follows, from: Person, to: Person, self_edges: false}
"""
OWNED = """
domain: owned
types:
  - {type: Thing, key: name, fields: [{key: name, kind: string, required: true}]}
edges:
  - {edge: belongs_to, from: Thing, to: Person, min_out: 1}
"""
PULL = {"number": 42, "repo": "api", "title": "Retry", "author": "kim"}


def domain(text: str = REVIEW) -> Domain:
    """The domain in `text`, which must be fine."""
    found, findings = domain_file.read(text.encode(), name="domain.yaml")
    assert found is not None, findings
    return found


CATALOGUE = Catalogue([domain(), domain(OWNED)])


def pull(**changed: Any) -> dict[str, Any]:
    """A create of a pull request; a value of None leaves a field out."""
    values = {k: v for k, v in (PULL | changed).items() if v is not None}
    return {"kind": "create_node", "node_type": "PullRequest", "set": values}


def update(handle: str = "PullRequest#api:41", **members: Any) -> dict[str, Any]:
    """An update of an existing node."""
    return {"kind": "update_node", "target": {"handle": handle}, **members}


def edge(kind: str, source: Any, target: Any, **members: Any) -> dict[str, Any]:
    """A new edge between two handles, or whatever names the ends."""
    ends = [{"handle": e} if isinstance(e, str) else e for e in (source, target)]
    return {"kind": "create_edge", "edge_type": kind, "from": ends[0], "to": ends[1], **members}


def checked(
    *ops: Mapping[str, Any], context: Mapping[str, str] | None = None, catalogue: Catalogue = CATALOGUE, **rest: Any
) -> shape.Checked:
    """The verdict of layer 1 on `ops`, whose form must be fine."""
    delta, told = door.read({"ops": list(ops), **rest})
    assert delta is not None, told
    return shape.check(delta, catalogue, author=AUTHOR, now=NOW, context=context)


def told(*ops: Mapping[str, Any], **how: Any) -> list[Rejection]:
    """The rejections of layer 1."""
    return list(checked(*ops, **how).rejections)


def only(rejections: list[Rejection]) -> Rejection:
    """The one rejection there is."""
    assert len(rejections) == 1, [str(r) for r in rejections]
    return rejections[0]


def codes(rejections: list[Rejection]) -> list[tuple[str, str]]:
    """(code, where) of each."""
    return [(r.code, r.where) for r in rejections]
