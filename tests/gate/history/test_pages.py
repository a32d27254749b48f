"""The code of the pages runs."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gate import world
from tests.gate.world import change, done, town
from ukai import gate, store
from ukai.gate import feed, history

DOCS = Path(__file__).parents[3] / "docs" / "reference"


@pytest.mark.parametrize("page", ["history.md", "change-feed.md"])
async def test_the_code_of_a_page_runs(page: str, database: store.Database):
    await world.upload(database)
    await done(database, town("a", motto="the old bridge"))
    await done(database, change("Town#a", size=2))
    names: dict[str, Any] = {"db": database, "rights": gate.ALL, "feed": feed, "history": history, "seen": []}

    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL):
        code = compile(block, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        running = eval(code, names)
        if inspect.isawaitable(running):
            await running

    assert names["seen"] in ([], ["Town#a", "Town#a"])
    assert [c.handle for c in names.get("found", [])] in ([], ["Town#a"])
