"""The rule of docs/design/suggestions.md, and the one that the gate adds for fields."""

import pytest

from ukai.gate import hints
from ukai.kit import suggest


@pytest.mark.parametrize(
    ("received", "known", "meant", "confidence"),
    [
        ("Small_Fix", ["small fix", "feature", "refactor"], "small fix", "exact"),
        ("smal fix", ["small fix", "feature", "refactor"], "small fix", "likely"),
        ("old-string", ["old_string", "new_string"], "old_string", "exact"),
        ("clasification", ["classification", "title"], "classification", "likely"),
        ("FOOBAR_INSTANCI", ["FOOBAR_INSTANCE", "FOOBAR"], "FOOBAR_INSTANCE", "likely"),
        ("cancelled", ["canceled", "pending"], "canceled", "likely"),
        ("action", ["generation", "hypothesis", "name", "smiles"], None, None),
        ("bug", ["bag", "bog"], None, None),
    ],
)
def test_a_name_is_suggested_only_when_it_is_plain(
    received: str, known: list[str], meant: str | None, confidence: str | None
):
    found = suggest.suggest(received, known)

    assert (found.name if found else None, found.confidence if found else None) == (meant, confidence)


@pytest.mark.parametrize(
    ("received", "known", "meant"),
    [
        ("maximum_keyword_difficulty", ["max_keyword_difficulty", "keyword"], "max_keyword_difficulty"),
        ("due_date", ["date", "due"], None),
        ("customer_name", ["name", "customer_id"], None),
        ("keyword_difficulty_max", ["max_keyword_difficulty"], None),
        ("number_of_employees", ["employees_number", "number_employees"], "number_employees"),
    ],
)
def test_a_field_is_also_found_by_its_words(received: str, known: list[str], meant: str | None):
    found = hints.field(received, known)

    assert (found.name if found else None) == meant
    assert suggest.suggest(received, known) is None
