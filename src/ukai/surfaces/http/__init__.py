"""The HTTP surface: questions and their runs, deltas, types, history; what is refused as `application/problem+json`."""

from __future__ import annotations

from fastapi import FastAPI

from ukai.app.reception import Reception
from ukai.surfaces.http import (
    asking,
    context,
    deciding,
    document,
    health,
    host,
    log,
    mutations,
    problems,
    reading,
    runs,
    undoing,
)


def made(reception: Reception) -> FastAPI:
    """The application, as one ASGI value; other surfaces are mounted on it."""
    app = FastAPI(
        title="Ukai",
        summary="Ask agents, see why they answered so, and propose changes to the gate.",
        docs_url=None,  # its pages would load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.reception = reception
    for part in (asking, runs, context, deciding, mutations, undoing, reading, health):
        app.include_router(part.router)
    problems.install(app)
    document.install(app)
    app.add_middleware(host.OnlyMeant, reception=reception)
    app.add_middleware(log.Logged)  # before it, so that what it refuses is told too
    return app
