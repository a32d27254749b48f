"""BM25: documents packed as numbers score as documents of terms do."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ukai.kit import bm25

TERMS = st.sampled_from(["gate", "depot", "renew", "rollout", "über", "a", ""])
DOCUMENTS = st.lists(st.lists(TERMS, max_size=8), max_size=8)


@settings(max_examples=60, deadline=None)
@given(documents=DOCUMENTS, query=st.lists(TERMS, max_size=5))
def test_packed_documents_score_as_documents_of_terms_do(documents: list[list[str]], query: list[str]):
    ours = bm25.Packed([bm25.packed(d) for d in documents]).scores(query)

    np.testing.assert_allclose(ours, bm25.Index(documents).scores(query), rtol=1e-12)


def test_a_packed_document_holds_no_word_of_its_text():
    assert b"walrus" not in bm25.packed(["walrus", "walrus", "gate"])
    assert len(bm25.packed(["walrus", "walrus", "gate"])) == 2 * bm25.ENTRY.itemsize


@settings(max_examples=25, deadline=None)
@given(draw=st.randoms(use_true_random=False), some=st.lists(DOCUMENTS, min_size=2, max_size=8))
def test_documents_that_come_and_go_leave_what_packing_all_of_them_gives(
    draw: random.Random, some: list[list[list[str]]]
):
    held = [(some[0], packed(some[0]))]
    for new in some[1:]:
        documents, ours = held[-1]
        order = [n for n in range(len(documents)) if draw.random() < 0.8]
        for number in range(len(new)):
            order.insert(draw.randint(0, len(order)), len(documents) + number)
        both = [*documents, *new]
        held.append(([both[n] for n in order], ours.spliced(packed(new), np.array(order, np.int64))))

    for documents, ours in held:  # the earlier ones, too: whoever has them still uses them
        whole, group = packed(documents), np.array([draw.randint(-1, 2) for _ in documents], np.int32)
        assert ours.lengths.tolist() == whole.lengths.tolist()
        assert ours.breadth(group, 3).tolist() == whole.breadth(group, 3).tolist()
        for term in {t for d in documents for t in d}:
            assert ours.tf(term).tolist() == whole.tf(term).tolist()
        assert ours.scores(["gate", "a"]).tolist() == whole.scores(["gate", "a"]).tolist()
        told = ours.contents().tolist()
        held_alike = [[sorted(one) == sorted(other) for other in documents] for one in documents]
        assert [[one == other for other in told] for one in told] == held_alike


def packed(documents: list[list[str]]) -> bm25.Packed:
    return bm25.Packed([bm25.packed(d) for d in documents])
