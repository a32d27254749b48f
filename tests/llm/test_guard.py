"""Nothing in the suite asks a real model or leaves this machine."""

from __future__ import annotations

import asyncio
import socket

import httpx2
import pydantic_ai.models
import pytest

from tests import guard
from ukai.llm import config, models


async def test_a_provider_is_never_asked():
    model = models.build(config.ModelSpec(use="openai-chat:some-model"), environ={"OPENAI_API_KEY": "not-a-key"})

    with pytest.raises(RuntimeError, match="Model requests are not allowed"):
        await model.request([], None, pydantic_ai.models.ModelRequestParameters())


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_socket_to_elsewhere_is_refused(family: socket.AddressFamily):
    address = ("192.0.2.1", 443) if family == socket.AF_INET else ("2001:db8::1", 443)
    with socket.socket(family) as s:
        for name in ("connect", "connect_ex"):
            with pytest.raises(guard.NetworkInTests):
                getattr(s, name)(address)
    with socket.socket(family, socket.SOCK_DGRAM) as s, pytest.raises(guard.NetworkInTests):
        s.sendto(b"x", address)


def test_a_name_is_not_looked_up():
    with pytest.raises(guard.NetworkInTests):
        socket.getaddrinfo("api.example.com", 443)


async def test_a_client_library_runs_into_the_guard_as_well():
    with pytest.raises((guard.NetworkInTests, ExceptionGroup)) as caught:
        async with httpx2.AsyncClient(trust_env=False) as client:
            await client.get("http://192.0.2.1:9/")

    assert isinstance(caught.value, guard.NetworkInTests) or caught.value.subgroup(guard.NetworkInTests)


async def test_this_machine_is_reachable():
    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("localhost", port, family=socket.AF_INET)
        await served.wait()
        writer.close()
