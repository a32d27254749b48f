"""Who stands before a server: everything that came with a request, held against what the workspace believes (P3).

One rule for every surface: something that was shown is judged, and never passed over for something weaker. Only where
nothing was shown at all and the workspace names no login does the local principal act, on this machine alone.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from ukai.app import bearer, desk, identity, loading, tokens, workspace
from ukai.app.admission import Admission
from ukai.app.engine import Engine
from ukai.app.pace import Pace
from ukai.catalog import serving
from ukai.kit.errors import PermanentError

SECRET_HEADER = "x-ukai-proxy-secret"  # noqa: S105  (the name of a header)
NOTED = 120
HOW = "send `Authorization: Bearer ...` with a personal token (`ukai token create`) or a token of the company's login"


class NotSet(PermanentError):
    """An environment variable that ukai.yaml names is not set."""

    def __init__(self, name: str, where: str) -> None:
        super().__init__(f"ukai.yaml names the environment variable {name!r} at `{where}`, and it is not set")
        self.hint = f"set {name}, or take `{where}` out of ukai.yaml"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What came with a request and may say who asks."""

    authorization: str = ""
    session: str = ""
    """The principal of a session that this server signed; only the web page's requests have one."""
    peer: str = ""
    """The address from which the connection comes, as the socket knows it."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """By lower-case name."""


@dataclass(frozen=True, kw_only=True)
class Reception:
    """What every surface of a server shares."""

    current: Callable[[], Engine]
    """The workspace as it is now: between two turns another one may take its place."""
    pace: Pace
    admission: Admission
    noted: Pace
    """How many refusals are kept in a minute: whoever is not known must not fill the database."""
    jwt: bearer.Verifier | None = None
    proxy_secret: str = ""

    @property
    def engine(self) -> Engine:
        """What answers the next question."""
        return self.current()

    @property
    def login(self) -> serving.Login | None:
        """As ukai.yaml has it."""
        return self.engine.catalog.settings.login

    @property
    def url(self) -> str:
        """As others reach the server; empty where only this machine does."""
        return self.engine.catalog.settings.serve.url.rstrip("/")

    async def is_alive(self) -> bool:
        """Whether the database answers. Raises DatabaseAway, DatabaseBusy when it does not."""
        async with self.engine.db.transaction() as tx:
            return await tx.value("select true")

    def served(self) -> int:
        """How many agents are."""
        opened = self.engine
        return sum(not opened.loaded.blocking(name) for name in opened.catalog.agents)

    def not_ready(self) -> str:
        """Why no question is taken now; nothing when one is."""
        if self.admission.is_draining:
            return "the server is ending"
        return "" if self.served() or not self.engine.catalog.agents else "no agent is served: all have errors"

    async def caller(self, shown: Shown) -> identity.Caller:
        """Who asks. Raises NotKnown, and what the database or the login's keys raise."""
        if self.login is not None and self.login.proxy is not None:
            forwarded = shown.headers.get(self.login.proxy.header.lower())
            if forwarded is not None:
                return self._forwarded(self.login.proxy, forwarded, shown)
        if shown.authorization:
            return await self._bearer(shown.authorization)
        if shown.session:
            return identity.named(shown.session, "login")
        if self.login is None:
            return identity.local(self.engine.catalog.settings.local_principal)
        raise identity.NotKnown("nothing says who asks", hint=HOW)

    def desk(self, caller: identity.Caller, channel: str) -> desk.Desk:
        """Where this caller proposes and reads back by hand."""
        catalog = self.engine.catalog
        return desk.Desk(
            root=self.engine.root,
            db=self.engine.db,
            standing=identity.Standing(principal=caller.principal, access=catalog.access, channel=channel),
            clock=self.engine.clock,
            domains=catalog.domains,
        )

    async def _bearer(self, authorization: str) -> identity.Caller:
        scheme, _, text = authorization.partition(" ")
        text = text.strip()
        if scheme.lower() != "bearer" or not text:
            raise identity.NotKnown("the header Authorization holds no bearer token", hint=HOW)
        if text.startswith(tokens.PREFIX):
            return await tokens.caller(self.engine.db, text, clock=self.engine.clock)
        if self.jwt is None:
            raise identity.NotKnown("this bearer token is no personal token, and no login is configured", hint=HOW)
        return await self.jwt.caller(text)

    def _forwarded(self, proxy: serving.Proxy, principal: str, shown: Shown) -> identity.Caller:
        secret = shown.headers.get(SECRET_HEADER, "")
        is_secret = hmac.compare_digest(secret.encode(), self.proxy_secret.encode())
        if not (is_secret and self.proxy_secret and _is_within(shown.peer, proxy.peers)):
            raise identity.NotKnown(
                f"the header {proxy.header} does not come from the proxy that may send it",
                hint="leave it out; IT names the proxy and its secret in ukai.yaml under `login: {proxy: ..}`",
            )
        return identity.named(principal, "proxy")


def of(
    current: Callable[[], Engine], *, environ: Mapping[str, str] = os.environ, fetch: bearer.Fetch = bearer.fetch
) -> Reception:
    """The reception of a workspace that is open. Raises NotSet, and NoKeys where a file of keys holds none."""
    engine = current()
    settings = engine.catalog.settings
    made = Reception(
        current=current,
        admission=Admission(running=settings.serve.turns, waiting=settings.serve.turns),
        noted=Pace(per_minute=NOTED, seconds=monotonic),
        pace=Pace(per_minute=settings.serve.per_minute, seconds=monotonic),
    )
    if settings.login is None:
        return made
    proxy = settings.login.proxy
    return replace(
        made,
        jwt=bearer.verifier(settings.login, engine.root, url=made.url, clock=engine.clock, fetch=fetch),
        proxy_secret=variable(environ, proxy.secret, "login.proxy.secret") if proxy else "",
    )


def has_login(path: Path) -> bool:
    """Whether the workspace at or above `path` says whom a server believes. Raises NoWorkspace, BrokenConfiguration."""
    return loading.whole(workspace.locate(path)).catalog.settings.login is not None


def variable(environ: Mapping[str, str], name: str, where: str) -> str:
    """The value of a variable that ukai.yaml names. Raises NotSet."""
    value = environ.get(name, "")
    if not value:
        raise NotSet(name, where)
    return value


def _is_within(peer: str, networks: tuple[str, ...]) -> bool:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(network) for network in networks)
