"""Broken writes on trial: each is proposed for good, and what became of it is weighed (W4, W5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.gate.tau_retail import broken, driver, shop
from ukai import gate, store
from ukai.gate import hints
from ukai.gate.author import Author
from ukai.gate.codes import CODES
from ukai.gate.rejection import Rejection
from ukai.graph import kinds

CLERK = Author(kind="agent", id="clerk", run="trial", step="write")


@dataclass(kw_only=True)
class Tally:
    """What became of the writes with one fault."""

    calls: int = 0
    refused: int = 0
    raw: list[tuple[broken.Broken, Exception]] = field(default_factory=list[tuple[broken.Broken, Exception]])
    stored: list[broken.Broken] = field(default_factory=list[broken.Broken])
    unclear: list[tuple[broken.Broken, Rejection]] = field(default_factory=list[tuple[broken.Broken, Rejection]])
    """Rejections that lack something which says how to repair them."""
    astray: list[tuple[broken.Broken, tuple[str, ...]]] = field(
        default_factory=list[tuple[broken.Broken, tuple[str, ...]]]
    )
    """Refused with none of the codes that the fault should come to."""
    mended: int = 0
    """Restored to the original by the patches alone."""
    unmended: list[tuple[broken.Broken, tuple[Rejection, ...]]] = field(
        default_factory=list[tuple[broken.Broken, tuple[Rejection, ...]]]
    )
    told: int = 0
    """Of those that no patch can restore: a hint names the field, what it holds, and where to read the value."""
    untold: list[tuple[broken.Broken, tuple[Rejection, ...]]] = field(
        default_factory=list[tuple[broken.Broken, tuple[Rejection, ...]]]
    )
    codes: Counter[str] = field(default_factory=Counter[str])


async def proposals(db: store.Database) -> dict[str, tuple[str, driver.Proposal]]:
    """The distinct gold writes that the shop as loaded allows."""
    found: dict[str, tuple[str, driver.Proposal]] = {}
    for task, calls in shop.tasks().items():
        for call in calls:
            made = await driver.propose(db, call["name"], call["arguments"])
            if any(made.delta == other.delta for _, other in found.values()):
                continue
            if isinstance(await proposed(db, made.delta, made, dry_run=True), gate.Committed):
                found[f"{task}/{call['action_id']}"] = (call["name"], made)
    return found


async def proposed(
    db: store.Database, delta: Any, proposal: driver.Proposal, *, dry_run: bool = False
) -> gate.Committed | gate.Rejected:
    return await gate.submit(
        db,
        delta,
        author=CLERK,
        rights=gate.ALL,
        clock=shop.CLOCK,
        contract=proposal.contract,
        dry_run=dry_run,
    )


async def fingerprint(db: store.Database) -> str:
    """Equal when nothing was stored: all nodes, edges and changes."""
    async with db.transaction() as tx:
        return str(
            await tx.value(
                "select md5(concat((select string_agg(n::text, '' order by id) from node n),"
                " (select string_agg(e::text, '' order by id) from edge e), (select count(*) from change)))",
                (),
            )
        )


async def changes(db: store.Database) -> int:
    """How many changes were ever stored: equal when nothing was."""
    async with db.transaction() as tx:
        return await tx.value("select count(*) from change", ())


async def tried(db: store.Database, writes: Mapping[str, tuple[str, driver.Proposal]]) -> dict[str, Tally]:
    """Fault -> what became of the writes that have it."""
    found = {fault: Tally() for fault in broken.FAULTS}
    for one in broken.broken(writes):
        await _one(db, one, found[one.fault])
    return found


async def _one(db: store.Database, one: broken.Broken, tally: Tally) -> None:
    tally.calls += 1
    try:
        outcome = await proposed(db, one.delta, one.proposal)
    except Exception as error:  # whatever comes raw is what is looked for
        tally.raw.append((one, error))
        return
    if isinstance(outcome, gate.Committed):
        tally.stored.append(one)
        return
    tally.refused += 1
    codes = tuple(sorted({r.code for r in outcome.rejections}))
    tally.codes.update(codes)
    if not broken.FAULTS[one.fault].codes & set(codes):
        tally.astray.append((one, codes))
    tally.unclear += [(one, r) for r in outcome.rejections if not is_clear(r)]
    if one.mendable:
        if hints.repaired(one.delta, outcome.rejections) == one.proposal.delta:
            tally.mended += 1
        else:
            tally.unmended.append((one, outcome.rejections))
    elif any(tells(one, r) for r in outcome.rejections):
        tally.told += 1
    else:
        tally.untold.append((one, outcome.rejections))


def tells(one: broken.Broken, rejection: Rejection) -> bool:
    """Whether somebody who has only this hint knows which value to look up, and where.

    A value that no schema knows (an id, an amount, a version, a state) is told by its place and by what is there: the
    nearest records, the rule with what it read, the present version, the states that can be reached.
    """
    if one.fault in ("wrong type", "missing", "null"):
        sources = ("; it is ", "; take the ", "as it was read")
        return one.field in rejection.hint and any(s in rejection.hint for s in sources) and _says_kind(one, rejection)
    return rejection.code in broken.FAULTS[one.fault].codes and bool(rejection.hint)


def _says_kind(one: broken.Broken, rejection: Rejection) -> bool:
    """As the schema calls it: `string`, `ref to Offer`, the values of an enum, a type of JSON Schema."""
    op = one.proposal.delta["ops"][int(rejection.where.split("/")[2])]
    known = shop.domain().by_type[op["node_type"]].by_key.get(one.field)
    if known is None or known.kind == "json":  # a member of a JSON value, or the state
        return any(f" ({w}" in rejection.hint or f" as {w}" in rejection.hint for w in _WORDS)
    if known.kind == "enum":
        return all(str(v) in rejection.hint for v in known.values)
    return (f"{known.to}#key" if known.kind == "ref" else "\0") in rejection.hint or kinds.expected_of(
        known
    ) in rejection.hint


_WORDS = ("integer", "string", "array", "any JSON value", "pending | ")


def is_clear(rejection: Rejection) -> bool:
    """Code, place, expected or received, what to do and who does it."""
    known = CODES.get(rejection.code)
    return (
        known is not None
        and known.group != "fault"
        and (rejection.where.startswith("/") or rejection.where == "")
        and bool(rejection.expected or rejection.received)
        and bool(rejection.hint)
        and rejection.repair in ("fix", "reread", "resend", "stop")
    )


def of_each_shape(
    writes: Mapping[str, tuple[str, driver.Proposal]], most: int
) -> dict[str, tuple[str, driver.Proposal]]:
    """At most so many writes for each tool and list of operations: with a gift card and without."""
    seen: Counter[str] = Counter()
    found: dict[str, tuple[str, driver.Proposal]] = {}
    for name, (tool, proposal) in writes.items():
        shape = f"{tool} {[(op['kind'], sorted(op.get('set', ()))) for op in proposal.delta['ops']]}"
        seen[shape] += 1
        if seen[shape] <= most:
            found[name] = (tool, proposal)
    return found
