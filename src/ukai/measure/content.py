"""The words of a text that say something, stemmed. Stems are remembered: evidence repeats its words."""

from __future__ import annotations

from functools import lru_cache

from ukai.kit import words

stem = lru_cache(maxsize=1 << 16)(words.stem)


def terms(text: str) -> frozenset[str]:
    """Content words, numbers among them: a passage says them too."""
    return frozenset([stem(word) for word in words.words(text) if word not in words.STOP])


def near(text: str) -> frozenset[str]:
    """Content words without numbers: what stands around a figure."""
    return frozenset([stem(word) for word in words.words(text) if not word[0].isdigit() and word not in words.STOP])
