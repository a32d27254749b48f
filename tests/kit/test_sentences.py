"""What `kit.sentences` splits: a small set of answers of our own, the laws, and hostile text."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import shared
from ukai.kit import sentences

# Each line of an answer ends with what a reader would call the end of a unit; `¶` marks those ends and is taken out.
ANSWERS = {
    "a call summary": """## Harbor renewal¶

Harbor renews on Dec. 1, 2026.¶ The plan costs $1.2M, up 4.5 % vs. last year.¶ Dr. Vega signs.¶

- **Risk:** usage fell by 12 %.¶ Nobody at Harbor has said why.¶
- Next step: call Ms. Okoye before 5 p.m. on Friday¶

> We cannot go above $1.1M.¶ That is final.¶

| item | price |¶
|------|------:|
| seats | 1,200 |¶
| support | 300 |¶

Done.¶""",
    "steps and code": """1. Open the settings.¶
2. Choose *Billing*, i.e. the third tab.¶ Is it grey?¶ Then ask an owner.¶

```sql
select 1. -- not a sentence. Really.
```¶

The query above, e.g. run at 9 a.m., returns 3.5 rows on average.¶""",
    "plain prose": """Acme Inc. has 40 seats.¶ U.S. customers pay in dollars!¶ Who owns the account?¶
Sam does, since version 2.4.1 was released.¶ See https://example.com/a.b?c=d for more.¶""",
    "nested": """Findings¶
========

* Outer point.¶
    * Inner point, no. 2, holds.¶ So does this.¶
* Last¶

> - quoted item.¶ With two sentences.¶""",
    "wrapped": """This sentence runs
over two lines.¶ And this one
too.¶

> A quote that runs
> over two lines.¶ Then ends.¶""",
}


def marked(answer: str) -> tuple[str, list[str]]:
    """The text without marks, and the units that a reader sees."""
    units: list[str] = []
    text = ""
    for part in answer.split("¶"):
        before = len(text)
        text += part
        if part.strip():
            units.append(text[before:])
    return text, [unit for u in units if (unit := without_markers(u))]


def without_markers(unit: str) -> str:
    lines = [re.sub(r"^\s*(?:(?:#+|>|[-*]|\d+[.)])\s+)+", "", line) for line in unit.strip("\n").split("\n")]
    return " ".join(line.strip() for line in lines if not re.fullmatch(r"[-|: =]*", line)).strip()


def units(text: str) -> list[str]:
    return [without_markers(text[s.start : s.end]) for s in sentences.split(text)]


def test_of_35_units_of_our_own_answers_at_least_34_are_found_exactly():
    """The splitter by itself, on the raw text, finds 24."""
    found = wanted = made_up = 0
    for answer in ANSWERS.values():
        text, expected = marked(answer)
        got = units(text)
        wanted += len(expected)
        found += sum(unit in got for unit in expected)
        made_up += sum(unit not in expected for unit in got)

    assert wanted == 35
    assert found >= 34
    assert made_up <= 2


def test_each_unit_says_in_which_block_it_stands():
    text, _ = marked(ANSWERS["a call summary"])

    # `Ms.` is one sentence end too many: the splitter does not know it.
    blocks = [s.block for s in sentences.split(text)]

    assert blocks == [
        "heading",
        *["paragraph"] * 3,
        *["list_item"] * 4,
        *["quote"] * 2,
        *["table_row"] * 3,
        "paragraph",
    ]


def test_offsets_are_into_the_text_itself():
    text = "> A quote that runs\n> over two lines. Then ends.\n\r\n# Head #\n\n1. one\n   two. Three\n"

    found = [text[s.start : s.end] for s in sentences.split(text)]

    assert found == ["A quote that runs\n> over two lines.", "Then ends.", "Head", "one\n   two.", "Three"]


def test_a_sentence_without_end_is_cut_and_nothing_of_it_is_lost():
    text = "word " * 10_000

    found = sentences.split(text)

    assert "".join(text[s.start : s.end] for s in found).replace(" ", "") == text.replace(" ", "")
    assert max(s.end - s.start for s in found) <= 8_000  # what the splitter sees at once: it is quadratic in that


PIECES = st.sampled_from(
    ["A b. ", "c d! ", "\n", "\n\n", "- ", "1. ", "> ", "# ", "|a|b|\n|-|-|\n", "```\n", "    ", "\t", "\0", "\r\n",
     "\r", "“", "é", "[x]: y\n",
     "<div>\n", "***\n", "===\n", "\ud800", "\u2028", "x", "~~~", "`", "\\", "&amp; "]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=100)


@given(TEXTS)
@settings(max_examples=500)
def test_units_are_ordered_disjoint_and_lose_no_word(text: str):
    found = sentences.split(text)

    ends = [0, *(s.end for s in found)]
    assert all(end <= s.start < s.end <= len(text) for end, s in zip(ends, found, strict=False))
    gaps = "".join(text[a:b] for a, b in zip(ends, [*(s.start for s in found), len(text)], strict=True))
    assert not re.search(r"[A-Za-zé“]", gaps), gaps
    assert all(text[s.start : s.end] == text[s.start : s.end].strip() for s in found)


REPEATED = ["> ", "- ", "1. ", "# ", "|", "|a", "|a\n", "`", "“", "(", "a. ", "A.\n", "\n", "\t", "    a\n", "> - "]
REPEATED += ["[a]: b\n", "```\n", "A b. "]


@pytest.mark.parametrize("unit", REPEATED)
def test_nothing_that_repeats_is_too_much(unit: str):
    """A quadratic rule would need minutes for this."""
    text = unit * (60_000 // len(unit))

    assert len(sentences.split(text)) <= len(text)


@shared.needs("nasties", "blns.json")
def test_naughty_strings_are_split_without_harm():
    for text in json.loads((shared.DATA / "nasties/blns.json").read_text("utf-8")):
        assert all(0 <= s.start < s.end <= len(text) for s in sentences.split(text))


def test_citations_behind_the_end_of_a_sentence_belong_to_it():
    text = "“No.” [Call#a/turn/14] He said so. [Mail#b] [Mail#c]. Then. [Deal#d] is lost.\n\n- “Ours.” [Note#1]"

    assert units(text) == [
        "“No.” [Call#a/turn/14]",
        "He said so. [Mail#b] [Mail#c].",
        "Then.",
        "[Deal#d] is lost.",
        "“Ours.” [Note#1]",
    ]
