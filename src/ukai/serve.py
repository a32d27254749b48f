"""One process that serves: it opens the workspace once and mounts the surfaces that are asked for."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from ukai.app import desk
from ukai.kit.errors import PermanentError
from ukai.surfaces import http

Ready = Callable[[str], None]


class NotHere(PermanentError):
    """An address that others can reach."""

    hint = "there is no login yet, and whoever reached it would act as the local principal: use 127.0.0.1"


class NoPort(PermanentError):
    """The address cannot be listened on."""

    hint = "another program may use the port: --port 0 takes a free one"


def serve(workspace: Path, *, host: str, port: int, ready: Ready) -> None:
    """Serve until interrupted. `ready` is called with the address once it can be reached. Raises NotHere, NoPort."""
    if not is_loopback(host):
        raise NotHere(f"{host!r} is not an address of this machine alone")
    with _bound(host, port) as listening:
        asyncio.run(_serve(workspace, listening, ready))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address; a name other than localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _serve(workspace: Path, listening: socket.socket, ready: Ready) -> None:
    async with desk.opened(workspace, channel="rest") as opened:
        config = uvicorn.Config(http.made(opened), log_level="warning", server_header=False, lifespan="off")
        ready(_url(listening))
        await uvicorn.Server(config).serve(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """Bound before anything is opened, so that the port is known and taken."""
    name = "127.0.0.1" if host == "localhost" else host
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((name, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise NoPort(f"{host}:{port} cannot be listened on: {error.strerror}") from None
    return found


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
