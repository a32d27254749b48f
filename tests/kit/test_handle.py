import pytest
from hypothesis import given
from hypothesis import strategies as st

from ukai.kit import handle, unicode

TEXTS = st.text(min_size=1, max_size=12).filter(lambda t: t.isprintable())


@pytest.mark.parametrize(
    ("text", "type", "values", "part"),
    [
        ("Call#harbor-12/turn/31", "Call", ("harbor-12",), ("turn", "31")),
        ("PullRequest#api:42", "PullRequest", ("api", "42"), ()),
        ("PullRequest#octo%2Fapi:42/title", "PullRequest", ("octo/api", "42"), ("title",)),
        ("Person#ann@example.com", "Person", ("ann@example.com",), ()),
    ],
)
def test_a_handle_is_read_and_written(text: str, type: str, values: tuple[str, ...], part: tuple[str, ...]):
    found = handle.parse(text)

    assert found is not None
    assert (found.type, found.values, found.part) == (type, values, part)
    assert str(found) == text
    assert str(found.whole) == text.split("/")[0]


@pytest.mark.parametrize(
    "text", ["", "Call", "Call#", "#x", "Call#a b", "Call#a#b", "Call#a//b", "Call#a/", "2x#a", "Ca ll#a"]
)
def test_what_is_no_handle_is_none(text: str):
    assert handle.parse(text) is None


@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=2))
def test_any_values_travel_through_a_handle(values: list[str], part: list[str]):
    made = handle.Handle(type="Thing", key=handle.key_of(values), part=tuple(part))

    assert handle.parse(str(made)) == made
    assert made.values == tuple(values)


def test_a_name_in_which_nothing_is_encoded_may_stand_for_several():
    found = [str(h) for h in handle.unencoded("Page#wiki/a b/body", 1)]

    assert found == ["Page#wiki%2Fa%20b%2Fbody", "Page#wiki%2Fa%20b/body", "Page#wiki/a%20b/body"]
    assert [str(h) for h in handle.unencoded("Table#main:a:b", 2)] == ["Table#main:a%3Ab"]
    assert len(handle.unencoded("Page#" + "a/" * 999, 1)) == handle.PIECES


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=2))
def test_what_is_written_between_brackets_names_the_same_record(values: list[str]):
    key = handle.key_of(values)

    written = f"[{handle.shown(f'Thing#{key}')}]"

    assert handle.IN_BRACKETS.fullmatch(written)
    assert unicode.UNSEEN.search(written) is None
    assert set("{},").isdisjoint(written)
    assert handle.parse(written[1:-1]) == handle.Handle(type="Thing", key=key)


def test_a_key_that_reads_as_a_list_of_keys_is_shown_as_one():
    assert handle.shown("Firm#{alder,birch}") == "Firm#%7Balder%2Cbirch%7D"
    assert handle.parse("Firm#%7Balder%2Cbirch%7D") == handle.parse("Firm#{alder,birch}")


def test_a_character_that_no_database_holds_is_in_no_handle():
    assert handle.parse("Call#a\0b") is None
