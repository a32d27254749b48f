"""Tokens of the company's login: JWTs, held against its published keys, its issuer, their audience and their time.

Ukai makes none of them: it is a resource server only.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from joserfc import jws, jwt
from joserfc.errors import ClaimError, ExpiredTokenError, JoseError
from joserfc.jwk import KeySet

from ukai.app import identity
from ukai.catalog import serving
from ukai.kit import principal
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError, TemporaryError

LEEWAY_S = 60
"""Between two clocks."""
MAX_BYTES = 16 << 10
FRESH = timedelta(hours=1)
"""Keys are read anew after that, ..."""
STALE = timedelta(hours=24)
"""... and held for so long while they cannot be read."""
AGAIN = timedelta(minutes=1)
"""Soonest after which a key that is not known makes them be read again."""
FETCH_S = 5.0
KINDS = frozenset({"RSA", "EC", "OKP"})

Fetch = Callable[[str], Awaitable[bytes]]
_log = logging.getLogger(__name__)


class NoKeys(PermanentError):
    """A file of keys that holds none."""

    hint = "`login: {keys: ..}` names the JWKS that the identity provider publishes"


class KeysAway(TemporaryError):
    """The identity provider does not give its keys, and those that were known are too old."""

    hint = "ask again; if it stays so, look whether this machine reaches the login's `keys`"


async def fetch(url: str) -> bytes:
    """The body behind the URL. Raises KeysAway."""
    import httpx  # only what has a login needs a client

    try:
        async with httpx.AsyncClient(timeout=FETCH_S, follow_redirects=False) as client:
            answer = await client.get(url)
            answer.raise_for_status()
            return answer.content
    except httpx.HTTPError as error:
        raise KeysAway(f"the keys of the login cannot be read ({type(error).__name__})") from error


@dataclass(kw_only=True)
class Keys:
    """The keys of one issuer. Requests at once read them once."""

    read: Callable[[], Awaitable[bytes]]
    clock: Clock
    _known: KeySet | None = None
    _read_at: datetime | None = None
    _tried_at: datetime | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def current(self, kid: str | None) -> KeySet:
        """The keys, with `kid` among them if the issuer has it. Raises KeysAway, NoKeys."""
        async with self._reading:
            now = self.clock.now()
            known = self._known
            is_missing = known is not None and kid is not None and all(k.kid != kid for k in known.keys)
            is_due = self._read_at is None or now - self._read_at >= FRESH or is_missing
            if is_due and (self._tried_at is None or known is None or now - self._tried_at >= AGAIN):
                self._tried_at = now
                await self._again(now)
            if self._known is None or (self._read_at is not None and now - self._read_at >= STALE):
                raise KeysAway("the keys of the login are not known")
            return self._known

    async def _again(self, now: datetime) -> None:
        try:
            self._known, self._read_at = parsed(await self.read()), now
        except (KeysAway, NoKeys) as error:
            if self._known is None:
                raise
            _log.warning("keys of the login: %s", error)


def parsed(raw: bytes) -> KeySet:
    """The public signing keys of a JWKS. Raises NoKeys."""
    try:
        data: Any = json.loads(raw)
        listed = [k for k in cast("list[dict[str, Any]]", data["keys"]) if _signs(k)]
        if not listed:
            raise NoKeys("the JWKS holds no public key for signatures")
        return KeySet.import_key_set({"keys": cast("Any", listed)})
    except (ValueError, TypeError, KeyError, AttributeError, JoseError) as error:
        raise NoKeys(f"this is no JWKS ({type(error).__name__})") from error


def _signs(key: Mapping[str, Any]) -> bool:
    return key.get("kty") in KINDS and key.get("use", "sig") == "sig"


@dataclass(frozen=True, kw_only=True)
class Verifier:
    """Judges the tokens of one login."""

    login: serving.Login
    keys: Keys
    clock: Clock
    audiences: tuple[str, ...]
    """Any of them will do: the login's own, and the address that MCP clients name as the resource (RFC 8707)."""

    async def caller(self, text: str) -> identity.Caller:
        """Whose token it is. Raises NotKnown, KeysAway."""
        claims = await self._claims(text)
        if self.login.scope and self.login.scope not in _scopes(claims):
            raise identity.NotKnown(
                f"the token lacks the scope {self.login.scope!r}",
                hint=f"ask the login for a token with the scope {self.login.scope!r}",
                lacks_scope=self.login.scope,
            )
        return named(self.login, claims, "jwt")

    async def _claims(self, text: str) -> Mapping[str, Any]:
        if len(text) > MAX_BYTES:
            raise _refused("is too long")
        try:
            kid: Any = jws.extract_compact(text.encode()).headers().get("kid")
            keys = await self.keys.current(kid if isinstance(kid, str) else None)
            # Providers put members of their own into the header: only what `crit` names has to be understood.
            registry = jws.JWSRegistry(algorithms=self.login.algorithms, strict_check_header=False)
            token = jwt.decode(text, keys, registry=registry)
            jwt.JWTClaimsRegistry(
                now=int(self.clock.now().timestamp()),
                leeway=LEEWAY_S,
                iss={"essential": True, "value": self.login.issuer},
                aud={"essential": True, "values": list(self.audiences)},
                exp={"essential": True},
            ).validate(token.claims)
        except ExpiredTokenError:
            raise _refused("has expired") from None
        except ClaimError as error:
            raise _refused(f"has a claim that does not fit: {error.claim}") from None
        except (JoseError, ValueError, TypeError, RecursionError):  # the library trusts the shape of what it reads
            raise _refused("is not signed by the login that is configured here") from None
        return token.claims


def named(login: serving.Login, claims: Mapping[str, Any], via: identity.Via) -> identity.Caller:
    """Whom verified claims name. Raises NotKnown."""
    if login.principal == "email" and login.verified and claims.get("email_verified") is not True:
        raise identity.NotKnown(
            "the login does not say that this mail address belongs to whoever asks",
            hint="verify it there, or IT sets `login: {verified: false}` for a provider that never says so",
        )
    caller = identity.named(claims.get(login.principal), via)
    if principal.kind_of(caller.principal) != "person":
        # People choose some of their claims themselves, such as a name to be called by; services have tokens of ours.
        raise identity.NotKnown(
            "a login names people, and no service", hint="a service shows a token: ukai token create"
        )
    return caller


def verifier(login: serving.Login, root: Path, *, url: str, clock: Clock, fetch: Fetch) -> Verifier:
    """The verifier of a workspace's login; `url` is the server's own. Raises NoKeys for a file without any."""

    async def read() -> bytes:
        return _file(root / login.keys)

    is_remote = "://" in login.keys
    if not is_remote:
        parsed(_file(root / login.keys))
    keys = Keys(read=(lambda: fetch(login.keys)) if is_remote else read, clock=clock)
    audiences = (login.audience, *([f"{url}/mcp", url] if url else []))
    return Verifier(login=login, keys=keys, clock=clock, audiences=audiences)


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoKeys(f"{path.name!r} cannot be read ({error.strerror})") from error


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """Of `scope` (one text) or `scp` (some providers: a list)."""
    given: Any = claims.get("scope", claims.get("scp", ""))
    return given.split() if isinstance(given, str) else [str(s) for s in cast("list[Any]", given or [])]


def _refused(what: str) -> identity.NotKnown:
    return identity.NotKnown(f"this token {what}", hint="log in again for a new one, or use a personal token")
