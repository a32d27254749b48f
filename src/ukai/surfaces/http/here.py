"""What a request to this surface finds: the reception, and who asks."""

from __future__ import annotations

from fastapi import Request

from ukai.app import reception as receptions
from ukai.app.desk import Desk
from ukai.app.identity import Caller
from ukai.surfaces import wire

CHANNEL = "rest"


def reception(request: Request) -> receptions.Reception:
    """The one of this server."""
    return request.app.state.reception


async def asking(request: Request) -> Caller:
    """Who asks. Raises NotKnown."""
    return await wire.caller(reception(request), request.scope, CHANNEL)


async def desk(request: Request) -> Desk:
    """Where whoever asks proposes and reads back. Raises NotKnown."""
    return reception(request).desk(await asking(request), CHANNEL)
