"""Random stories told to the gate and to a plain-Python model: they agree on every answer and on what stands then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.gate import auditor, world
from tests.gate.model import World
from tests.gate.world import change, edge, house, remove, town
from ukai import gate, store

NAMES = st.sampled_from("abcd")
KINDS = st.sampled_from(["road", "twin", "above"])
SEALS = st.sampled_from([None, "s", "t"])
FIELDS = st.sampled_from(["seal", "size", "motto"])
VALUES = st.fixed_dictionaries(
    {"size": st.sampled_from([None, 0, 1])}, optional={"motto": st.sampled_from([None, "m"]), "seal": SEALS}
)
STATES = st.sampled_from([None, "built", "ruined"])
MANY = {"road": "roads", "twin": "twins", "above": "above"}


class Story(RuleBasedStateMachine):
    db: ClassVar[store.Database]
    loop: ClassVar[asyncio.Runner]

    def __init__(self) -> None:
        super().__init__()
        self.model = World()
        self.audited = True
        self.loop.run(_clear(self.db))

    def propose(self, *ops: world.Op) -> set[str]:
        self.audited = False
        outcome = self.loop.run(world.propose(self.db, *ops))
        if isinstance(outcome, gate.Committed):
            return set()
        return {r.code for r in outcome.rejections if r.severity == "error"}

    def agree(self, codes: set[str], expected: set[str] | str) -> None:
        wanted = {expected} - {""} if isinstance(expected, str) else expected
        said = {"unknown_id" if c == "deleted_target" else c for c in codes}  # the model forgets the dead
        assert said == wanted, f"the gate says {said or 'yes'}, the model {wanted or 'yes'}"

    @rule(name=NAMES, seal=SEALS, size=st.integers(0, 2))
    def found(self, name: str, seal: str | None, size: int) -> None:
        props = {"size": size} | ({"seal": seal} if seal else {})
        self.agree(self.propose(town(name, **props)), self.model.found(name, props))

    @rule(
        name=NAMES,
        given=st.dictionaries(st.sampled_from(["size", "motto"]), st.none(), max_size=1),
        size=st.integers(0, 2),
    )
    def clear_and_set(self, name: str, given: dict[str, Any], size: int) -> None:
        values = {"size": size, **given, "motto": "m"} if "motto" not in given else {"size": size, **given}
        values = {k: (str(v) if k == "motto" and v is not None else v) for k, v in values.items()}
        self.agree(self.propose(change(f"Town#{name}", **values)), self.model.changed(name, values, None, None))

    @rule(
        name=NAMES, seal=SEALS, state=STATES, back=st.integers(-1, 2), field=st.sampled_from(["seal", "size", "motto"])
    )
    def change(self, name: str, seal: str | None, state: str | None, back: int, field: str) -> None:
        values: dict[str, Any] = {field: seal if field == "seal" else 7 if field == "size" else seal}
        now = self.model.towns[name].version if name in self.model.towns else 1
        base = max(1, now - back) if back >= 0 else now + 1
        codes = self.propose(change(f"Town#{name}", state, if_version=base, **values))
        self.agree(codes, self.model.changed(name, values, state, base))

    @rule(name=NAMES, number=st.integers(1, 2))
    def build(self, name: str, number: int) -> None:
        self.agree(self.propose(*house(number, town=name)), self.model.built(name, number))

    @rule(kind=KINDS, source=NAMES, end=NAMES)
    def connect(self, kind: str, source: str, end: str) -> None:
        codes = self.propose(edge(kind, f"Town#{source}", f"Town#{end}"))
        self.agree(codes, self.model.connected(MANY[kind], source, end))

    @precondition(lambda self: self.model.roads or self.model.twins or self.model.above)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        edges = [(k, s, t) for k, many in MANY.items() for s, t in sorted(getattr(self.model, many))]
        kind, source, target = data.draw(st.sampled_from(edges))
        codes = self.propose(edge(kind, f"Town#{source}", f"Town#{target}", "delete_edge"))
        self.agree(codes, self.model.cut(MANY[kind], source, target))

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.agree(self.propose(remove(f"Town#{name}")), self.model.removed(name))

    @rule(name=NAMES, other=NAMES)
    def two_in_one(self, name: str, other: str) -> None:
        """A delta of two parts: the second may sink the first."""
        if name == other:
            return
        codes = self.propose(town(name), change(f"Town#{other}", size=5))
        if name in self.model.towns or other not in self.model.towns:
            assert codes
            return
        assert codes == set()
        self.model.found(name, {})
        self.model.changed(other, {"size": 5}, None, None)

    @invariant()
    def the_database_holds_what_the_model_holds(self) -> None:
        if self.audited:
            return
        self.audited = True
        towns, houses, edges, wrong = self.loop.run(_state(self.db))
        assert towns == {n: (t.props, t.state, t.version) for n, t in self.model.towns.items()}
        assert houses == self.model.houses
        assert edges == {k: getattr(self.model, many) for k, many in MANY.items()}
        assert wrong == {}


async def _clear(db: store.Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("truncate node, edge, change, commit, claim, idempotency, attempt cascade")


async def _state(db: store.Database) -> tuple[Any, ...]:
    async with db.transaction() as tx:
        towns = {
            key: (props, state, version)
            for key, props, state, version in await tx.fetch(
                "select key, props, state, version from node where type = 'Town' and alive"
            )
        }
        pairs = await tx.fetch(
            """select e.type, s.key, t.key from edge e join node s on s.id = e.src join node t on t.id = e.dst
               where e.alive"""
        )
    houses = {s: t for type, s, t in pairs if type == "stands_in"}
    edges = {k: {(s, t) for type, s, t in pairs if type == k} for k in MANY}
    return towns, houses, edges, await auditor.violations(db)


@pytest.fixture
def story(database_url: str) -> Iterator[type[Story]]:
    with asyncio.Runner() as loop:
        opened = store.connect(database_url)
        db = loop.run(opened.__aenter__())
        loop.run(world.upload(db))
        Story.db, Story.loop = db, loop
        yield Story
        loop.run(opened.__aexit__(None, None, None))


def test_the_gate_and_the_model_tell_the_same_story(story: type[Story]):
    run_state_machine_as_test(
        story,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
