"""The A2A surface, protocol 1.0: a card for each agent, and its JSON-RPC `SendMessage` and `SendStreamingMessage`.

A task is a run: it is told what is being done, and its one artifact is the answer, sent whole after every rule (P4.5).
Tasks are not kept for later questions; whoever needs them reads the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ukai.app import agents, live
from ukai.app.reception import Reception
from ukai.surfaces import wire
from ukai.surfaces.a2a import messages
from ukai.surfaces.a2a.card import card

CHANNEL = "a2a"
CARD = "/.well-known/agent-card.json"


def routes() -> list[Route]:
    """What is added to an application that has a reception."""
    return [
        Route(CARD, _only_card, methods=["GET"]),
        Route("/a2a/{agent}" + CARD, _card, methods=["GET"]),
        Route("/a2a/{agent}", _call, methods=["POST"]),
    ]


async def _only_card(request: Request) -> Response:
    """Of the one agent that is served here; several have a card each."""
    here: Reception = request.app.state.reception
    served = _served(here)
    if len(served) == 1:
        return JSONResponse(card(here, served[0], base=_base(request, here)))
    return JSONResponse({"cards": [f"/a2a/{name}{CARD}" for name in served]}, status_code=404)


async def _card(request: Request) -> Response:
    here: Reception = request.app.state.reception
    name = request.path_params["agent"]
    if name not in _served(here):
        raise agents.NoAgent(name, [])
    return JSONResponse(card(here, name, base=_base(request, here)))


def _served(here: Reception) -> list[str]:
    """Those whose own files say that other agents may know of them."""
    opened = here.engine
    return sorted(
        n for n, a in opened.catalog.agents.items() if CHANNEL in a.channels and not opened.loaded.blocking(n)
    )


def _base(request: Request, here: Reception) -> str:
    return here.url or str(request.base_url).rstrip("/")


async def _call(request: Request) -> Response:
    """One JSON-RPC call. Raises NotKnown, and what asking raises."""
    here: Reception = request.app.state.reception
    who = await wire.caller(here, request.scope, CHANNEL)
    try:
        call = messages.read(await wire.body(request))
    except messages.Wrong as wrong:
        return JSONResponse(wrong.document())
    question = live.Question(
        agent=request.path_params["agent"],
        text=call.text,
        caller=who,
        surface=CHANNEL,
        conversation=call.context,
    )
    if not call.is_stream:
        outcome = await wire.while_here(request, live.outcome(here, question))
        return JSONResponse(None if outcome is None else call.result({"task": messages.task(call, outcome)}))
    async with AsyncExitStack() as stack:
        stream = await stack.enter_async_context(live.asked(here, question))
        return wire.Stream(_events(call, stream), stack.pop_all())
    raise AssertionError("a stack passes on what happens inside")


async def _events(call: messages.Call, stream: Any) -> AsyncIterator[bytes]:
    async for told in stream:
        for part in messages.told(call, told):
            yield wire.event(call.result(part))
