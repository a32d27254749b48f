"""The OpenAI-compatible surface: every chat client that speaks `/v1` can ask agents (P4.4). One model is one agent."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Route

from ukai.app.reception import Reception
from ukai.surfaces.openai import chat, failures, models


def made(reception: Reception) -> Starlette:
    """The application below `/v1`."""
    app = Starlette(
        routes=[
            Route("/models", models.listed),
            Route("/models/{name}", models.one),
            Route("/chat/completions", chat.complete, methods=["POST"]),
        ],
        exception_handlers=failures.HANDLERS,
    )
    app.state.reception = reception
    return app
