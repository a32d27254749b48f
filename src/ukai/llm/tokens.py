"""How many tokens a text has: o200k_base counted exactly, or a safe estimate where the tokenizer is not installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from importlib import import_module, util
from threading import Lock
from types import MappingProxyType
from typing import Any

from ukai.llm.protocols import TokenCounter

ENCODING = "o200k_base"
BYTES_PER_TOKEN = 2.0
"""Of the estimate. A table of short cells has 2.17 bytes a token and JSON records 2.51 (tests/llm/golden_tokens.json):
three bytes a token would let both overrun a budget. Prose has six, and is counted three times over."""
SAFETY: Mapping[str, float] = MappingProxyType({"anthropic": 1.15})
"""Provider -> what its own count exceeds o200k_base by. Others: 1. Calibrate from the usage that providers report."""


class O200k:
    """Counts as OpenAI's o200k_base does. The vocabulary is loaded at the first count: 0.7 s and 91 MB."""

    def __init__(self, load: Callable[[], Any] | None = None) -> None:
        self._load = load or _encoding
        self._loaded: Any = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The vocabulary."""
        return ENCODING

    def count(self, text: str) -> int:
        """Tokens of `text`. A lone surrogate counts as one replacement character.

        Nothing is remembered: to know a text again costs about what it takes to count it, 1.2 and 2.2 us for 400
        characters.
        """
        if not text:
            return 0
        if self._loaded is None:
            with self._lock:
                self._loaded = self._loaded or self._load()
        readable = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
        return int(self._loaded.count(readable))


class Estimate:
    """`ceil(bytes / 2)`: too many rather than too few, for machines without the tokenizer."""

    @property
    def name(self) -> str:
        """How it counts."""
        return "bytes/2"

    def count(self, text: str) -> int:
        """UTF-8 bytes over two, rounded up."""
        return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def counter(*, installed: Callable[[str], object | None] = util.find_spec) -> TokenCounter:
    """The exact counter where its wheel is installed, else the estimate. Loads nothing yet."""
    return O200k() if installed("quicktok") else Estimate()


def for_provider(tokens: int, provider: str) -> int:
    """`tokens` of o200k_base in the provider's own unit, rounded up: what a budget should reserve."""
    return math.ceil(tokens * SAFETY.get(provider, 1.0))


def _encoding() -> Any:
    return import_module("quicktok").get_encoding(ENCODING)
