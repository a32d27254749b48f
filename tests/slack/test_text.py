"""An answer in Slack's markup: the same words, no call to anybody, no message too long (P4.4)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from markdown_it import MarkdownIt

from tests.slack.fake import shown, too_long
from ukai.surfaces.slack import hearing, mrkdwn, split

ANSWER = """\
## Where it stands

Harbor **waits** for _security_ ~~today~~ & says `a < b`. See [the call](https://x.example/c?a=1&b=2).

1. Ask *Kim*
2. Then
   - nested one

> quoted <!channel>
> twice

| who | when |
|---|---|
| Ann | May |

```python
if a < b && c: print("<@U1>")
```
"""


def test_every_form_has_its_own_in_slack():
    assert "\n\n".join(mrkdwn.blocks(ANSWER)) == snapshot("""\
*Where it stands*

Harbor *waits* for _security_ ~today~ &amp; says `a &lt; b`. See <https://x.example/c?a=1&amp;b=2|the call>.

1. Ask _Kim_
2. Then
   \u2022 nested one

> quoted &lt;!channel&gt;
> twice

```
who | when
----+-----
Ann | May
```

```
if a &lt; b &amp;&amp; c: print("&lt;@U1&gt;")
```\
""")


CALLS = [
    "<!channel>",
    "<!here>",
    "<!everyone>",
    "<@U1>",
    "<#C1|room>",
    "<!subteam^S1>",
    "<!date^0^x|y>",
    "&lt;!here&gt;",
]
FORMS = [
    "{}",
    "**{}**",
    "[{}](https://x.example)",
    "[a]({})",
    "`{}`",
    "```\n{}\n```",
    "> {}",
    "| {} |\n|-|\n| {} |",
    "![{}]({})",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("form", FORMS)
def test_nothing_in_an_answer_calls_anybody(call: str, form: str):
    text = "\n".join(mrkdwn.blocks(form.replace("{}", call)))

    assert re.findall(r"<[^>]*>?", text) in (
        [],
        ["<https://x.example|" + re.sub(r".*<https://x\.example\|([^>]*)>.*", r"\1", text, flags=re.DOTALL) + ">"],
    ), text
    assert "\u26a0" not in shown(text)


def words(markdown: str) -> list[str]:
    """What a reader of the Markdown sees, taken from another path: the tree's text, and nothing of its form."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    found: list[str] = []
    for token in tokens:
        if token.type in ("fence", "code_block", "html_block"):
            found.append(token.content)
        for child in token.children or ():
            found.append("\n" if child.type in ("softbreak", "hardbreak") else child.content)
        found.append("\n")
    return "".join(found).split()


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Zl", "Zp", "Zs", "Cs")), min_size=1, max_size=30
)
LITERAL = st.sampled_from(
    ["2*3*4", "snake_case_name", "~x~", "_a_", "*b*", "a`b", "x &amp; y", "1 < 2 > 0", "*", "\\*c\\*", "\\_d\\_"]
)
MARKED = st.builds(
    lambda mark, text: f"{mark}{text}{mark}", st.sampled_from(["**", "*", "_", "`", "~~"]), TEXT | LITERAL
)
LINE = st.lists(TEXT | LITERAL | MARKED, min_size=1, max_size=8).map(" ".join)
BLOCK = st.one_of(
    LINE,
    st.lists(LINE, min_size=1, max_size=3).map(lambda ls: "\n".join(f"- {line}" for line in ls)),
    LINE.map(lambda line: f"> {line}"),
    LINE.map(lambda line: f"# {line}"),
    st.lists(LINE, min_size=1, max_size=3).map(lambda ls: "```\n" + "\n".join(ls).replace("```", "") + "\n```"),
)


@settings(max_examples=150, deadline=None)
@given(blocks=st.lists(BLOCK, min_size=1, max_size=5), repeats=st.sampled_from([1, 1, 1, 40]))
def test_the_words_that_arrive_are_the_words_of_the_answer(blocks: list[str], repeats: int):
    markdown = "\n\n".join(blocks * repeats).replace("\u26a0", "")

    messages = split.messages(mrkdwn.blocks(markdown))

    arrived = "\n".join(shown(section) for message in messages for section in message)
    strip = str.maketrans("\u02cb", "`", "\u200b\u2022>\u2758|\u2014")
    assert _run(arrived, strip) == _run(" ".join(words(markdown)), strip)
    for message in messages:
        assert not too_long({"blocks": [{"type": "section", "text": {"text": s}} for s in message], "text": ""})


def _run(text: str, strip: dict[int, int | None]) -> str:
    """The letters in their order: where lines and messages end is Slack's matter; numbers of lists are form."""
    return re.sub(r"\s+|(?<!\S)\d+\.(?=\s)", "", text.translate(strip))


def test_a_fence_that_is_cut_is_closed_and_opened_again():
    code = "\n".join(f"line {n} of a long listing" for n in range(400))

    messages = split.messages(mrkdwn.blocks(f"Before.\n\n```\n{code}\n```\n\nAfter."))

    sections = [s for m in messages for s in m]
    assert all(s.count("```") % 2 == 0 for s in sections)
    assert "\n".join(shown(s) for s in sections).split() == ["Before.", *code.split(), "After."]


def test_an_entity_or_a_link_is_never_cut():
    text = "&" * 5_000 + " [x](https://x.example/" + "y" * 200 + ")" + "<" * 5_000

    for message in split.messages(mrkdwn.blocks(text)):
        for section in message:
            assert re.fullmatch(r"(?:&amp;|&lt;|&gt;|<https://[^<>]*>|[^&<>])*", section), section[-40:]


def test_what_people_write_is_read_as_they_see_it():
    text = "<@UBOT> ask <@U7|kim> in <#C1|deals> about &lt;b&gt; &amp; <https://x.example|the page> or <mailto:a@b.c|a@b.c>"  # noqa: E501

    assert hearing.words(text, me="UBOT") == "ask @kim in #deals about <b> & the page or a@b.c"
