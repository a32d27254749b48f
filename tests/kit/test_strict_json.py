import base64
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import shared
from ukai.kit import strict_json

CASES = shared.DATA / "nasties" / "json_parsing.jsonl"


def codes(text: str | bytes, **limits: int) -> list[str]:
    return [f.code for f in strict_json.loads(text, strict_json.Limits(**limits))[1]]


@shared.needs("nasties", "json_parsing.jsonl")
def test_every_public_case_is_read_or_refused_as_it_expects():
    wrong: list[str] = []
    for line in CASES.read_text().splitlines():
        case = json.loads(line)
        _, findings = strict_json.loads(base64.b64decode(case["b64"]))
        if case["expect"] != "i" and ("n" if findings else "y") != case["expect"]:
            wrong.append(case["file"])

    assert wrong == []


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ('{"a": [NaN]}', "json_constant", ""),
        ("[-Infinity]", "json_constant", ""),
        ('{"a": {"b": 1, "b": 2}}', "duplicate_key", "/a/b"),
        ('["x", "\\ud800"]', "lone_surrogate", "/1"),
        ('{"\\udfff": 1}', "lone_surrogate", ""),
        ("[1e99999]", "number_too_long", ""),
        ("[" + "1" * 1001 + "]", "number_too_long", ""),
        ('{"a": 1,}', "json_syntax", "json:1:9"),
        ("", "json_syntax", "json:1:1"),
        (b"\xff", "encoding", ""),
        ("\ufeff{}", "encoding", ""),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_place(text: str | bytes, code: str, where: str):
    value, findings = strict_json.loads(text)

    assert value is None
    assert (findings[0].code, findings[0].where) == (code, where)
    assert findings[0].hint


def test_depth_is_bounded_far_below_the_stack():
    assert codes("[" * 64 + "]" * 64) == []
    assert codes("[" * 65 + "]" * 65) == ["too_deep"]
    assert codes("[" * 100_000) in (["too_deep"], ["json_syntax"])
    assert codes('{"a":' * 100_000) in (["too_deep"], ["json_syntax"])


def test_size_is_bounded_before_anything_is_read():
    assert codes('"aaaa"', bytes=5) == ["too_large"]


def test_numbers_stay_as_they_were_written():
    value, _ = strict_json.loads("[12345678901234567.89, 1.0, 12345678901234567890123]")

    assert value == [Decimal("12345678901234567.89"), Decimal("1.0"), 12345678901234567890123]
    assert [type(v) for v in value] == [Decimal, Decimal, int]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_what_json_writes_is_read_back(value: object):
    assert strict_json.loads(json.dumps(value)) == (value, [])


@given(st.binary(max_size=60))
def test_no_bytes_raise(raw: bytes):
    strict_json.loads(raw)
