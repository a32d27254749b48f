"""How many faults the patch alone repairs, of those whose right value stands in the delta or the schema (gate §5.6)."""

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.gate.static.given import edge, pull, told, update
from ukai.gate import hints

Ops = list[dict[str, Any]]
GOOD: Ops = [
    pull(classification="small fix", cost=12, draft=True, due="2026-11-01", labels=["a"]) | {"ref": "$pr"},
    {"kind": "create_node", "ref": "$issue", "node_type": "Issue", "set": {"number": 7, "title": "Slow"}},
    update(set={"classification": "refactor", "title": "Other"}, to_state="ready"),
    edge("in_repo", {"ref": "$pr"}, "Repo#api", set={"since": "2026-01-01"}),
    edge("closes", {"ref": "$pr"}, {"ref": "$issue"}),
]


def faults(rng: random.Random) -> Iterator[tuple[str, Ops]]:
    """One broken copy for each fault that each place can have."""
    for i, op in enumerate(GOOD):
        for name, value in op.get("set", {}).items():
            yield "misspelt key", _changed(i, lambda o, n=name: o["set"].__setitem__(_typo(n, rng), o["set"].pop(n)))
            yield "key in another case", _changed(i, lambda o, n=name: o["set"].__setitem__(n.upper(), o["set"].pop(n)))
            if name == "classification":
                yield "misspelt value", _changed(i, lambda o, n=name, v=value: o["set"].__setitem__(n, _typo(v, rng)))
                yield (
                    "value in another case",
                    _changed(i, lambda o, n=name, v=value: o["set"].__setitem__(n, v.title())),
                )
            if isinstance(value, int) and not isinstance(value, bool):
                yield "number as text", _changed(i, lambda o, n=name, v=value: o["set"].__setitem__(n, str(v)))
        yield "extra field", _changed(i, lambda o: o.setdefault("set", {}).__setitem__("confidence", 0.9))
        if "from" in op:
            yield "turned edge", _changed(i, lambda o: o.update({"from": o["to"], "to": o["from"]}))
        if "ref" in op.get("from", {}):
            yield "misspelt ref", _changed(i, lambda o: o["from"].__setitem__("ref", _typo(o["from"]["ref"], rng)))
        for named in ("node_type", "edge_type"):
            if named in op:
                yield "misspelt type", _changed(i, lambda o, n=named: o.__setitem__(n, _typo(o[n], rng)))
        if "to_state" in op:
            yield "misspelt state", _changed(i, lambda o: o.__setitem__("to_state", o["to_state"].upper()))


def test_at_least_nine_of_ten_such_faults_are_repaired_to_the_original_by_the_patch_alone():
    assert told(*GOOD) == []
    met: Counter[str] = Counter()
    repaired: Counter[str] = Counter()
    missed: list[str] = []
    for seed in range(20):
        for kind, ops in faults(random.Random(seed)):
            rejections = told(*ops)
            met[kind] += 1
            if hints.repaired({"ops": ops}, rejections)["ops"] == GOOD:
                repaired[kind] += 1
            elif not rejections and kind == "number as text":
                repaired[kind] += 1  # a number field takes decimal text as it is
            else:
                missed.append(f"{kind}: {[str(r) for r in rejections]}")

    assert repaired.total() / met.total() >= 0.9, missed[:10]
    assert set(repaired) == set(met)


def test_no_fault_is_let_through():
    silent = {kind for kind, ops in faults(random.Random(1)) if not told(*ops)}

    assert silent <= {"number as text"}


def test_patches_move_nothing_but_what_they_name():
    document = {"a/b": [1, 2, {"c": 3}], "~": 0}

    patched = hints.apply(
        document,
        [
            {"op": "move", "from": "/a~1b/2/c", "path": "/d"},
            {"op": "remove", "path": "/a~1b/0"},
            {"op": "replace", "path": "/~0", "value": 1},
            {"op": "add", "path": "/a~1b/-", "value": 9},
        ],
    )

    assert patched == {"a/b": [2, {}, 9], "~": 1, "d": 3}
    assert document == {"a/b": [1, 2, {"c": 3}], "~": 0}


def _changed(at: int, change: Callable[[dict[str, Any]], Any]) -> Ops:
    ops = copy.deepcopy(GOOD)
    change(ops[at])
    return ops


def _typo(text: str, rng: random.Random) -> str:
    """A letter left out, doubled, or two swapped, after the first one."""
    at = rng.randrange(1, len(text) - 1)
    made = [
        text[:at] + text[at + 1 :],
        text[:at] + text[at] + text[at:],
        text[:at] + text[at + 1] + text[at] + text[at + 2 :],
    ]
    return next((m for m in rng.sample(made, 3) if m != text), text + text[-1])
