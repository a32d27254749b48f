"""An answer as markup: what is written in it stays words (P4.5, X3)."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.surfaces.web import text

PIECES = st.sampled_from(
    [
        *(
            "<script>",
            "</script>",
            "<img src=x onerror=x>",
            "<svg/onload=x>",
            "<style>",
            '<a href="',
            "&#106;avascript:",
        ),
        *("[a](javascript:x)", "![p](https://evil.example.com/x)", "[K#1]", "[K#1; J#2]", "`", "\n\n", "|", "x"),
    ]
)


class _Elements(HTMLParser):
    """What a browser would see."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@given(parts=st.lists(PIECES, max_size=12))
def test_nothing_in_an_answer_becomes_anything_but_text_tables_and_links(parts: list[str]):
    elements = _Elements(str(text.of("".join(parts), ["K#1", "J#2"], run_id="r"))).found

    assert {tag for tag, _ in elements} <= text.TAGS
    assert {name for _, attributes in elements for name in attributes} <= {"href", "rel", "aria-label", "start"}
    links = [attributes.get("href") or "" for tag, attributes in elements if tag == "a"]
    assert all(link.startswith(("https://", "#source-")) for link in links)


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("So [K#1].", '<p>So [<a href="#source-1-r" aria-label="source 1">1</a>].</p>\n'),
        ("So [K#1; J#2].", '[<a href="#source-1-r" aria-label="source 1">1</a>; <a href="#source-2-r"'),
        ("So [K#9].", "<p>So [K#9].</p>\n"),
        ("![x](https://evil.example.com/?secret)", "<p></p>\n"),
        ("[x](https://a.example.com)", 'rel="noopener noreferrer nofollow"'),
        ("5 < 6 & 7", "<p>5 &lt; 6 &amp; 7</p>\n"),
    ],
)
def test_citations_become_links_and_pictures_nothing(markdown: str, html: str):
    assert html in str(text.of(markdown, ["K#1", "J#2"], run_id="r"))
