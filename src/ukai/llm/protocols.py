"""What the rest of the house asks of a model that is not a chat model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Texts to vectors of length one. The same text gives the same bytes, whatever it is asked together with."""

    @property
    def model_id(self) -> str:
        """Name and hash of the weights; vectors of two ids are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text, in order: shape `(len(texts), dimensions)`. Any text goes in: empty, huge, broken."""
        ...


class TokenCounter(Protocol):
    """How long a text is, in the unit that budgets are written in."""

    @property
    def name(self) -> str:
        """The unit, for reports."""
        ...

    def count(self, text: str) -> int:
        """Tokens of `text`; any text goes in, special-token lookalikes are plain text."""
        ...
