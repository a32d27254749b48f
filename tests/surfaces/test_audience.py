"""Who else reads the answer narrows what it may rest on: places, agents and fields of the sample company (P3.2).

The table of docs/reference/places.md is written by `UKAI_WRITE_DOCS=1 pytest tests/surfaces/test_audience.py`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import sample
from tests.examples.test_rights import STORE
from tests.surfaces import world
from ukai import access
from ukai.app.identity import Place

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "places.md"
BEGIN, END = "<!-- table -->\n", "<!-- /table -->"


def person(name: str) -> str:
    return f"{name}@harbor-apis.example"


ANN, BEN, MIRA, SOL, TESS, JO = map(person, ("ann", "ben", "mira", "sol", "tess", "jo"))
CODY = "cody@brightside.example"
PLACES: dict[str, Place | None] = {
    "one's own screen": None,
    "direct message": Place(kind="direct"),
    "private room with Mira (manager)": Place(kind="private", members=(MIRA,)),
    "private room with Ben (another book)": Place(kind="private", members=(BEN,)),
    "private room with a contractor": Place(kind="private", members=(CODY,)),
    "private room, members unknown": Place(kind="private"),
    "public channel of the house": Place(kind="public", members=("group:employees",)),
    "public channel, members unknown": Place(kind="public"),
    "channel shared with a customer": Place(kind="shared", members=("group:employees",)),
    "report to oneself": Place(kind="report", members=()),
    "report to Mira": Place(kind="report", members=(MIRA,)),
}
ASKED = (
    (ANN, "deal-coach", "slack"),
    (MIRA, "deal-coach", "slack"),
    (SOL, "support-lead", "slack"),
    (TESS, "analyst", "rest"),
    (JO, "deal-desk", "web"),
    (CODY, "support-lead", "web"),
)
RECORDS = ("Account#quillon", "Account#bramble", "DealLesson#lesson-01", "Page#meetings", "Page#gateway")


@cache
def engine() -> Any:
    return world.opened(None, world.read(sample.WORKSPACE))  # type: ignore[arg-type]


def fields(who: str, agent: str, surface: str, place: Place | None, record: str) -> frozenset[str]:
    """What an answer there may rest on."""
    made: Any = engine()
    rights: access.Rights = made.rights(made.agent(agent), who, surface, place)
    seen = rights.visible(STORE[record])
    return frozenset(seen.fields) if seen is not None else frozenset()


def cell(found: frozenset[str], own: frozenset[str]) -> str:
    if not found:
        return "nothing"
    return f"{len(found)} fields" if found == own else f"{len(found)} of {len(own)}: {', '.join(sorted(found))}"


def table() -> str:
    lines: list[str] = []
    for who, agent, surface in ASKED:
        name = who.partition("@")[0].capitalize()
        lines += [f"\n### {name} asks `{agent}`\n", f"| place | {' | '.join(f'`{r}`' for r in RECORDS)} |"]
        lines.append("|---|" + "---|" * len(RECORDS))
        for place, kind in PLACES.items():
            row = [cell(fields(who, agent, surface, kind, r), fields(who, agent, surface, None, r)) for r in RECORDS]
            lines.append(f"| {place} | {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_places_is_what_is_so():
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    if os.environ.get("UKAI_WRITE_DOCS"):
        PAGE.write_text(head + BEGIN + table() + END + tail, encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == head + BEGIN + table() + END + tail


@pytest.mark.parametrize(("who", "agent", "surface"), ASKED)
def test_no_place_shows_more_than_ones_own_screen(who: str, agent: str, surface: str):
    for record in RECORDS:
        own = fields(who, agent, surface, None, record)
        for place in PLACES.values():
            assert fields(who, agent, surface, place, record) <= own


MEMBERS = st.lists(
    st.sampled_from([ANN, BEN, MIRA, SOL, TESS, JO, CODY, "group:sellers", "group:employees", "public", "not a name"]),
    max_size=4,
    unique=True,
)


@given(members=MEMBERS, more=MEMBERS, kind=st.sampled_from(["private", "public", "shared", "report"]))
def test_whoever_comes_in_takes_away_and_never_adds(members: list[str], more: list[str], kind: Any):
    few = Place(kind=kind, members=tuple(members))
    many = Place(kind=kind, members=(*members, *more))
    unknown = Place(kind=kind)

    for record in RECORDS:
        narrow = fields(ANN, "deal-coach", "slack", many, record)
        assert narrow <= fields(ANN, "deal-coach", "slack", few, record)
        if "public" in unknown.audience(ANN):
            assert fields(ANN, "deal-coach", "slack", unknown, record) <= fields(
                ANN, "deal-coach", "slack", Place(kind="direct"), record
            )


def test_the_matrix_has_answers_in_both_directions():
    """A table of nothing, or of everything, would prove nothing."""
    cells = {
        bool(fields(who, agent, surface, place, record))
        for who, agent, surface in ASKED
        for place in PLACES.values()
        for record in RECORDS
    }

    assert cells == {True, False}
    assert fields(ANN, "deal-coach", "slack", PLACES["private room with Mira (manager)"], "Account#quillon")
    assert not fields(ANN, "deal-coach", "slack", PLACES["private room with Ben (another book)"], "Account#quillon")
    assert not fields(MIRA, "deal-coach", "slack", PLACES["channel shared with a customer"], "Account#quillon")
