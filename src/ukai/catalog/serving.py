"""`login`, `serve` and `slack` of ukai.yaml: whom a server believes who they are, how much it takes at once (P3)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from ukai.kit import document, principal, shape
from ukai.kit.finding import Finding

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Signatures that whoever verifies cannot make. A shared secret (HS256) would let every server name anybody."""

ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,79}\Z")
_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}\Z")
_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")


@dataclass(frozen=True, kw_only=True)
class Page:
    """The login of the web page: a client of the identity provider, and the key that signs its sessions."""

    __pydantic_config__ = shape.STRICT

    client_id: str
    secret: str
    """The name of an environment variable, as all of these are."""
    sessions: str
    hours: Annotated[int, Field(ge=1, le=720)] = 12
    """How long a session lasts."""


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """One proxy that may say who asks."""

    __pydantic_config__ = shape.STRICT

    peers: Annotated[tuple[str, ...], Field(alias="from", min_length=1)]
    """Addresses or networks from which it connects."""
    header: str
    """Holds the principal."""
    secret: str
    """The name of the environment variable with what the proxy sends in `X-Ukai-Proxy-Secret`."""


@dataclass(frozen=True, kw_only=True)
class Login:
    """Whose signatures say who somebody is."""

    __pydantic_config__ = shape.STRICT

    issuer: str
    audience: str
    """What its tokens must be made for: this deployment."""
    keys: str
    """The provider's JWKS: a URL, or a file of the workspace."""
    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1)] = ("RS256", "ES256")
    principal: str = "email"
    """The claim that names the person."""
    verified: bool = True
    """Whether `email_verified` must be true where the claim is `email`."""
    scope: str = ""
    """What a bearer's `scope` must hold; empty asks for none."""
    page: Page | None = None
    proxy: Proxy | None = None


@dataclass(frozen=True, kw_only=True)
class Serve:
    """How a server is reached, and how much it takes at once."""

    __pydantic_config__ = shape.STRICT

    url: str = ""
    """As others reach it, where it is not this machine alone."""
    turns: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Questions under way at once; further ones are told to come again."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Questions of one caller in a minute."""
    drain_s: Annotated[int, Field(ge=0, le=3_600)] = 60
    """How long a server that is told to end waits for what is under way."""


@dataclass(frozen=True, kw_only=True)
class Slack:
    """What Slack cannot say of itself."""

    __pydantic_config__ = shape.STRICT

    everybody: Annotated[tuple[str, ...], Field(min_length=1)]
    """Principals who between them are everybody that may enter a public channel: `["group:employees"]`."""


def findings(
    login: Login | None, serve: Serve, doc: document.Document, slack: Slack | None = None
) -> Iterator[Finding]:
    """What is wrong with the parts beyond their shape."""
    for index, name in enumerate(slack.everybody if slack else ()):
        if principal.canonical(name) is None:
            yield _invalid(doc, f"/slack/everybody/{index}", name, "group:employees", "name a group or a person")
    if serve.url:
        yield from _url(serve.url, "/serve/url", doc, bare=True)
    if login is None:
        return
    yield from _url(login.issuer, "/login/issuer", doc)
    if "://" in login.keys:
        yield from _url(login.keys, "/login/keys", doc)
    elif not login.keys or ".." in PurePosixPath(login.keys).parts or login.keys.startswith("/"):
        yield _invalid(
            doc, "/login/keys", login.keys, "https://id.example.com/keys | keys.json", "name a URL or a file"
        )
    if not login.audience:
        yield _invalid(doc, "/login/audience", "", "ukai", "name what the provider makes tokens for here")
    if login.page is not None:
        yield from _secret(login.page.secret, "/login/page/secret", doc)
        yield from _secret(login.page.sessions, "/login/page/sessions", doc)
        if not serve.url:
            yield Finding(
                code="missing_key",
                where=doc.where("/login/page"),
                message="the page's login leads back to the server, and its address is not said",
                expected="serve: {url: ..}",
                hint="add `serve: {url: https://ukai.example.com}`",
            )
    if login.proxy is not None:
        yield from _proxy(login.proxy, doc)


def _proxy(proxy: Proxy, doc: document.Document) -> Iterator[Finding]:
    yield from _secret(proxy.secret, "/login/proxy/secret", doc)
    for index, peer in enumerate(proxy.peers):
        try:
            network = ipaddress.ip_network(peer)
        except ValueError:
            network = None
        if network is None or network.prefixlen == 0:
            expected = "10.0.0.7 | 10.0.0.0/28"
            yield _invalid(doc, f"/login/proxy/from/{index}", peer, expected, "name the address of the proxy alone")
    if not _HEADER.match(proxy.header):
        yield _invalid(doc, "/login/proxy/header", proxy.header, "X-Forwarded-Email", "name one header")


def _url(text: str, at: str, doc: document.Document, *, bare: bool = False) -> Iterator[Finding]:
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        fits = parts.scheme == "https" or (parts.scheme == "http" and _LOOPBACK.fullmatch(host) is not None)
        fits = fits and bool(host) and not (parts.username or parts.password or parts.fragment)
        fits = fits and not (bare and (parts.path.strip("/") or parts.query))
    except ValueError:
        fits = False
    if not fits:
        wanted = "https://ukai.example.com" if bare else "https://id.example.com/..."
        yield _invalid(doc, at, text, wanted, "write https; http is for this machine's own addresses")


def _secret(name: str, at: str, doc: document.Document) -> Iterator[Finding]:
    if not ENV_NAME.match(name):
        yield Finding(
            code="secret_in_file",
            where=doc.where(at),
            message="this is not the name of an environment variable, and may be the secret itself; it is not repeated",
            expected="UKAI_OIDC_SECRET",
            hint="put the secret into an environment variable and its name here",
        )


def _invalid(doc: document.Document, at: str, received: str, expected: str, hint: str) -> Finding:
    return Finding(
        code="invalid_value",
        where=doc.where(at),
        message=f"{received!r} does not fit here",
        expected=expected,
        received=received,
        hint=hint,
    )
