"""Patterns of fields, matched in linear time by RE2 (inside the CEL engine): none can hang the gate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

MAX_PATTERN = 1_000
"""Characters of a pattern."""

_ENV = cel.NewEnv(variables={"v": cel.Type.STRING})
_CATEGORY = re.compile(r"\\([pP])\{(?:General_Category=|gc=)?([A-Za-z_]+)\}")
# The long names of Unicode's general categories (UAX 44, table 12), which ECMA-262 allows and RE2 does not know.
_LONG = {
    "Letter": "L",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Other": "C",
    "Control": "Cc",
}


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> Callable[[str], bool] | str:
    """A function that says whether `pattern` occurs in a text, or the reason why the pattern cannot be used."""
    if len(pattern) > MAX_PATTERN:
        return f"longer than {MAX_PATTERN} characters"
    known = _CATEGORY.sub(lambda m: rf"\{m[1]}{{{_LONG.get(m[2], m[2])}}}", pattern)
    try:
        program = _ENV.compile(f"v.matches({json.dumps(known, ensure_ascii=False)})")
        first = _run(program, "")
    except RuntimeError as error:
        return _reason(str(error))
    if not isinstance(first, bool):
        return _reason(str(first))
    return lambda text: _run(program, text) is True


def _run(program: Any, text: str) -> Any:
    return program.eval(data={"v": text}).value()


def _reason(message: str) -> str:
    found = re.search(r"invalid (?:regular expression|regex): (.*)", message.splitlines()[0])
    return found.group(1) if found else message.splitlines()[0][:200]
