"""What docs/reference/models.md shows for each server works with a server that takes nothing but its own form (C26)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.models import override_allow_model_requests

from tests.llm import servers
from ukai.kit import document
from ukai.llm import asking, config, models, reranker

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "models.md"
TEXTS = ["a text " * n for n in range(1, 51)]
SERVERS = {"cohere": servers.cohere, "jina": servers.jina, "tei": servers.tei, "vllm": servers.vllm}
PATHS = {"cohere": "/v2", "jina": "/v1", "tei": "", "vllm": "/v1"}


def shown() -> dict[str, config.RerankerSpec]:
    """The rerankers of the page."""
    text = re.search(r"```yaml file=models.yaml\n(rerankers:\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert text
    doc, _ = document.read(text[1].encode(), name="models.yaml")
    assert doc is not None
    found, findings = config.read(doc)
    assert found is not None, findings
    return dict(found.rerankers)


def of(name: str, url: str, key: str = servers.KEY) -> reranker.Reranker:
    spec = replace(shown()[name], base_url=url + PATHS[name], key="KEY")
    return reranker.Reranker(spec=spec, environ={"KEY": key})


@pytest.mark.parametrize("name", SERVERS)
async def test_each_scores_every_text_by_the_configuration_of_the_page(name: str):
    served = SERVERS[name]()
    long = [*TEXTS, "a very long text " * 400]

    async with servers.running(served) as url:
        scored = await of(name, url).scored("What?", long)

    assert [round(s * 1_000) for s in scored.scores] == [len(t) for t in long]
    assert scored.tokens == {"cohere": 0, "jina": 815, "tei": 0, "vllm": 56}[name]
    assert len(served.asked) == (2 if name == "tei" else 1)


@pytest.mark.parametrize("name", SERVERS)
async def test_each_refusal_says_what_to_look_at_and_repeats_nothing(name: str):
    limited = replace(SERVERS[name](), limited=1)
    async with servers.running(limited) as url:
        with pytest.raises(reranker.RerankerBusy, match="answered with 429") as busy:
            await of(name, url).score("What?", TEXTS)
        with pytest.raises(reranker.RerankerRefused, match="answered with 401") as refused:
            await of(name, url, key="another").score("What?", TEXTS)
        spec = replace(of(name, url).spec, base_url=f"{url}/elsewhere")
        with pytest.raises(reranker.RerankerFailed, match="answered with 404"):
            await reranker.Reranker(spec=spec, environ={"KEY": servers.KEY}).score("What?", TEXTS)

    assert "ask less often" in str(busy.value)
    assert "`key`" in str(refused.value)
    assert "another" not in str(refused.value)


@pytest.mark.parametrize(("name", "made"), [("tei", servers.vllm), ("cohere", servers.tei), ("vllm", servers.jina)])
async def test_another_language_than_the_server_s_is_told(name: str, made: Callable[[], servers.Served]):
    served = made()
    async with servers.running(served) as url:
        asker = of(name, url)
        spec = replace(asker.spec, base_url=url + served.path.removesuffix("/rerank"))
        with pytest.raises(reranker.RerankerUnfit, match="answered with 400") as caught:
            await replace(asker, spec=spec).score("What?", TEXTS)

    assert "`speaks`, `batch` and `more`" in str(caught.value)


async def test_a_server_that_takes_fewer_at_once_is_asked_in_smaller_batches():
    served = servers.tei(at_once=8)
    async with servers.running(served) as url:
        asker = of("tei", url)
        with pytest.raises(reranker.RerankerUnfit, match="413"):
            await asker.score("What?", TEXTS)
        served.asked.clear()
        scores = await replace(asker, spec=replace(asker.spec, batch=8)).score("What?", TEXTS)

    assert [round(s * 1_000) for s in scores] == [len(t) for t in TEXTS]
    assert len(served.asked) == 7


CHATS = {"openai-chat:m": servers.openai, "anthropic:m": servers.anthropic}


@pytest.mark.parametrize("use", CHATS)
async def test_a_chat_model_that_ranks_is_asked_in_its_provider_s_form(use: str):
    served = CHATS[use]("[2, 0, 1]")
    path = "/v1" if use.startswith("openai") else ""
    # Nothing leaves this machine: the guard that keeps models from being asked is lifted for this one server.
    async with servers.running(served) as url:
        spec = config.ModelSpec(use=use, base_url=url + path, key="KEY")
        asked = asking.Asking(use, lambda: models.build(spec, environ={"KEY": servers.KEY}))
        with override_allow_model_requests(True):
            said = await asked.ask("Which of these?", seed=42)

    assert said == "[2, 0, 1]"
    assert served.asked[0].get("seed") == (42 if use.startswith("openai") else None)
