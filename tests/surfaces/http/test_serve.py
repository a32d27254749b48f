"""`ukai serve` on a real socket, and nowhere but on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.app import build
from ukai import serve, store

ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "UKAI_DEBUG"}


@pytest.fixture
async def uploaded(database: store.Database) -> None:
    await build.opened(database)


@pytest.mark.usefixtures("uploaded")
def test_what_is_served_answers_over_a_socket_and_ends_when_asked(tmp_path: Path, database_url: str):
    build.workspace(tmp_path)
    server = subprocess.Popen(
        [sys.executable, "-m", "ukai", "serve", "--port", "0", "--json", "--workspace", str(tmp_path)],
        env={**ENVIRONMENT, "UKAI_DATABASE_URL": database_url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        document = "".join(server.stdout.readline() for _ in range(3))
        url = document.split('"')[3]
        with httpx.Client(base_url=url) as web:
            home = web.get("/")
            health = web.get("/healthz")
            done = web.post("/mutations", json=build.delta(build.pull(1)))
            huge = web.post("/mutations", content=b" " * (3 << 20), headers={"Content-Type": "application/json"})
    finally:
        server.terminate()
        _, complaints = server.communicate(timeout=20)

    assert home.headers["location"] == "/page/"
    assert (health.json(), done.status_code, huge.status_code) == ({"ok": True}, 200, 413)
    assert "server" not in health.headers
    assert "Traceback" not in complaints


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_an_address_that_others_reach_is_refused(tmp_path: Path, host: str):
    build.workspace(tmp_path)

    with pytest.raises(serve.NotHere, match="there is no login"):
        serve.serve(tmp_path, host=host, port=0, ready=lambda _: None)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_s_addresses_are_its_own(host: str):
    assert serve.is_loopback(host)


def test_a_port_that_is_taken_is_said(tmp_path: Path):
    with serve._bound("127.0.0.1", 0) as taken, pytest.raises(serve.NoPort, match="cannot be listened on"):  # pyright: ignore[reportPrivateUsage]
        serve.serve(tmp_path, host="127.0.0.1", port=taken.getsockname()[1], ready=lambda _: None)


def test_a_command_line_without_a_server_says_so():
    from typer.testing import CliRunner

    from ukai.surfaces.cli import app

    assert CliRunner().invoke(app, ["serve"]).exit_code == 2
