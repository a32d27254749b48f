"""Whatever comes in, a verdict comes back: nothing raises, every rejection is complete, no plan is half a plan."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gate.static.given import AUTHOR, CATALOGUE, NOW
from ukai.gate import contract as contracts
from ukai.gate import door, hints, render, shape, workflow
from ukai.gate.codes import CODES
from ukai.graph import domain_file

NAMES = st.sampled_from(
    [
        "PullRequest",
        "Issue",
        "Person",
        "Thing",
        "Slot",
        "Isue",
        "closes",
        "in_repo",
        "follows",
        "belongs_to",
        "zap",
        "",
        "$a",
    ]
)
TARGETS = st.one_of(
    st.builds(lambda h: {"handle": h}, st.sampled_from(["PullRequest#api:41", "Issue#1", "Person#a@x", "Zap#1", "x"])),
    st.builds(lambda r: {"ref": r}, st.sampled_from(["$a", "$b", "$zap", "a"])),
    st.builds(lambda c: {"context_ref": c}, st.sampled_from(["subject_node_id", "zap"])),
    st.just({"id": "01234567-89ab-7def-8123-456789abcdef"}),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["api", "2026-01-01", "12.345", "$a", "$ref:x.y", "Person#a@x", "feature", "1e9", "small_fix"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
FIELDS = st.dictionaries(
    st.sampled_from([*CATALOGUE.type("PullRequest").type.by_key, "email", "badge", "day", "person", "zap", "titel"]),  # type: ignore[union-attr]
    VALUES,
    max_size=6,
)
OPS = st.fixed_dictionaries(
    {"kind": st.sampled_from(door.KINDS)},
    optional={
        "node_type": NAMES,
        "edge_type": NAMES,
        "ref": st.sampled_from(["$a", "$b"]),
        "set": FIELDS,
        "match": FIELDS,
        "test": FIELDS,
        "target": TARGETS,
        "from": TARGETS,
        "to": TARGETS,
        "to_state": st.sampled_from(["open", "ready", "merged", "zap"]),
        "if_version": st.integers(0, 9) | st.text(max_size=2),
        "items": st.lists(
            st.fixed_dictionaries({}, optional={"set": FIELDS, "from": TARGETS, "to": TARGETS}), max_size=3
        ),
    },
)
CONTRACT, _ = contracts.read(
    {
        "produces": {
            "deltas": [
                {"kind": "create_node", "node_type": "Issue", "count": 2},
                {"kind": "create_edge", "edge_type": "closes", "from": {"ref": "$a"}},
            ]
        }
    }
)


@settings(max_examples=300, deadline=None)
@given(st.lists(OPS, max_size=5), st.sampled_from([None, {"subject_node_id": "PullRequest#api:41"}]))
def test_every_delta_gets_a_verdict(ops: list[dict[str, Any]], context: dict[str, str] | None):
    needed = {"target", "from", "to", "match", "items", "node_type", "edge_type"}
    whole = [{**{n: _default(n) for n in _required(op["kind"]) & needed}, **_known(op)} for op in ops]
    delta, rejections = door.read({"ops": whole})
    if delta is not None:
        verdict = shape.check(delta, CATALOGUE, author=AUTHOR, now=NOW, context=context)
        rejections = list(verdict.rejections)
        assert (verdict.plan is None) == any(r.severity == "error" for r in rejections)
        assert CONTRACT is not None
        rejections += contracts.compare(CONTRACT, verdict.scene)
        if verdict.plan is not None:
            assert len(verdict.plan.nodes) + len(verdict.plan.edges) == len(list(delta.singles()))

    for r in rejections:
        assert r.code in CODES
        assert r.hint
        assert r.where == "" or r.where.startswith("/")
        assert len(r.received) <= 200
        if r.fix_hint.patch:
            hints.apply({"ops": whole}, r.fix_hint.patch)
    if rejections:
        render.tool_text(rejections, attempts_left=1, catalogue=CATALOGUE)
        render.problem(rejections)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="abk:{}[],-\"' \n#&*!|>%@01", max_size=80))
def test_every_text_is_a_domain_and_a_workflow_or_is_told_why_not(text: str):
    for found, findings in (
        domain_file.read(text.encode(), name="d.yaml"),
        workflow.read(text.encode(), CATALOGUE, name="w.yaml"),
    ):
        assert (found is None) == any(f.severity == "error" for f in findings)


PARTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.text(max_size=4)
    | st.sampled_from(["string", "A", "x", "new.x == 1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "key",
                    "kind",
                    "fields",
                    "states",
                    "values",
                    "rules",
                    "id",
                    "require",
                    "from",
                    "to",
                    "edge",
                    "min",
                    "schema",
                    "readers",
                    "initial",
                    "transitions",
                    "to",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, max_size=2), st.lists(PARTS, max_size=2))
def test_every_shape_is_a_domain_or_is_told_why_not(types: list[Any], edges: list[Any]):
    found, findings = domain_file.from_data({"domain": "x", "types": types, "edges": edges})

    assert (found is None) == any(f.severity == "error" for f in findings)


def _required(kind: str) -> set[str]:
    return set(door.REQUIRED[kind])


def _known(op: dict[str, Any]) -> dict[str, Any]:
    members = {"kind", *door.REQUIRED[op["kind"]], *door.OPTIONAL[op["kind"]]}
    return {k: v for k, v in op.items() if k in members}


def _default(name: str) -> Any:
    return {"items": [], "match": {}, "node_type": "Issue", "edge_type": "closes"}.get(name, {"handle": "Issue#1"})
