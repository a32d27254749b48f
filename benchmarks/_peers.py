"""Recall of LlamaIndex and Haystack hybrid pipelines on the sets of `ukai bench recall`, same vectors, same budgets.

Runs in an environment of its own, since neither is needed for anything else:

    pip install "llama-index-core~=0.14" llama-index-retrievers-bm25 "haystack-ai~=3.4"
    python benchmarks/_peers.py CASES VECTORS_FILE [SET ..]

CASES is the folder of `ukai bench recall --cases`; VECTORS_FILE is what that run has kept (a text's sha256 and 384
floats a record). A node is an item with its title and text; children of tables are left out, which is the better choice
for both. Each pipeline fuses its own BM25 with the cosine of the given vectors by reciprocal rank, inside the scope of
the case, and whole nodes are taken in order until one does not fit: characters over four. No text is embedded here.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

BUDGETS = (2_500, 5_000, 10_000, 15_000)
SETS = {
    "spider2": ("spider2", "cases"),
    "spider2-whole": ("spider2", "cases_unscoped"),
    "locomo": ("locomo", "cases"),
    "qmsum": ("qmsum", "cases"),
    "tau_banking": ("tau_banking", "cases"),
}
Retrieve = Callable[[str, list[float]], Sequence[int]]


def main(folder: Path, file: Path, *names: str) -> None:
    """One line a set and pipeline."""
    known = vectors(file)
    for name in names or SETS:
        place, cases = SETS[name]
        items = [i for i in lines(folder / place / "items.jsonl") if "parent" not in i]
        asked = list(lines(folder / place / f"{cases}.jsonl"))
        for pipeline in (llama_index, haystack):
            started = time.perf_counter()
            shares = [row for scope in scopes(asked) for row in measured(scope, items, known, pipeline)]
            ms = (time.perf_counter() - started) * 1e3 / len(shares)
            told = " ".join(f"{v:.3f}" for v in np.mean(shares, axis=0))
            sys.stdout.write(f"{name} {pipeline.__name__} {told} {ms:.0f} ms a question\n")
            sys.stdout.flush()


def scopes(cases: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Cases with the same scope, so that an index is made once."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        found.setdefault(json.dumps(case.get("scope")), []).append(case)
    yield from found.values()


def measured(
    cases: Sequence[Mapping[str, Any]],
    items: Sequence[Mapping[str, Any]],
    known: Mapping[bytes, Any],
    pipeline: Callable[[Sequence[str], np.ndarray], Retrieve],
) -> Iterator[list[float]]:
    """Of each case the share of required items that the budget holds whole."""
    prefixes = [g.removesuffix("**") for g in (cases[0].get("scope") or {}).get("globs", [])]
    inside = [i for i in items if not prefixes or any(i["path"].startswith(p) for p in prefixes)]
    texts = [f"{i['title']}\n{i['text']}" for i in inside]
    given = np.array([known[content(i, t)] for i, t in zip(inside, texts, strict=True)])
    retrieve = pipeline(texts, given)
    for case in cases:
        order = retrieve(case["question"], known[sha256(case["question"].encode()).digest()].tolist())
        used, held = 0.0, {b: set[str]() for b in BUDGETS}
        for n in order:
            used += len(texts[n]) / 4
            for budget in BUDGETS:
                if used <= budget:
                    held[budget].add(inside[n]["id"])
        yield [len(held[b] & set(case["required"])) / len(case["required"]) for b in BUDGETS]


def content(item: Mapping[str, Any], text: str) -> bytes:
    """Turns are embedded without their speaker, everything else below its title."""
    said = item["text"] if item["type"] == "turn" or not item["title"] else text
    return sha256(said.encode()).digest()


def llama_index(texts: Sequence[str], given: np.ndarray) -> Retrieve:
    """QueryFusionRetriever over a vector index and BM25."""
    from llama_index.core import QueryBundle, VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [
        TextNode(id_=str(n), text=t, embedding=v.tolist()) for n, (t, v) in enumerate(zip(texts, given, strict=True))
    ]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=given.shape[1]))
    both = [
        index.as_retriever(similarity_top_k=len(nodes)),
        BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=len(nodes)),
    ]
    fusion = QueryFusionRetriever(
        both, llm=MockLLM(), num_queries=1, similarity_top_k=len(nodes), mode="reciprocal_rerank", use_async=False
    )

    def retrieve(question: str, vector: list[float]) -> list[int]:
        found = fusion.retrieve(QueryBundle(query_str=question, embedding=vector))
        return [int(n.node.node_id) for n in found]

    return retrieve


def haystack(texts: Sequence[str], given: np.ndarray) -> Retrieve:
    """An in-memory store with both retrievers and a joiner by reciprocal rank."""
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            Document(id=str(n), content=t, embedding=v.tolist())
            for n, (t, v) in enumerate(zip(texts, given, strict=True))
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=len(texts)))
    pipeline.add_component("meaning", InMemoryEmbeddingRetriever(store, top_k=len(texts)))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=len(texts)))
    pipeline.connect("words", "join")
    pipeline.connect("meaning", "join")

    def retrieve(question: str, vector: list[float]) -> list[int]:
        made = pipeline.run({"words": {"query": question}, "meaning": {"query_embedding": vector}})
        return [int(d.id) for d in made["join"]["documents"]]

    return retrieve


def vectors(file: Path) -> dict[bytes, np.ndarray]:
    """What a run of `ukai bench recall` has kept."""
    record = np.dtype([("key", "S32"), ("vector", "<f4", (384,))])
    return {bytes(r["key"]).ljust(32, b"\0"): r["vector"] for r in np.fromfile(file, record)}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """One object a line."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
