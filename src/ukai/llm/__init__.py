"""Models: chat, embeddings, token counts and their price, with a key or without one.

Importing this room is cheap on purpose, since `ukai lint` reads `models.yaml` through `llm.config`. The model library,
onnxruntime and the tokenizer are imported by the modules that need them (`models`, `minilm`, `tokens`).
"""

from ukai.llm.protocols import Embedder, TokenCounter

__all__ = ["Embedder", "TokenCounter"]
