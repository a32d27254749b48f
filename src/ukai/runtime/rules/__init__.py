"""How a guardrail decides: one file a kind, and all there are in one place (P4.3).

A kind is a function of a rule, a text and what the turn knows. It says where the rule fires, or that it cannot tell;
what follows from that is the engine's business. Kinds that code decides need no model and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ukai.runtime.guardrail import Kind
from ukai.runtime.rules import figure, pattern, word
from ukai.runtime.rules.judged import Decide

BY_CODE: Mapping[Kind, Decide] = {"pattern": pattern.decide, "list": word.decide, "figure": figure.decide}
"""The others are judged by a model: `rules.by_model`, or without one `rules.by_example`."""

__all__ = ["BY_CODE"]
