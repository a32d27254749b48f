"""BM25: documents packed as numbers score as documents of terms do."""

from __future__ import annotations

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
