"""The head and the body of a request that carries JSON: refused before they are read, where that is possible."""

from __future__ import annotations

import re
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from ukai.app import propose
from ukai.surfaces import wire
from ukai.surfaces.http.problems import Refused, problem

T = TypeVar("T", bound=BaseModel)
HEADER = "Idempotency-Key"
_JSON = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json\Z")
_QUOTED = re.compile(r'"(?:[^"\\]|\\["\\])*"\Z')


async def read(request: Request) -> bytes:
    """The body, if it is JSON by its head and not too large. Raises Refused."""
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", parameters.lower())
    if not _JSON.match(media.strip().lower()) or (charset and charset[1] not in ("utf-8", "utf8")):
        raise Refused(problem(415, "unsupported_media_type", "the body comes as JSON in UTF-8", hint=_AS_JSON))
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refused(problem(415, "unsupported_encoding", "the body is compressed", hint="send it as it is"))
    try:
        return await wire.body(request, most=propose.MAX_BYTES)
    except wire.TooLarge as large:
        raise Refused(
            problem(
                413,
                "too_large",
                f"a body has at most {propose.MAX_BYTES} bytes, this one has {large.size}",
                hint="split it; parts that need each other stay together",
            )
        ) from None


async def parsed(request: Request, form: type[T]) -> T:
    """The body as a `form`. Raises Refused with the place of what is wrong first."""
    raw = await read(request)
    if wrong := wire.refusal(raw):
        raise Refused(problem(422, "invalid_body", wrong.message, hint=wrong.hint, where=wrong.where))
    try:
        return form.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"/{part}" for part in first["loc"])
        hint = f"send {', '.join(form.model_fields)}; /openapi.json has the form"
        raise Refused(problem(422, "invalid_body", str(first["msg"]), hint=hint, where=where)) from None


def key(request: Request) -> str:
    """The idempotency key of the header, plain or in quotes; empty when there is none. Raises Refused."""
    given = request.headers.getlist(HEADER)
    if not given:
        return ""
    text = given[0].strip()
    if text.startswith('"') and _QUOTED.match(text):
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    fits = len(given) == 1 and 0 < len(text) <= propose.MAX_KEY and text.isascii() and text.isprintable()
    if not fits:
        raise Refused(
            problem(
                400,
                "invalid_key",
                f"the header {HEADER} holds no key",
                hint=f"send one key of 1 to {propose.MAX_KEY} printable ASCII characters",
                where=HEADER,
            )
        )
    return text


_AS_JSON = "send Content-Type: application/json"
