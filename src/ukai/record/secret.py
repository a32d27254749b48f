"""Secrets are masked before a run is kept: keys and tokens by their form, values by the name they stand under.

A mask has the length of what it hides, so that offsets stay true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

MASK = "*"

_FORMS = re.compile(
    r"""
    \b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,40}[-_]){0,6}[A-Za-z0-9_-]{16,200}
  | \b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,255} | \bgithub_pat_[A-Za-z0-9_]{20,255}
  | \bglpat-[A-Za-z0-9_-]{16,64} | \b(?:gsk|hf|xai)[-_][A-Za-z0-9]{16,200}
  | \bxox[abeoprs]-[A-Za-z0-9-]{10,250} | \bxapp-[A-Za-z0-9-]{10,250}
  | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,60} | \bya29\.[A-Za-z0-9_-]{20,500}
  | \beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}
  | (?<=Bearer[ ])[A-Za-z0-9._~+/=-]{12,4000} | (?<=Basic[ ])[A-Za-z0-9+/=]{12,4000}
  | -----BEGIN[ ](?:[A-Z]{1,20}[ ]){0,4}PRIVATE[ ]KEY-----[^-]{1,20000}
  | (?<=://)[^\s:/@]{0,200}:[^\s/@]{1,200}(?=@)
  | (?i:(?<![a-z])(?:password|passwd|api[_-]?key|secret|access[_-]?token)["']?[ ]?[=:][ ]?["']?
      (?P<value>[^\s"',;&}\]]{4,500}))
    """,
    re.X,
)
_NAMES = re.compile(
    r"(?:^|[_-])(?:password|passwd|passphrase|secret|api_?key|token|authorization|credentials?|cookie|private_?key)$",
    re.I,
)


def masked(text: str) -> str:
    """`text` with what looks like a secret hidden."""
    return _FORMS.sub(_hide, text)


def masked_value(value: Any) -> Any:
    """A JSON value with secrets hidden in every text, and whole where a member's name says that it is one."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {_name(k): _hidden(v) if _is_secret(k) else masked_value(v) for k, v in members.items()}
    if isinstance(value, list | tuple):
        return [masked_value(part) for part in cast("list[Any]", value)]
    return value


@lru_cache(maxsize=4_096)
def _name(name: str) -> str:
    """The same names come with every item."""
    return masked(name)


@lru_cache(maxsize=4_096)
def _is_secret(name: str) -> bool:
    return _NAMES.search(name) is not None


def _hidden(value: Any) -> Any:
    return MASK * len(value) if isinstance(value, str) else MASK * 3 if value else value


def _hide(match: re.Match[str]) -> str:
    whole = match.group()
    if match["value"] is None:
        return MASK * len(whole)
    start = match.start("value") - match.start()
    return whole[:start] + MASK * len(match["value"]) + whole[start + len(match["value"]) :]
