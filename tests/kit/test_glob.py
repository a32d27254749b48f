"""Globs (P3.1, formats §6 and §7): one meaning in Python and in PostgreSQL."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ukai.kit import glob

ALPHABET = "ab/*?.+()[]{}^$|\\-_%'\"\n\té́😀 "
PATTERNS = st.text(alphabet=ALPHABET, max_size=12)
PATHS = st.text(alphabet=ALPHABET.replace("*", "").replace("?", ""), max_size=12)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("drive/legal/**", "drive/legal/nda/harbor", True),
        ("drive/legal/**", "drive/legal", True),
        ("drive/legal/**", "drive/legalese", False),
        ("drive/legal/**", "Drive/legal/a", False),
        ("drive/*/nda", "drive/legal/nda", True),
        ("drive/*/nda", "drive/legal/old/nda", False),
        ("**/nda", "nda", True),
        ("**/nda", "a/b/nda", True),
        ("a/**/b/**/c", "a/x/b/y/b/z/c", True),
        ("a/**/b/**/c", "a/x/c", False),
        ("slack/revenue-*/**", "slack/revenue-emea/2026/11", True),
        ("v?.txt", "v1.txt", True),
        ("v?.txt", "v/.txt", False),
        ("a.b", "axb", False),
        ("a*", "a\nb", True),
        ("a", "a\n", False),
        ("**", "", True),
        ("*", "a/b", False),
    ],
)
def test_what_a_pattern_covers(pattern: str, path: str, covered: bool):
    assert glob.compile(pattern).matches(path) is covered


def by_the_book(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return by_the_book(pattern[1:], path) or (bool(path) and by_the_book(pattern, path[1:]))
    return bool(path) and inside(pattern[0], path[0]) and by_the_book(pattern[1:], path[1:])


def inside(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return inside(pattern[1:], text) or (bool(text) and inside(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and inside(pattern[1:], text[1:])


@settings(max_examples=600)
@given(pattern=PATTERNS, path=PATHS)
def test_matching_follows_the_definition(pattern: str, path: str):
    assert glob.compile(pattern).matches(path) is by_the_book(pattern.split("/"), path.split("/"))


@settings(max_examples=400)
@given(pattern=st.text(alphabet="ab/*", max_size=14), path=st.text(alphabet="ab/", max_size=14))
def test_matching_follows_the_definition_where_stars_are_dense(pattern: str, path: str):
    assert glob.compile(pattern).matches(path) is by_the_book(pattern.split("/"), path.split("/"))


def test_a_pattern_full_of_stars_costs_no_time():
    started = time.perf_counter()

    assert not glob.compile("/".join(["**", "*a*a*a*a*a*a*a*b"] * 6)).matches("/".join(["a" * 60] * 40))

    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("pattern", ["", "/a", "a/", "a//b", "a**", "a/**b", "{a,b}", "[ab]", "a\\b", "a\0b", "\ud800"])
def test_patterns_that_would_silently_cover_less_are_problems(pattern: str):
    assert glob.problem(pattern)


@pytest.mark.parametrize("pattern", ["a", "a/**", "**", "a/*b?/c", "wiki/Überblick/*"])
def test_ordinary_patterns_are_none(pattern: str):
    assert glob.problem(pattern) == ""
