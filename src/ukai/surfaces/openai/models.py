"""`GET /v1/models`: one id for each agent that the caller may ask here."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ukai.app import agents
from ukai.app.identity import Caller
from ukai.app.reception import Reception
from ukai.surfaces import wire

CHANNEL = "openai"


async def asking(request: Request) -> tuple[Reception, Caller]:
    """The reception, and who asks. Raises NotKnown."""
    here: Reception = request.app.state.reception
    return here, await wire.caller(here, request.scope, CHANNEL)


async def listed(request: Request) -> Response:
    """All of them, by name; none of them with a `hint` why, which clients pass over."""
    here, who = await asking(request)
    found = agents.listed(here.engine, who, CHANNEL)
    document = {"object": "list", "data": [_model(a) for a in found]}
    return JSONResponse(document if found else {**document, "hint": agents.NONE})


async def one(request: Request) -> Response:
    """One of them. Raises NoAgent."""
    here, who = await asking(request)
    name = request.path_params["name"]
    agents.need(here.engine, who, CHANNEL, name)
    return JSONResponse(next(_model(a) for a in agents.listed(here.engine, who, CHANNEL) if a.name == name))


def _model(agent: agents.Listed) -> dict[str, Any]:
    return {
        "id": agent.name,
        "object": "model",
        "created": 0,
        "owned_by": "ukai",
        "name": agent.name,
        "description": agent.description,
    }
