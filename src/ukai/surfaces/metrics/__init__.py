"""`GET /metrics`: the counts of this process for Prometheus (P2.2).

They name agents, tools and rules. Where there is a login, whoever reads them needs the right `audit`.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ukai.app import pulls, telemetry
from ukai.app.reception import Reception
from ukai.surfaces import wire

CHANNEL = "rest"


def routes() -> list[Route]:
    """What is added to an application that has a reception."""
    return [Route("/metrics", _metrics, methods=["GET"])]


async def _metrics(request: Request) -> Response:
    """Raises NotKnown, NoRight."""
    here: Reception = request.app.state.reception
    if here.login is not None:
        who = await wire.caller(here, request.scope, CHANNEL)
        here.desk(who, CHANNEL).standing.need("audit", "read the metrics")
    running, waiting = here.admission.running, here.admission.waiting
    opened = here.engine
    now = opened.clock.now()
    await telemetry.measured(opened.db, cache=opened.cache, running=running, waiting=waiting, at=now)
    await pulls.measured(opened.db, opened.connectors, at=now)
    return PlainTextResponse(telemetry.METRICS.exposition(), media_type=telemetry.MEDIA)
