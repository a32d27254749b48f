"""One process that serves: it opens the workspace once and mounts the surfaces (P2.1, P4.4)."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from ukai.app import engine, following, nightly, pulls, reception, reload, telemetry, watching
from ukai.kit import heap
from ukai.kit.errors import PermanentError
from ukai.surfaces import a2a, agui, http, mcp, metrics, openai, web

Ready = Callable[[str], None]
BY_ITSELF = (nightly.watched, pulls.watched)
"""What a server starts when it is due, one kind a name."""
POINTER = "SKILL_NAME"
"""The environment variable that names the one agent of this process; without it all are served."""


class NotHere(PermanentError):
    """An address that others can reach."""

    hint = "whoever reached it would act as the local principal: configure `login:` in ukai.yaml, or use 127.0.0.1"


class NoSlack(PermanentError):
    """It is not known which agent answers in Slack, or what speaks to Slack is missing."""

    hint = "install the extra `slack`, in the clone: pip install '.[slack]'"


class NoPort(PermanentError):
    """The address cannot be listened on."""

    hint = "another program may use the port: --port 0 takes a free one"


def serve(
    workspace: Path,
    *,
    host: str,
    port: int,
    ready: Ready,
    slack: bool = False,
    schedules: bool = True,
    log: str = "info",
    changed: Ready | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Serve until interrupted. `ready` is called with the address once it can be reached.

    `slack`: the agent of the pointer, or the only one in Slack, answers there too. `schedules`: what ukai.yaml wants
    every night, and what embeds many texts, is started from here, in a process of its own. `log`: from which level on
    lines are written to stderr.
    `changed`: saved files count from the next question on, and it is told what they came to.
    Raises NotHere, NoPort, NotSet, NoKeys, and NotServed where the agent of the pointer has errors.
    """
    if not is_loopback(host) and not reception.has_login(workspace):
        raise NotHere(f"{host!r} is not an address of this machine alone, and there is no login")
    _log_from(log)
    with _bound(host, port) as listening:
        asyncio.run(
            _serve(workspace, listening, ready, slack=slack, schedules=schedules, changed=changed, environ=environ)
        )


def stdio(workspace: Path, *, environ: Mapping[str, str] = os.environ) -> None:
    """Serve MCP over standard input and output, as the local principal. Raises NobodyActs, NotServed."""

    async def run() -> None:
        async with engine.opened(workspace, environ=environ, only=environ.get(POINTER) or None) as opened:
            _pointed(opened, environ)
            await mcp.stdio(reception.of(lambda: opened, environ=environ))

    asyncio.run(run())


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address; a name other than localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def mounted(here: reception.Reception, stack: AsyncExitStack, environ: Mapping[str, str]) -> FastAPI:
    """The application with every surface on it; what they hold open is on the stack."""
    app = http.made(here)

    def current() -> reception.Reception:
        return app.state.reception

    app.router.routes += [
        Route("/", _to_page),
        Mount("/page", web.made(here, environ=environ)),
        Mount("/v1", openai.made(here)),
        Route(mcp.METADATA, mcp.metadata),
        Route("/mcp", await stack.enter_async_context(mcp.mounted(current))),
        *a2a.routes(),
        *agui.routes(),
        *metrics.routes(),
    ]
    return app


def _log_from(level: str) -> None:
    """Lines with time and level on stderr, ours from `level` on; who has set up logging before keeps it."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    logging.getLogger("ukai").setLevel(level.upper())


async def _to_page(request: Request) -> Response:
    return RedirectResponse("/page/", status_code=303)


async def _serve(
    workspace: Path,
    listening: socket.socket,
    ready: Ready,
    *,
    slack: bool,
    schedules: bool,
    changed: Ready | None,
    environ: Mapping[str, str],
) -> None:
    async with AsyncExitStack() as stack:
        only = environ.get(POINTER) or None
        opened = await stack.enter_async_context(engine.opened(workspace, environ=environ, only=only))
        _pointed(opened, environ)
        telemetry.start(environ, opened.stamp)
        current = reload.Current(engine=opened, only=only)
        here = reception.of(current, environ=environ)
        app = await mounted(here, stack, environ)
        if slack:
            await _in_slack(here, app, stack, environ)
        files = _watched(current, changed) if changed is not None else reload.told(opened.root)
        await stack.enter_async_context(files)
        spawn = watching.spawned if schedules else following.left
        await stack.enter_async_context(following.watched(current, spawn=spawn))
        if schedules:
            for watched in BY_ITSELF:
                await stack.enter_async_context(watched(opened))
        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            lifespan="off",
            # Who connects is what the socket says: headers about it are believed from one named proxy alone.
            proxy_headers=False,
            timeout_graceful_shutdown=opened.catalog.settings.serve.drain_s,
        )
        heap.settle()
        ready(_url(listening))
        await _Server(config, here).serve(sockets=[listening])


async def _in_slack(here: reception.Reception, app: FastAPI, stack: AsyncExitStack, environ: Mapping[str, str]) -> None:
    """Connect the one agent that Slack's keys belong to."""
    try:
        from ukai.surfaces import slack
    except ImportError as missing:
        raise NoSlack(f"{missing.name} is not installed") from None
    found = [n for n, agent in here.engine.catalog.agents.items() if slack.CHANNEL in agent.channels]
    agent = environ.get(POINTER) or (found[0] if len(found) == 1 else None)
    if agent is None:
        hint = f"set {POINTER} to one" if found else "put `slack` into the `channels` of one"
        raise NoSlack(f"{len(found)} agents are in Slack, and each is an app of its own", hint=hint)
    opened = await stack.enter_async_context(slack.opened(slack.served(here, agent), slack.keys(environ)))
    app.router.routes.append(Route("/slack/events", opened.http, methods=["POST"]))


@asynccontextmanager
async def _watched(current: reload.Current, changed: Ready) -> AsyncGenerator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(reload.watch(current, tell=changed, stop=stop))
    try:
        yield
    finally:
        stop.set()
        await task


def _pointed(opened: engine.Engine, environ: Mapping[str, str]) -> None:
    """Refuse to begin when the agent of the pointer is not there or has errors; errors of others are not asked for."""
    if name := environ.get(POINTER):
        if name not in opened.loaded.named:
            raise engine.UnknownAgent(name, sorted(opened.loaded.named))  # to whoever serves: all that there are
        opened.agent(name)


class _Server(uvicorn.Server):
    """Told to end, it takes no more questions and finishes those that are under way."""

    def __init__(self, config: uvicorn.Config, here: reception.Reception) -> None:
        super().__init__(config)
        self.here = here

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Told to end by SIGTERM, the process ends by itself, after everything that it holds open is closed."""
        with super().capture_signals():
            yield
            self._captured_signals = [s for s in self._captured_signals if s != signal.SIGTERM]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # The door stays open meanwhile, so that `/readyz` says what is happening.
        await self.here.admission.drain(within_s=self.here.engine.catalog.settings.serve.drain_s)
        await super().shutdown(sockets)


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
