"""What can be asked: some words. One rule for every door, and below all of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukai.kit import unicode
from ukai.kit.errors import PermanentError

MOST = 20_000
"""Characters."""
Question = Annotated[str, Field(max_length=MOST, json_schema_extra={"minLength": 1})]
"""As forms have it; that it says something is `asked`'s to find, so that every door says the same of one that does not.
"""


class NothingAsked(PermanentError):
    """The question says nothing."""

    hint = "write what you want to know as a sentence, with the names of what it is about"

    def __init__(self) -> None:
        super().__init__("the question is empty")


def asked(text: str) -> str:
    """`text` as it can be stored. Raises NothingAsked where all of it is blank."""
    if not text.strip():
        raise NothingAsked
    return unicode.storable(text)
