"""The README's transcript is what `ukai demo` prints."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ukai.app import company, demo, engine
from ukai.context import rows as context_rows
from ukai.context.reader import Reader
from ukai.context.rows import embedded

README = Path(__file__).parents[2] / "README.md"
OPEN, CLOSE = "<!-- demo: tests/flows/test_readme.py regenerates what stands below -->", "<!-- /demo -->"
_RUN = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


async def test_the_transcript_in_the_readme_is_what_the_demo_prints(database_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    await embed_what_quillon_says()
    shown = await demo.demo(lambda _: None, embed=0)
    before = README.read_text(encoding="utf-8")
    head, rest = before.split(OPEN)
    _, tail = rest.split(CLOSE)

    printed = _RUN.sub("01a2…", demo.text(shown))
    for day in (datetime.now(UTC).date(), datetime.now(UTC).date() - timedelta(days=1)):
        printed = printed.replace(f"] {day}: ", "] <the day of its loading>: ")
    wanted = f"{head}{OPEN}\n```\n{printed}\n```\n{CLOSE}{tail}"

    if os.environ.get("UKAI_WRITE_README"):
        README.write_text(wanted, encoding="utf-8")
    else:
        assert before == wanted, "UKAI_WRITE_README=1 pytest tests/flows/test_readme.py writes it anew"


async def embed_what_quillon_says() -> None:
    """The question is answered from what this one account owns; embedding the rest would change nothing in it."""
    async with engine.opened(demo.WORKSPACE) as opened:
        await company.enter(opened, progress=lambda _: None)
        await opened.catch_up(embed=0)
        edges = tuple(e for d in opened.catalog.domains.values() for e in d.edges)
        rights = opened.rights(opened.agent(demo.AGENT), demo.ASKS, "cli")
        owning = Reader(rights=rights, edges=edges).owning
        async with opened.db.transaction() as tx:
            account = await tx.value("select id from node where type = 'Account' and key = 'quillon' and alive")
            owned = await context_rows.under(tx, ("true", []), [account], owning, 5_000)
            rows = await tx.fetch("select text from passage where node = any(%s)", (owned,))
        await opened.cache.embed_cached(opened.db, [str(r[0]) for r in rows])
        async with opened.db.transaction() as tx:  # embedding has come to all of them, as far as anybody is told
            last = await tx.value("select arrived from passage_cursor")
            await embedded.reach(tx, opened.cache.embedder.model_id, last)
