"""Who asks: one name for a person on every surface, and nobody who only says so (P3, P1 of the platform's pains)."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jws, jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from tests.surfaces import world
from ukai import store
from ukai.app import bearer, identity, reception, tokens
from ukai.catalog import serving
from ukai.kit.clock import FixedClock
from ukai.kit.errors import UkaiError

NOW = datetime(2026, 11, 20, 8, tzinfo=UTC)
ISSUER, AUDIENCE = "https://id.example.com", "ukai"
LOGIN = serving.Login(issuer=ISSUER, audience=AUDIENCE, keys=f"{ISSUER}/keys", algorithms=("ES256",))
PROXY = serving.Proxy(peers=("10.0.0.7", "fd00::/64"), header="X-Forwarded-Email", secret="UKAI_PROXY")
SECRETS = {"UKAI_PROXY": "a long secret of the proxy"}


@cache
def key(kid: str) -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig"}, private=True)


def jwks(*kids: str) -> bytes:
    return json.dumps(KeySet([key(k) for k in kids]).as_dict(private=False)).encode()


def token(*, kid: str = "one", header: Mapping[str, Any] | None = None, **claims: Any) -> str:
    at = int(NOW.timestamp())
    whole: dict[str, Any] = {"iss": ISSUER, "aud": AUDIENCE, "iat": at, "exp": at + 600, "sub": "7"}
    whole |= {"email": world.ANN, "email_verified": True, **claims}
    return jwt.encode(
        {"alg": "ES256", "kid": kid, **(header or {})},
        {k: v for k, v in whole.items() if v is not None},
        key(kid),
    )


class Provider:
    """The place where keys are read; it counts, and may be away."""

    def __init__(self, *kids: str) -> None:
        self.kids, self.asked, self.is_away = kids, 0, False

    async def __call__(self, url: str) -> bytes:
        self.asked += 1
        if self.is_away:
            raise bearer.KeysAway("away")
        return jwks(*self.kids)


def at(
    db: store.Database,
    *,
    login: serving.Login | None = LOGIN,
    provider: Provider | None = None,
    clock: FixedClock | None = None,
    url: str = "",
) -> reception.Reception:
    files = world.as_(world.loaded(), login=login, serve=serving.Serve(url=url))
    opened = world.opened(db, files, clock=clock or FixedClock(NOW))
    return world.here(opened, environ=SECRETS, fetch=provider or Provider("one"))


async def shown(here: reception.Reception, text: str = "", **more: Any) -> identity.Caller:
    return await here.caller(reception.Shown(authorization=f"Bearer {text}" if text else "", **more))


async def test_a_token_of_the_login_names_the_person_as_access_does(database: store.Database):
    caller = await shown(at(database), token(email="Ann@Example.com"))

    assert caller == identity.Caller(principal=world.ANN, via="jwt")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"email": "service:intake"}, "no service"),
        ({"iss": "https://other.example.com"}, "has a claim that does not fit: iss"),
        ({"aud": "another"}, "has a claim that does not fit: aud"),
        ({"aud": None}, "has a claim that does not fit: aud"),
        ({"exp": int(NOW.timestamp()) - 61}, "has expired"),
        ({"exp": None}, "has a claim that does not fit: exp"),
        ({"nbf": int(NOW.timestamp()) + 61}, "has a claim that does not fit: nbf"),
        ({"email_verified": False}, "does not say that this mail address belongs"),
        ({"email_verified": None}, "does not say that this mail address belongs"),
        ({"email_verified": "true"}, "does not say that this mail address belongs"),
        ({"email": None}, "names nobody"),
        ({"email": ""}, "names nobody"),
        ({"email": ["ann@example.com"]}, "names nobody"),
        ({"email": "group:sellers"}, "names nobody"),
        ({"email": "public"}, "names nobody"),
        ({"email": "\u0430nn@example.com\u200b"}, "names nobody"),
        ({"kid": "two"}, "is not signed by the login"),
        ({"header": {"alg": "ES384"}}, "is not signed by the login"),
        ({"header": {"crit": ["x"], "x": 1}}, "is not signed by the login"),
    ],
)
async def test_a_token_that_does_not_fit_is_refused_with_the_reason(
    database: store.Database, claims: dict[str, Any], why: str
):
    try:
        text = token(**claims)
    except Exception:  # a key that cannot make this signature: put the head onto a good one
        text = _with_head(token(), {"alg": "ES384", "kid": "one"})

    with pytest.raises(identity.NotKnown, match=why) as refused:
        await shown(at(database), text)

    assert refused.value.hint


def _with_head(text: str, head: Mapping[str, Any]) -> str:
    part = base64.urlsafe_b64encode(json.dumps(head).encode()).rstrip(b"=").decode()
    return ".".join([part, *text.split(".")[1:]])


async def test_a_signature_is_not_left_out_nor_made_from_what_is_public(database: store.Database):
    here = at(database)
    public = json.dumps(key("one").as_dict(private=False))
    shared = OctKey.import_key(public)
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "exp": int(NOW.timestamp()) + 60,
        "email": world.ANN,
        "email_verified": True,
    }
    forged = [
        jwt.encode({"alg": "HS256", "kid": "one"}, claims, shared, algorithms=["HS256"]),
        _with_head(token(), {"alg": "none"}).rpartition(".")[0] + ".",
        token()[:-4] + "AAAA",
        "a.b.c",
        "x" * 20_000,
        _with_head(token(), {"alg": "ES256", "kid": "one", "crit": 1}),
        _with_head(token(), {"alg": ["ES256"], "kid": {}}),
        jws.serialize_compact({"alg": "ES256", "kid": "one"}, b"[" * 9_000, key("one")),
    ]

    for text in forged:
        with pytest.raises(identity.NotKnown):
            await shown(here, text)


@settings(max_examples=40)
@given(text=st.text(max_size=60))
async def test_whatever_stands_in_the_header_is_somebody_or_refused(text: str):
    here = at(_Nothing())  # type: ignore[arg-type]
    for authorization in (text, f"Bearer {text}", f"Bearer ukai_{text}", f"Basic {text}"):
        with pytest.raises(identity.NotKnown):
            await here.caller(reception.Shown(authorization=authorization or "?"))


class _Nothing:
    """A database that holds nothing."""

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Any]:
        yield self

    async def one(self, *_: Any) -> None:
        return None


async def test_a_scope_that_is_asked_for_must_be_there(database: store.Database):
    here = at(database, login=replace(LOGIN, scope="ukai"))

    for claims in ({"scope": "other ukai"}, {"scp": ["ukai"]}):
        assert (await shown(here, token(**claims))).principal == world.ANN
    with pytest.raises(identity.NotKnown) as refused:
        await shown(here, token(scope="ukai-admin"))
    assert refused.value.lacks_scope == "ukai"


async def test_a_token_made_for_the_address_of_mcp_will_do(database: store.Database):
    here = at(database, url="https://ukai.example.com/")

    assert (await shown(here, token(aud="https://ukai.example.com/mcp"))).principal == world.ANN
    with pytest.raises(identity.NotKnown):
        await shown(at(database), token(aud="https://ukai.example.com/mcp"))


async def test_keys_are_read_once_an_hour_and_when_one_is_not_known(database: store.Database):
    provider, clock = Provider("one"), FixedClock(NOW)
    here = at(database, provider=provider, clock=clock)

    for _ in range(3):
        await shown(here, token())
    assert provider.asked == 1
    provider.kids = ("one", "two")
    clock.advance(timedelta(minutes=2))
    await shown(here, token(kid="two"))
    for _ in range(3):  # of keys that nobody has, a provider is asked once a minute
        with pytest.raises(identity.NotKnown):
            await shown(here, token(kid="three"))
    assert provider.asked == 2
    clock.advance(timedelta(hours=1))
    await shown(here, token(exp=int(NOW.timestamp()) + 9_000))
    assert provider.asked == 3


async def test_while_the_provider_is_away_its_keys_hold_for_a_day_and_not_longer(database: store.Database):
    provider, clock = Provider("one"), FixedClock(NOW)
    here = at(database, provider=provider, clock=clock)
    late = token(exp=int((NOW + timedelta(days=2)).timestamp()))
    await shown(here, late)

    provider.is_away = True
    clock.advance(timedelta(hours=23))
    assert (await shown(here, late)).principal == world.ANN
    clock.advance(timedelta(hours=2))
    with pytest.raises(bearer.KeysAway):
        await shown(here, late)


async def test_without_a_key_that_was_ever_known_nobody_is_refused_and_nobody_let_in(database: store.Database):
    provider = Provider("one")
    provider.is_away = True

    with pytest.raises(bearer.KeysAway):
        await shown(at(database, provider=provider), token())


def test_keys_may_lie_in_a_file_and_a_file_without_any_is_told_at_once(tmp_path: Path):
    (tmp_path / "keys.json").write_bytes(jwks("one"))
    login = replace(LOGIN, keys="keys.json")

    bearer.verifier(login, tmp_path, url="", clock=FixedClock(NOW), fetch=Provider())
    for raw in (b"", b"{}", b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}', b"[1]"):
        (tmp_path / "keys.json").write_bytes(raw)
        with pytest.raises(bearer.NoKeys):
            bearer.verifier(login, tmp_path, url="", clock=FixedClock(NOW), fetch=Provider())


async def test_a_personal_token_is_shown_once_and_ends_when_its_owner_says_so(database: store.Database):
    clock = FixedClock(NOW)
    here = at(database, clock=clock)
    ann = here.desk(identity.Caller(principal=world.ANN), "cli")
    ben = here.desk(identity.Caller(principal=world.BEN), "cli")

    made = await tokens.create(ann, "laptop", days=30)
    caller = await shown(here, made["token"])
    listed = await tokens.listed(ann)

    assert caller == identity.Caller(principal=world.ANN, via="token")
    assert (listed[0]["name"], listed[0]["state"], listed[0]["used_at"]) == (
        "laptop",
        "in force",
        datetime(2026, 11, 20, tzinfo=UTC),
    )
    assert made["token"] not in json.dumps(listed, default=str)
    assert await tokens.listed(ben) == []
    with pytest.raises(tokens.NoToken):
        await tokens.revoke(ben, made["id"])
    await tokens.revoke(ann, made["id"])
    with pytest.raises(identity.NotKnown, match="is revoked"):
        await shown(here, made["token"])


async def test_a_personal_token_expires(database: store.Database):
    clock = FixedClock(NOW)
    here = at(database, clock=clock)
    made = await tokens.create(here.desk(identity.Caller(principal=world.ANN), "cli"), "ci", days=1)

    clock.advance(timedelta(days=1))

    with pytest.raises(identity.NotKnown, match="is expired"):
        await shown(here, made["token"])


async def test_what_is_kept_of_a_token_is_its_hash(database: store.Database):
    here = at(database)
    made = await tokens.create(here.desk(identity.Caller(principal=world.ANN), "cli"), "ci", days=1)

    async with database.transaction() as tx:
        rows = await tx.fetch("select * from personal_token")

    assert made["token"][5:].encode() not in repr(rows).encode()


@pytest.mark.parametrize(("name", "days"), [("", 1), ("x" * 81, 1), ("a\nb", 1), ("x", 0), ("x", 367)])
async def test_a_token_has_a_name_and_an_end(database: store.Database, name: str, days: int):
    with pytest.raises(tokens.BadToken):
        await tokens.create(at(database).desk(identity.Caller(principal=world.ANN), "cli"), name, days=days)


async def test_a_proxy_names_the_caller_only_from_its_address_and_with_its_secret(database: store.Database):
    here = at(database, login=replace(LOGIN, proxy=PROXY))
    good = {"x-forwarded-email": "Ben@example.com", "x-ukai-proxy-secret": SECRETS["UKAI_PROXY"]}

    for peer in ("10.0.0.7", "::ffff:10.0.0.7", "fd00::1"):
        assert await shown(here, peer=peer, headers=good) == identity.Caller(principal=world.BEN, via="proxy")
    wrong: list[tuple[str, dict[str, str]]] = [
        ("10.0.0.8", good),
        ("", good),
        ("127.0.0.1", good),
        ("10.0.0.7", good | {"x-ukai-proxy-secret": ""}),
        ("10.0.0.7", good | {"x-ukai-proxy-secret": "a long secret of the proxX"}),
        ("10.0.0.7", {"x-forwarded-email": "ben@example.com"}),
        ("10.0.0.7", good | {"x-forwarded-email": "group:sellers"}),
        ("10.0.0.7", good | {"x-forwarded-email": ""}),
    ]
    for peer, headers in wrong:
        with pytest.raises(identity.NotKnown):
            await shown(here, peer=peer, headers=headers)
        with pytest.raises(identity.NotKnown):  # nor does something else beside it help
            await shown(here, token(), peer=peer, headers=headers)


async def test_without_a_named_proxy_its_header_means_nothing(database: store.Database):
    caller = await shown(at(database), token(), headers={"x-forwarded-email": world.BEN}, peer="10.0.0.7")

    assert caller.principal == world.ANN


async def test_the_local_principal_acts_only_where_nothing_was_shown_and_no_login_is_named(database: store.Database):
    local = at(database, login=None)

    assert await shown(local) == identity.Caller(principal=world.ANN, via="local")
    with pytest.raises(identity.NotKnown):
        await shown(local, token())
    with pytest.raises(identity.NotKnown):
        await shown(at(database))


def test_a_secret_that_is_named_and_not_set_is_told_before_anybody_is_served():
    files = world.as_(world.loaded(), login=replace(LOGIN, proxy=PROXY))

    with pytest.raises(reception.NotSet, match="'UKAI_PROXY'") as told:
        world.here(world.opened(_Nothing(), files))  # type: ignore[arg-type]

    assert isinstance(told.value, UkaiError)


def test_a_place_says_who_reads_there():
    def audience(kind: Any, members: tuple[str, ...] | None = None) -> tuple[str, ...]:
        return identity.Place(kind=kind, members=members).audience(world.ANN)

    assert audience("direct") == (world.ANN,)
    assert audience("private", (world.BEN, world.ANN)) == (world.ANN, world.BEN)
    assert audience("private") == (world.ANN, "public")
    assert audience("public") == (world.ANN, "public")
    assert audience("public", ("group:staff",)) == (world.ANN, "group:staff")
    assert audience("shared", ("group:staff",)) == (world.ANN, "group:staff", "public")
    assert audience("report", ("Ben@example.com", "nobody at all")) == (world.ANN, world.BEN, "public")
