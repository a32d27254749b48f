"""No test reaches a model or a network: the model library refuses requests, and sockets stay on this machine.

Two layers, since a provider's client that is called past the library would still open a connection. A test that speaks
a provider's wire format uses an in-process transport and lifts the first layer for itself.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pydantic_ai.models
import pytest


class NetworkInTests(AssertionError):
    """A test wanted to leave this machine."""


def is_here(address: object) -> bool:
    """Whether a socket address (or a host) lies on this machine."""
    if isinstance(address, bytes):
        address = address.decode("utf-8", "replace")
    if isinstance(address, tuple):
        address = address[0]
    if address is None or address in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(address).partition("%")[0]).is_loopback
    except ValueError:
        return str(address).startswith("/")


def _guarded(name: str) -> Any:
    original = getattr(socket.socket, name)

    def method(self: socket.socket, *args: Any) -> Any:
        to = args[-1]
        if self.family in (socket.AF_INET, socket.AF_INET6) and not is_here(to):
            raise NetworkInTests(f"tests do not leave this machine: socket.{name} to {to!r}")
        return original(self, *args)

    return method


@pytest.fixture(scope="session", autouse=True)
def nothing_leaves_this_machine() -> Iterator[None]:
    """For the whole run."""
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_here(host):
            raise NetworkInTests(f"tests do not leave this machine: a look-up of {host!r}")
        return look_up(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", False)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, _guarded(name), raising=False)
        yield
