"""The model that needs no key and no network (X2): it plans tool calls by rules and answers in quoted, cited sentences.

It is deterministic, says in every answer that it is no language model, and says "not found" where the evidence does
not answer. Page: docs/design/extractive.md.
"""

from ukai.llm.extractive.answer import outcome_of
from ukai.llm.extractive.citation import Quote, quotes
from ukai.llm.extractive.model import Extractive, TextOnly

__all__ = ["Extractive", "Quote", "TextOnly", "outcome_of", "quotes"]
