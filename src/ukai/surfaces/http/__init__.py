"""The HTTP surface: deltas in, types, history and the feed out; what is refused as `application/problem+json`.

It answers as whoever stands at the desk that it is given; there is no login yet, so it is for this machine only.
"""

from __future__ import annotations

from fastapi import FastAPI

from ukai.app.desk import Desk
from ukai.surfaces.http import document, host, mutations, problems, reading


def made(desk: Desk) -> FastAPI:
    """The application, as one ASGI value. The desk stays open as long as it is used."""
    app = FastAPI(
        title="Ukai",
        summary="Propose changes to the gate, and read back what was written.",
        docs_url=None,  # its pages would load scripts from another site
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.desk = desk
    app.include_router(mutations.router)
    app.include_router(reading.router)
    problems.install(app)
    document.install(app)
    app.add_middleware(host.OnlyHere)
    return app
