"""What a decision costs: 45 policies, 400 principals, 10,000 records (the size of X6).

Options: records, audience, seed.

The reference is the same rights asked the way a request-by-request evaluator is: compiled anew for every record.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ukai import access
from ukai.app.bench import Report
from ukai.kit.document import Document

TYPES = tuple(f"Type{i}" for i in range(12))
FIELDS = tuple(f"field_{i}" for i in range(20))
POLICIES, PEOPLE, GROUPS = 45, 400, 40


def run(options: Mapping[str, str]) -> Report:
    """Median microseconds a record for one caller and for an audience, and the time to read and to compile."""
    rng = random.Random(int(options.get("seed", "7")))
    people = [f"person{i}@example.com" for i in range(PEOPLE)]
    documents = {"groups.yaml": _groups(rng, people), "policies.yaml": _policies(rng)}
    documents |= {"field_policies/one.yaml": {"version": 1, "allow": {t: list(FIELDS[:12]) for t in TYPES}}}
    docs = {n: Document(name=n, data=d) for n, d in documents.items()}
    read_s, (folder, findings) = _timed(lambda: access.read(docs))
    if findings:
        raise AssertionError(findings[0])
    records = [_record(rng, people) for _ in range(int(options.get("records", "10000")))]
    rights = folder.rights(folder.caller(people[0]), "agent", "one", "cli")
    crowd = folder.audience(people[: int(options.get("audience", "20"))])
    wide = folder.rights(crowd, "agent", "one", "cli")
    compile_s = [_timed(lambda p=p: _compiled(folder, p))[0] for p in people[:100]]
    anew = [_timed(lambda r=r: _compiled(folder, people[0]).visible(r))[0] for r in records[:200]]
    one, many = _each(rights.visible, records), _each(wide.visible, records)
    measured = {
        "visible_us": one,
        f"visible_audience_{len(crowd.callers)}_us": many,
        "decide_us": _each(rights.reading.is_open, records),
        "decide_with_reason_us": _each(rights.read, records),
    }
    figures: dict[str, float] = {}
    for name, values in measured.items():
        figures |= {f"{name}_p50": _at(values, 0.5) * 1e6, f"{name}_p95": _at(values, 0.95) * 1e6}
    figures |= {
        "visible_us_mean": sum(one) / len(one) * 1e6,
        "compile_ms_p50": _at(compile_s, 0.5) * 1e3,
        "read_files_ms": read_s * 1e3,
        "seen_share": sum(rights.visible(r) is not None for r in records) / len(records),
        "matching_policies": float(len(rights.reading.members[0].allows) + len(rights.reading.members[0].denies)),
        "sql_ms": _timed(lambda: rights.sql("n", _OWNING))[0] * 1e3,
    }
    return Report(figures=figures, ratios={"compiled_once_to_compiled_anew": _at(one, 0.5) / _at(anew, 0.5)})


_OWNING = (access.OwningEdge(edge="about", owned_side="from"),)


def _compiled(folder: access.Access, who: str) -> access.Rights:
    rights = folder.rights(folder.caller(who), "agent", "one", "cli")
    assert rights.reading
    return rights


def _groups(rng: random.Random, people: Sequence[str]) -> dict[str, Any]:
    groups = {f"g{i}": {"members": rng.sample(people, 30)} for i in range(GROUPS)}
    for i in range(0, GROUPS - 1, 4):
        groups[f"g{i}"]["members"].append(f"group:g{i + 1}")
    groups["staff"] = {"members": list(people)}
    return {"groups": groups}


def _policies(rng: random.Random) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    for i in range(POLICIES):
        to = "group:staff" if i % 3 == 0 else f"group:g{rng.randrange(GROUPS)}"
        policy: dict[str, Any] = {"id": f"p{i}", "deny" if i % 9 == 8 else "allow": "read", "to": [to]}
        kind = i % 4
        policy["records"] = {"types": rng.sample(TYPES, 3)} if kind < 3 else {"paths": [f"a/{i}/**", "a/*/b/**"]}
        if kind == 0:
            policy |= {"where": {"owner": "caller.email"}, "and_owned": "deny" not in policy}
        elif kind == 1:
            policy["where"] = {"stage": ["open", "won"], "team": "caller.groups"}
        if i % 15 == 7:
            policy["fields"] = list(FIELDS[:6])
        found.append(policy)
    return {"policies": found}


def _record(rng: random.Random, people: Sequence[str], depth: int = 2) -> access.Record:
    fields: dict[str, Any] = {f: rng.randrange(1000) for f in FIELDS}
    fields |= {"owner": rng.choice(people[:8]), "stage": rng.choice(("open", "lost")), "team": f"g{rng.randrange(9)}"}
    return access.Record(
        type=rng.choice(TYPES),
        key=str(rng.randrange(10**9)),
        path=f"a/{rng.randrange(60)}/{rng.choice('bcd')}/x",
        fields=fields,
        readers=None if rng.random() < 0.7 else frozenset({"group:staff", f"group:g{rng.randrange(GROUPS)}"}),
        owners=(_record(rng, people, depth - 1),) if depth and rng.random() < 0.4 else (),
    )


def _timed(act: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    value = act()
    return time.perf_counter() - started, value


def _each(act: Callable[[access.Record], Any], records: Sequence[access.Record]) -> list[float]:
    for record in records[:200]:
        act(record)
    return [_timed(lambda r=record: act(r))[0] for record in records]


def _at(values: Sequence[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]
