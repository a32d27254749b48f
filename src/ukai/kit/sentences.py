"""The sentences of an answer: markdown blocks first, then `sentencex` inside each, as spans into the text itself.

No splitter reads raw markdown well; inside blocks several do (docs/design/figures.md, section 6). Headings, table rows
and code blocks are one unit each; paragraphs, list items and quotes are split.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

import sentencex as _sentencex
from markdown_it import MarkdownIt
from markdown_it.token import Token

Block = Literal["paragraph", "heading", "list_item", "quote", "table_row", "code"]

WINDOW = 8_000
"""Characters that the splitter sees at once: some of its rules are quadratic in what they are given. A run of so many
characters without the end of a sentence is cut there."""
MAX_NESTING = 20

_splitter: Any = _sentencex  # it comes without types
_LINE = re.compile(r"\r\n?|\n")  # what the markdown parser counts as one
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_MARKS = re.compile(r"\s*(?:\[[^\[\]]+\]\s*)+(?:[.,;:!?]+(?:\s+|$))?")
"""Citations that stand behind the end of their sentence. Where small letters follow they are part of the next one."""
_MARKERS = re.compile(r"[\s>]*")
_CONTAINERS: dict[str, Block] = {"list_item_open": "list_item", "blockquote_open": "quote", "heading_open": "heading"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text[start:end]` is one unit of the text, without white space around it."""

    start: int
    end: int
    block: Block


def split(text: str) -> tuple[Sentence, ...]:
    """The units of `text` in order, disjoint. Any text will do, in linear time.

    What lies between them is white space and the markup of blocks: list and quote markers, `#`, rules, delimiter rows.
    A sentence that runs over lines of a quote keeps the markers between its lines.
    """
    lines = _lines(text)
    found: list[Sentence] = []
    inside: list[Block] = []
    in_row = False
    for token in _parser().parse(text):
        if token.type in _CONTAINERS:
            inside.append(_CONTAINERS[token.type])
        elif token.type.replace("_close", "_open") in _CONTAINERS:
            inside.pop()
        elif token.map and token.type in ("fence", "code_block"):
            found += _whole(text, lines, token.map, "code")
        elif token.map and token.type == "tr_open":
            found += _whole(text, lines, token.map, "table_row")
            in_row = True
        elif token.type == "tr_close":
            in_row = False
        elif token.map and token.type == "inline" and not in_row:
            block = inside[-1] if inside else "paragraph"
            found += _sentences(text, lines, token, block)
    return tuple(found)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Blocks only. Without the rules that would swallow text: definitions of links and raw HTML read as paragraphs."""
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    return parser.disable(["inline", "reference", "html_block"])


def _lines(text: str) -> list[tuple[int, int]]:
    """Start and end of every line, as the markdown parser counts them."""
    ends = [(m.start(), m.end()) for m in _LINE.finditer(text)]
    starts = [0, *(after for _, after in ends)]
    return list(zip(starts, [*(end for end, _ in ends), len(text)], strict=True))


def _whole(text: str, lines: list[tuple[int, int]], where: list[int], block: Block) -> Iterator[Sentence]:
    """Lines as they stand, from where the markers of the quote around them end."""
    start, end = lines[where[0]][0], lines[min(where[1], len(lines)) - 1][1]
    markers = _MARKERS.match(text, start, end)
    first = markers.end() if markers else start
    last = first + len(text[first:end].rstrip())
    if first < last:
        yield Sentence(first, last, block)


def _sentences(text: str, lines: list[tuple[int, int]], token: Token, block: Block) -> Iterator[Sentence]:
    """The token's content is its lines without markers and indent; each is found again at the end of its line."""
    content = token.content
    begins, places = _places(text, lines, token)
    for start, end in [(0, len(content))] if block == "heading" else _bounds(content):
        kept = content[start:end]
        first = start + len(kept) - len(kept.lstrip())
        last = start + len(kept.rstrip()) - 1
        if first <= last:
            yield Sentence(_at(begins, places, first), _at(begins, places, last) + 1, block)


def _places(text: str, lines: list[tuple[int, int]], token: Token) -> tuple[list[int], list[int]]:
    """For each line of the content: where it begins in the content, and in the text."""
    begins: list[int] = []
    places: list[int] = []
    where: list[int] = token.map or [0, 0]
    number, at = where[0], 0
    for line in token.content.split("\n"):
        words = line.strip()
        found = _found(text, lines[number], words)
        while found < 0 and number + 1 < where[1]:  # the parser has stripped a line of odd spaces
            number += 1
            found = _found(text, lines[number], words)
        begins.append(at + len(line) - len(line.lstrip()))
        places.append(max(found, lines[number][0]))
        at += len(line) + 1
        number = min(number + 1, len(lines) - 1)
    return begins, places


def _found(text: str, line: tuple[int, int], words: str) -> int:
    start, end = line
    place = text[start:end].replace("\0", "\ufffd").rfind(words)
    return place if place < 0 else start + place


def _at(begins: list[int], places: list[int], position: int) -> int:
    line = max(bisect_right(begins, position) - 1, 0)
    return places[line] + position - begins[line]


def _bounds(content: str) -> Iterator[tuple[int, int]]:
    """Boundaries of sentences, window by window; a window's last sentence is seen again whole in the next."""
    plain = _SURROGATE.sub("\ufffd", content.replace("\n", " "))
    start = 0
    while start < len(plain):
        window = plain[start : start + WINDOW]
        ends = [start + end for end in _ends(window)]
        is_last = start + WINDOW >= len(plain)
        if not is_last:
            ends = ends[:-1] or [start + (window.rfind(" ") + 1 or len(window))]
        for end in ends:
            yield start, end
            start = end


def _ends(window: str) -> Iterator[int]:
    """Of a window's sentences. Citations behind a sentence belong to it, and are none of their own."""
    rows: list[dict[str, Any]] = _splitter.get_sentence_boundaries("en", window)
    for end, after in pairwise(int(row["end_index"]) for row in rows):
        marks = _MARKS.match(window, end, after)
        if marks is None or window[marks.end() : marks.end() + 1].islower():
            yield end
        elif marks.end() < after:
            yield marks.end()
    yield len(window)
