"""The page, in Chromium: ask with the keyboard, watch, open a source, see why; and nothing foreign runs or loads."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Error, Page, async_playwright, expect

from tests import scratch
from tests.app import build
from tests.surfaces import world
from ukai import store
from ukai.app import propose
from ukai.llm.scripted import Asked, Call, Wait

ANSWER = """\
It is about a **retry** [PullRequest#api:1/title].

| what | cost |
|---|---|
| all | 12 |

<img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script>
![picture](https://evil.example.com/x.png) [press](javascript:document.title='pwned')
"""


@asynccontextmanager
async def browser_page() -> AsyncGenerator[Page]:
    """A page of the system's Chromium, or of playwright's own. In CI its absence is a failure."""
    async with async_playwright() as play:
        try:
            browser = await play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        except Error as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no Chromium here: {error.message.splitlines()[0]}")
        try:
            page = await browser.new_page(color_scheme="dark")
            page.set_default_timeout(10_000)
            yield page
        finally:
            await browser.close()


def scoped() -> Any:
    """The company whose helper has a scope, so that a document is composed before it answers."""
    skill = world.SKILL.format(name="helper").replace("---\nAnswer", 'scope: {globs: ["github/**"]}\n---\nAnswer')
    return world.read(world.written(scratch.folder("ukai-page-"), {**world.FILES, "agents/helper/SKILL.md": skill}))


async def test_one_asks_watches_opens_a_source_and_sees_why(database: store.Database):
    desk = await build.opened(database)
    await propose.submit(desk, propose.Given(value=build.delta(build.pull(1))))
    go_on, never = asyncio.Event(), asyncio.Event()

    def second(asked: Asked) -> Any:
        return (
            Wait(never.wait, then="never") if "wait forever" in str(asked.messages) else Wait(go_on.wait, then=ANSWER)
        )

    says = world.saying(Call("read_record", {"handle": "PullRequest#api:1"}), second)
    requests: list[str] = []
    async with world.served(world.here(world.opened(database, scoped(), says=says))) as url, browser_page() as page:
        page.on("request", lambda request: requests.append(request.url))
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        await page.goto(url)

        # Everything can be reached and is named.
        await expect(page.get_by_role("combobox", name="Agent")).to_have_value("helper")
        await expect(page.get_by_text("Answers questions about helper.")).to_be_visible()
        question = page.get_by_role("textbox", name="Question")
        await question.fill("How is it?")
        await question.press("Control+Enter")

        # What is being done is said aloud; no word of the answer is there.
        status = page.get_by_role("status")
        await expect(status).to_contain_text("read_record")
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        assert "about a" not in await page.content()
        go_on.set()

        answer = page.get_by_role("article").first
        await expect(answer.locator("strong")).to_have_text("retry")
        await expect(answer.get_by_role("cell", name="12")).to_be_visible()
        assert await answer.locator("img, script, a[href^='javascript']").count() == 0
        assert await page.title() == "Ask · acme"
        assert await page.evaluate("document.activeElement.tagName") == "ARTICLE"

        # A citation leads to its source, and that opens.
        await answer.get_by_role("link", name="source 1").click()
        await answer.locator("summary", has_text="PullRequest#api:1/title").press("Enter")
        await expect(answer.get_by_text("title: Retry")).to_be_visible()

        # Light and dark.
        ground = "getComputedStyle(document.body).backgroundColor"
        dark = await page.evaluate(ground)
        await page.get_by_role("button", name="Light or dark").click()
        assert await page.evaluate(ground) != dark

        # What is stopped ends.
        await question.fill("wait forever")
        await page.get_by_role("button", name="Ask").press("Enter")
        await expect(page.get_by_role("status").first).to_contain_text("read_record")
        await page.get_by_role("button", name="Stop").press("Enter")
        await expect(page.get_by_role("article").first).to_contain_text("Stopped.")

        # Why.
        await page.get_by_role("link", name="Why this answer").click()
        await expect(page.get_by_role("cell", name="read_record")).to_be_visible()
        for heading in ("What was looked up", "Rules", "Access", "Documents composed", "Checks", "What it took"):
            await expect(page.get_by_role("heading", name=heading)).to_be_visible()
        await expect(page.get_by_role("cell", name="citations")).to_be_visible()
        await page.get_by_text("tokens used").first.click()
        await expect(page.get_by_role("cell", name="PullRequest#api:1").first).to_be_visible()

    assert {request[: len(url)] for request in requests} == {url}
    assert [c for c in complaints if "favicon" not in c] == []
