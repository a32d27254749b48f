"""What can be said of prose without a model: its first sentence."""

from __future__ import annotations

import re

LIMIT = 200
"""A description is read in lists; the open format allows 1,024 characters, people fewer."""


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph that is neither heading, list, table nor code. May be empty."""
    paragraph: list[str] = []
    fenced = False
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            fenced = not fenced
        ends = not stripped or fenced or stripped.startswith(("#", "|", ">", "- ", "* ", "```", "~~~", "<", "---"))
        if not ends:
            paragraph.append(stripped)
        elif paragraph:
            break
    joined = " ".join(" ".join(paragraph).split())
    found = re.match(r".+?[.!?](?=\s|$)", joined)
    sentence = found.group() if found else joined
    return sentence if len(sentence) <= LIMIT else sentence[: LIMIT - 1].rstrip() + "…"
