"""An embedder that keeps its latest vectors in this process, for texts that come again within one turn."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from ukai.llm.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Remembered:
    """`embedder`, asked once a text as long as it is among the `size` latest."""

    def __init__(self, embedder: Embedder, *, size: int = 2_000) -> None:
        self._embedder, self._size = embedder, size
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    @property
    def model_id(self) -> str:
        """The embedder's."""
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        """The embedder's."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text."""
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known |= dict(zip(new, self._embedder.embed(new), strict=True))
            with self._lock:
                self._kept |= {text: known[text] for text in new if len(text) < 10_000}
                while len(self._kept) > self._size:
                    self._kept.popitem(last=False)
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.stack([known[text] for text in texts])
