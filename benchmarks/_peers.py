"""LlamaIndex and Haystack as people put them together for hybrid retrieval, over nodes whose vectors are given.

Both get: BM25 over the node's text and cosine over the given vector, in memory, fused by reciprocal rank as each
library does it, and one node an item. LlamaIndex also fuses by scores; Haystack's way of that was worse everywhere.
Every node has its path as metadata, so that equal texts are not taken for one. Question vectors are handed in: neither
library embeds anything.
"""

# Both come without types that hold.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when haystack is imported
PACKAGES = {"LlamaIndex": "llama-index-core", "Haystack": "haystack-ai"}


@dataclass(frozen=True, kw_only=True)
class Node:
    """What a pipeline finds."""

    id: str
    text: str
    vector: NDArray[np.float32]
    shown: float
    """Tokens of what a document shows of it, counted when it is loaded."""
    area: str = ""
    """What a filter narrows to."""
    parent: str = ""
    """The larger piece that it may be merged into."""
    members: tuple[str, ...] = ()
    """Of a chunk, the items that it holds whole."""


Retrieve = Callable[[str, list[float]], list[str]]
"""Question and its vector -> ids of nodes, best first."""


def are_installed() -> bool:
    """They come with requirements/peers.txt only."""
    return all(find_spec(name) for name in ("llama_index", "haystack", "bm25s"))


def versions() -> dict[str, str]:
    """Pipeline -> its version."""
    return {name: metadata.version(package) for name, package in PACKAGES.items()}


def llama_index(nodes: Sequence[Node], *, depth: int, areas: Sequence[str] = ()) -> Retrieve:
    """QueryFusionRetriever over a VectorStoreIndex and a BM25Retriever, each `depth` deep, filtered to `areas`."""
    return _ids(_fusion(_text_nodes(nodes), depth=depth, areas=areas))


def by_scores(nodes: Sequence[Node], *, depth: int) -> Retrieve:
    """The same, fused by scores that are brought to one scale by their mean and deviation."""
    return _ids(_fusion(_text_nodes(nodes), depth=depth, mode="dist_based_score"))


def auto_merging(nodes: Sequence[Node], *, depth: int) -> Retrieve:
    """The fusion by ranks below an AutoMergingRetriever: a parent stands for its nodes where most of them are found."""
    from llama_index.core import StorageContext
    from llama_index.core.retrievers import AutoMergingRetriever
    from llama_index.core.schema import NodeRelationship, TextNode

    made = _text_nodes(nodes)
    parents: dict[str, list[Any]] = {}
    for node, given in zip(made, nodes, strict=True):
        parents.setdefault(given.parent, []).append(node)
    wholes: list[Any] = []
    for parent, children in parents.items():
        whole = TextNode(id_=parent, text="\n".join(c.text for c in children))
        whole.relationships[NodeRelationship.CHILD] = [c.as_related_node_info() for c in children]
        for child in children:
            child.relationships[NodeRelationship.PARENT] = whole.as_related_node_info()
        wholes.append(whole)
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents([*made, *wholes])
    return _ids(AutoMergingRetriever(_fusion(made, depth=depth), storage))


def haystack(nodes: Sequence[Node], *, depth: int, areas: Sequence[str] = ()) -> Retrieve:
    """A pipeline of InMemoryBM25Retriever, InMemoryEmbeddingRetriever and DocumentJoiner, filtered to `areas`."""
    from haystack import Document, Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    logging.getLogger("haystack").setLevel(logging.ERROR)
    # Vectors have length one already: the dot product is the cosine, and cheaper.
    store = InMemoryDocumentStore(embedding_similarity_function="dot_product", shared=False, return_embedding=False)
    store.write_documents(
        [Document(id=n.id, content=n.text, embedding=n.vector.tolist(), meta={"area": n.area}) for n in nodes]
    )
    within = {"field": "meta.area", "operator": "in", "value": list(areas)} if areas else None
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(store, filters=within, top_k=depth))
    pipeline.add_component("meaning", InMemoryEmbeddingRetriever(store, filters=within, top_k=depth))
    pipeline.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("words", "join")
    pipeline.connect("meaning", "join")

    def retrieve(question: str, vector: list[float]) -> list[str]:
        made = pipeline.run({"words": {"query": question}, "meaning": {"query_embedding": vector}})
        return [d.id for d in made["join"]["documents"]]

    return retrieve


PIPELINES: Mapping[str, Callable[..., Retrieve]] = {"LlamaIndex": llama_index, "Haystack": haystack}


def _text_nodes(nodes: Sequence[Node]) -> list[Any]:
    from llama_index.core.schema import TextNode

    hidden = ["path", "area"]
    return [
        TextNode(
            id_=n.id,
            text=n.text,
            embedding=n.vector.tolist(),
            metadata={"path": n.id, "area": n.area},
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
        for n in nodes
    ]


def _fusion(nodes: Sequence[Any], *, depth: int, areas: Sequence[str] = (), mode: str = "reciprocal_rerank") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own imports
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import MockEmbedding
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters
        from llama_index.retrievers.bm25 import BM25Retriever

    depth = min(depth, len(nodes))
    within = MetadataFilters(filters=[MetadataFilter(key="area", value=list(areas), operator=FilterOperator.IN)])
    narrowed = {"filters": within} if areas else {}
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=len(nodes[0].embedding)))
    both = [
        BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=depth, **narrowed),
        index.as_retriever(similarity_top_k=depth, **narrowed),
    ]
    return QueryFusionRetriever(
        both, llm=MockLLM(), num_queries=1, similarity_top_k=2 * depth, mode=mode, use_async=False
    )


def _ids(retriever: Any) -> Retrieve:
    from llama_index.core import QueryBundle

    def retrieve(question: str, vector: list[float]) -> list[str]:
        return [n.node.node_id for n in retriever.retrieve(QueryBundle(query_str=question, embedding=vector))]

    return retrieve
