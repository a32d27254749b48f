"""How fast texts become vectors, and that their bytes do not depend on their company.

Options: texts (per length, default 96), seed. Lengths are those of docs/reference/models.md: a sentence, a passage.

The reference is the usual way: the same weights on one session, in padded batches of 16.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ukai.app.bench import Report
from ukai.llm import minilm

TEXT = (
    "the rollout waits because procurement wants a security review before the contract renews and their team asked for "
    "single sign on while the depot keeps its scanner offline every morning until support answers"
)
WORDS = TEXT.split()
LENGTHS = {"48_tokens": (40, 52), "236_tokens": (225, 245)}


def run(options: Mapping[str, str]) -> Report:
    """Texts a second with one caller, milliseconds for one query, and the share of vectors equal to the byte."""
    rng = random.Random(int(options.get("seed", "7")))
    number = int(options.get("texts", "96"))
    load_s, model = _timed(minilm.MiniLM)
    model.embed(["warm"])
    session = Padded()
    figures: dict[str, float] = {"load_s": load_s, "cores": float(os.cpu_count() or 1)}
    ratios: dict[str, float] = {}
    for name, (least, most) in LENGTHS.items():
        texts = [" ".join(rng.choices(WORDS, k=rng.randint(least, most))) for _ in range(number)]
        ours_s, vectors = _timed(lambda texts=texts: model.embed(texts))
        padded_s, padded = _timed(lambda texts=texts: session.embed(texts))
        figures[f"{name}_per_s"] = number / ours_s
        figures[f"{name}_padded_per_s"] = number / padded_s
        figures[f"{name}_largest_difference_to_padded"] = float(np.abs(vectors - padded).max())
        figures[f"{name}_equal_in_other_company"] = _equal_share(model, texts, vectors, rng)
        ratios[f"{name}_speed_to_padded"] = padded_s / ours_s
    queries = [" ".join(rng.choices(WORDS, k=8)) for _ in range(50)]
    each = sorted(_timed(lambda q=q: model.embed([q]))[0] for q in queries)
    figures["query_p50_ms"] = each[len(each) // 2] * 1e3
    return Report(figures=figures, ratios=ratios, notes=(f"weights {model.model_id}",))


class Padded:
    """The way that most libraries embed, for comparison only."""

    def __init__(self) -> None:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as in minilm: it reports to its maker otherwise
        import onnxruntime
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(minilm.TOKENIZER.path()))
        self.tokenizer.enable_truncation(minilm.MAX_TOKENS)
        self.tokenizer.no_padding()
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = os.cpu_count() or 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            str(minilm.MODEL.path()), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str], *, batch: int = 16) -> Any:
        """Similar lengths together, padded to the longest of a batch."""
        encoded = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        out = np.zeros((len(texts), minilm.DIMENSIONS), np.float32)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            ids = np.zeros((len(chosen), max(len(encoded[i]) for i in chosen)), np.int64)
            mask = np.zeros_like(ids)
            for row, i in enumerate(chosen):
                ids[row, : len(encoded[i])] = encoded[i]
                mask[row, : len(encoded[i])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden: Any = self.session.run(None, feed)[0]
            mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            out[chosen] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
        return out


def _equal_share(model: minilm.MiniLM, texts: Sequence[str], vectors: Any, rng: random.Random) -> float:
    order = rng.sample(range(len(texts)), len(texts))
    chosen = order[: len(texts) // 2]
    again = model.embed([*(texts[i] for i in chosen), "another text"])
    return float(np.mean([again[row].tobytes() == vectors[i].tobytes() for row, i in enumerate(chosen)]))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
