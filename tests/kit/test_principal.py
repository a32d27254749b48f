"""Principals (P3.1): one spelling, and no look-alike is taken for another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.kit import principal


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("ann@example.com", "ann@example.com"),
        ("Ann@Example.COM", "ann@example.com"),
        ("GROUP:Sellers", "group:sellers"),
        ("service:crm", "service:crm"),
        ("public", "public"),
        ("e\u0301mile@example.com", "\u00e9mile@example.com"),
        ("\u0430nn@example.com", "\u0430nn@example.com"),
    ],
)
def test_the_canonical_spelling(written: str, kept: str):
    assert principal.canonical(written) == kept


@pytest.mark.parametrize(
    "written",
    [
        "", "ann", "*", "user:ann", "group:", "service:", "group:a:b", "a@b@c", " ann@example.com", "ann@example.com\n",
        "ann\u200b@example.com", "ann@exam\u202eple.com", "\u212aim@example.com", "group:a b", "group:*",
        "a" * 400 + "@b", "\ud800@example.com", "a\0@example.com",
    ],
)  # fmt: skip
def test_what_names_nobody(written: str):
    assert principal.canonical(written) is None


@given(text=st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=0x2FFF), max_size=12))
def test_the_canonical_spelling_is_its_own(text: str):
    once = principal.canonical(text + "@example.com")

    assert once is None or principal.canonical(once) == once


@given(text=st.text(alphabet=st.characters(min_codepoint=128), min_size=1, max_size=6))
def test_foreign_letters_never_become_ascii(text: str):
    once = principal.canonical(text + "@x.com")

    assert once is None or not once.split("@")[0].isascii()
