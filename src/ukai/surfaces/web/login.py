"""The login of the page: OpenID Connect with the company's provider, then a signed session cookie (P3).

The cookie serves this page alone: the other surfaces take bearer tokens and never a cookie, so that no page of another
site can make a browser speak for somebody there. Here the cookie is `SameSite=Lax`, and every request of another
origin is refused before it comes this far.
"""

from __future__ import annotations

import logging
import time
from typing import Any, cast

import httpx
from authlib.integrations.starlette_client import OAuth, OAuthError
from joserfc.errors import JoseError
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ukai.app import bearer, identity, reception
from ukai.surfaces.web import views

_log = logging.getLogger(__name__)


def client(here: reception.Reception, environ: Any) -> Any:
    """The client of the provider, None without a login for the page. Raises NotSet."""
    if here.login is None or here.login.page is None:
        return None
    registry: Any = OAuth()
    return registry.register(
        name="login",
        client_id=here.login.page.client_id,
        client_secret=reception.variable(environ, here.login.page.secret, "login.page.secret"),
        server_metadata_url=f"{here.login.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid email profile", "code_challenge_method": "S256", "timeout": 10.0},
    )


def who(request: Request, *, hours: int) -> str:
    """Whom the session names, if it is not too old."""
    session: dict[str, Any] = request.session
    at: Any = session.get("at")
    if not isinstance(at, int) or time.time() - at > hours * 3600:
        session.pop("who", None)
        return ""
    return str(session.get("who", ""))


async def begin(request: Request) -> Response:
    """On to the provider."""
    here: reception.Reception = request.app.state.reception
    provider: Any = request.app.state.provider
    if provider is None:
        return _closed(request, "no login is configured for this page", 404)
    try:
        return await provider.authorize_redirect(request, f"{here.url}{views.BASE}/callback")
    except (httpx.HTTPError, OAuthError) as error:
        _log.warning("login: %s", error)
        return _closed(request, "the login cannot be reached now", 503)


async def callback(request: Request) -> Response:
    """Back from the provider: who it says somebody is, and a session for them."""
    here: reception.Reception = request.app.state.reception
    provider: Any = request.app.state.provider
    if provider is None or here.login is None:
        return _closed(request, "no login is configured for this page", 404)
    try:
        token = await provider.authorize_access_token(request)
        claims = cast("dict[str, Any]", token.get("userinfo") or {})
        if claims.get("iss") != here.login.issuer:
            raise identity.NotKnown("the login was made by another issuer", hint="log in again")
        caller = bearer.named(here.login, claims, "login")
    except identity.NotKnown as refusal:
        return _closed(request, str(refusal), 403)
    except (OAuthError, JoseError, httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        # What it was may hold parts of a token; the kind says enough.
        _log.warning("login refused: %s", type(error).__name__)
        return _closed(request, "this login cannot be accepted: it is too old, or was not begun here", 400)
    request.session.clear()  # nothing of the time before the login is carried over
    request.session.update({"who": caller.principal, "at": int(time.time())})
    return RedirectResponse(f"{views.BASE}/", status_code=303)


async def leave(request: Request) -> Response:
    """End the session here; the provider's own goes on."""
    request.session.clear()
    return RedirectResponse(f"{views.BASE}/", status_code=303)


def _closed(request: Request, why: str, status: int) -> Response:
    can_log_in = request.app.state.provider is not None
    return views.page(request, "closed", code=status, reason=why, can_log_in=can_log_in)
