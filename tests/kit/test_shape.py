from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ukai.kit import document, shape


@dataclass(frozen=True, kw_only=True)
class Wheel:
    __pydantic_config__ = shape.STRICT
    size: int
    maker: Literal["north", "south"] = "north"


@dataclass(frozen=True, kw_only=True)
class Cart:
    __pydantic_config__ = shape.STRICT
    name: str
    wheels: tuple[Wheel, ...] = ()
    from_: Annotated[str, Field(alias="from")] = ""
    cost: int | str | None = None


def parsed(text: str):
    doc, findings = document.read(text.encode(), name="cart.yaml")
    assert doc is not None, findings
    return shape.parse(doc, Cart)


def test_a_document_that_fits_becomes_the_value():
    cart, findings = parsed("name: a\nfrom: yard\nwheels:\n  - size: 3\n")

    assert findings == []
    assert cart == Cart(name="a", wheels=(Wheel(size=3),), from_="yard")


def test_every_problem_is_told_at_once_with_its_place():
    cart, findings = parsed("nmae: a\nwheels:\n  - {size: '3', maker: nort}\n  - {sice: 3}\n")

    assert cart is None
    assert [(f.code, f.where) for f in findings] == [
        ("unknown_key", "cart.yaml:1:1"),
        ("wrong_type", "cart.yaml:3:12"),
        ("not_allowed", "cart.yaml:3:24"),
        ("unknown_key", "cart.yaml:4:6"),
    ]
    assert findings[0].hint == "did you mean 'name'?"
    assert findings[2].hint == "did you mean 'north'?"


def test_a_missing_field_is_told_where_it_should_stand():
    _, findings = parsed("wheels: []\n")

    assert [(f.code, f.where, f.expected) for f in findings] == [("missing_key", "cart.yaml:1:1", "name")]


@dataclass(frozen=True, kw_only=True)
class Note:
    __pydantic_config__ = shape.STRICT
    title: str
    prose: str = ""


def noted(text: str):
    doc, findings = document.read_front_matter(text.encode(), name="note.md")
    assert doc is not None, findings
    return shape.parse(doc, Note, given={"prose": doc.body})


def test_what_stands_below_the_front_matter_is_given_and_not_written():
    note, findings = noted("---\ntitle: a\n---\nBody.\n")

    assert findings == []
    assert note == Note(title="a", prose="Body.\n")


def test_a_given_field_cannot_be_written_nor_is_it_suggested():
    note, findings = noted("---\ntitel: a\nprose: mine\n---\nBody.\n")

    assert note is None
    assert [(f.code, f.where, f.expected) for f in findings] == [
        ("unknown_key", "note.md:3:1", "title"),
        ("unknown_key", "note.md:2:1", "title"),
    ]
