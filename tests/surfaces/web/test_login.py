"""The login of the page: at the company's provider, back with proof that it was begun here, then a session (P3)."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.surfaces import world
from tests.surfaces.test_identity import key
from ukai import store
from ukai.catalog import serving
from ukai.kit.clock import SystemClock

URL = "http://127.0.0.1:8300"
SECRETS = {"UKAI_OIDC_SECRET": "of the client", "UKAI_SESSION_KEY": "of the cookie"}


@dataclass(kw_only=True)
class Provider:
    """An identity provider of one user, on a socket."""

    claims: dict[str, Any] = field(default_factory=lambda: {"email": world.ANN, "email_verified": True})
    issuer: str = ""
    nonce: str = ""
    exchanged: list[dict[str, list[str]]] = field(default_factory=list[dict[str, list[str]]])

    def app(self) -> Starlette:
        async def metadata(request: Request) -> Response:
            self.issuer = str(request.base_url).rstrip("/")
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            found = {name: f"{self.issuer}/{path}" for name, path in names.items()}
            return JSONResponse({"issuer": self.issuer, "id_token_signing_alg_values_supported": ["ES256"], **found})

        async def keys(request: Request) -> Response:
            return JSONResponse({"keys": [key("one").as_dict(private=False)]})

        async def token(request: Request) -> Response:
            self.exchanged.append(parse_qs((await request.body()).decode()))
            now = int(time.time())
            claims = {
                "iss": self.issuer,
                "aud": "ukai-web",
                "sub": "7",
                "iat": now,
                "exp": now + 60,
                "nonce": self.nonce,
            }
            made = jwt.encode({"alg": "ES256", "kid": "one"}, claims | self.claims, key("one"))
            return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": made})

        routes = [Route("/.well-known/openid-configuration", metadata), Route("/keys", keys)]
        return Starlette(routes=[*routes, Route("/token", token, methods=["POST"])])


@asynccontextmanager
async def page(db: store.Database, provider: Provider, *, hours: int = 12) -> AsyncGenerator[httpx.AsyncClient]:
    async with world.on_a_socket(provider.app()) as issuer:
        form = serving.Page(client_id="ukai-web", secret="UKAI_OIDC_SECRET", sessions="UKAI_SESSION_KEY", hours=hours)
        login = serving.Login(issuer=issuer, audience="ukai", keys=f"{issuer}/keys", algorithms=("ES256",), page=form)
        files = world.as_(world.loaded(), login=login, serve=serving.Serve(url=URL))
        here = world.here(world.opened(db, files, clock=SystemClock()), environ=SECRETS)
        async with world.served(here, environ=SECRETS) as at, httpx.AsyncClient(base_url=at) as web:
            yield web


async def logged_in(web: httpx.AsyncClient, provider: Provider, **changed: str) -> httpx.Response:
    """Through the provider and back; what it is sent back with may be changed."""
    to_provider = await web.get("/page/login")
    asked = {k: v[0] for k, v in parse_qs(urlsplit(to_provider.headers["location"]).query).items()}
    provider.nonce = asked["nonce"]
    assert asked["redirect_uri"] == f"{URL}/page/callback"
    assert asked["code_challenge_method"] == "S256"
    return await web.get("/page/callback", params={"code": "c", "state": asked["state"], **changed})


async def test_whoever_logs_in_is_asked_for_by_their_own_name(database: store.Database):
    provider = Provider()
    async with page(database, provider) as web:
        before = await web.get("/page/")
        back = await logged_in(web, provider)
        cookie = back.headers["set-cookie"]
        inside = await web.get("/page/")
        answer = await web.post("/page/ask", json={"agent": "helper", "question": "How is it?"})
        api = await web.get("/agents")
        out = await web.post("/page/logout")
        after = await web.get("/page/")

    assert (before.status_code, before.headers["location"]) == (303, "/page/login")
    assert (back.status_code, back.headers["location"]) == (303, "/page/")
    assert {"httponly", "samesite=lax", "path=/page"} <= {p.strip() for p in cookie.split(";")[1:]}
    assert world.ANN in inside.text
    assert "default-src 'none'" in inside.headers["content-security-policy"]
    assert "It is so." in json.loads(answer.text.split("data: ")[-1])["text"]
    assert api.status_code == 401, "a cookie opens the page and nothing else"
    assert (out.status_code, after.status_code) == (303, 303)
    assert provider.exchanged[0]["code_verifier"]


@pytest.mark.parametrize(
    ("claims", "changed", "status"),
    [
        ({}, {"state": "another"}, 400),
        ({}, {"code": "c", "error": "access_denied"}, 400),
        ({"nonce": "another"}, {}, 400),
        ({"aud": "another"}, {}, 400),
        ({"exp": 1}, {}, 400),
        ({"iss": "https://other.example.com"}, {}, 400),
        ({"email_verified": False}, {}, 403),
        ({"email": "group:sellers"}, {}, 403),
    ],
)
async def test_a_login_that_was_not_begun_here_or_names_nobody_is_none(
    database: store.Database, claims: dict[str, Any], changed: dict[str, str], status: int
):
    provider = Provider()
    provider.claims |= claims
    async with page(database, provider) as web:
        back = await logged_in(web, provider, **changed)
        inside = await web.get("/page/")

    assert (back.status_code, inside.status_code) == (status, 303)


async def test_a_callback_out_of_nowhere_and_a_cookie_of_ones_own_making_open_nothing(database: store.Database):
    provider = Provider()
    async with page(database, provider) as web:
        nowhere = await web.get("/page/callback", params={"code": "c", "state": "s"})
        made = await web.get("/page/", headers={"Cookie": "ukai=eyJ3aG8iOiAiYW5uQGV4YW1wbGUuY29tIn0=.aaa.bbb"})
        await logged_in(web, provider)
        foreign = await web.post(
            "/page/ask", json={"agent": "helper", "question": "x"}, headers={"Origin": "https://evil.example.com"}
        )

    assert (nowhere.status_code, made.status_code, foreign.status_code) == (400, 303, 403)


async def test_without_a_login_the_page_is_the_local_principals_and_has_no_session(database: store.Database):
    async with world.served(world.here(world.opened(database))) as at, httpx.AsyncClient(base_url=at) as web:
        inside = await web.get("/page/")
        login = await web.get("/page/login")
        missing = await web.get("/page/runs/nothing")

    assert (inside.status_code, login.status_code, missing.status_code) == (200, 404, 404)
    assert "set-cookie" not in inside.headers
    assert "Log out" not in inside.text
