"""Addresses of databases: built for a socket, shown without their password."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from psycopg import ProgrammingError, conninfo

OWNER = "postgres"
NAME = "ukai"
PORT = 5432

_PASSWORD_IN_URL = re.compile(r"(?P<head>[a-z]+://[^:/@?\s]*:)\S*(?=@)")
_PASSWORD_AS_KEY = re.compile(r"(?P<head>\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)")
MASK = "***"


def of_socket(folder: Path, *, name: str = NAME) -> str:
    """The URL of the database `name` behind the socket in `folder`."""
    # The port is named, because PGPORT in somebody's environment would name another.
    return f"postgresql://{OWNER}@/{quote(name, safe='')}?host={quote(str(folder), safe='/')}&port={PORT}"


def with_name(url: str, name: str) -> str:
    """The same server, another database. Both forms libpq knows (URL, `key=value`) come back as `key=value`."""
    return conninfo.make_conninfo(url, dbname=name)


def masked(url: str) -> str:
    """The address as it may be shown."""
    return _PASSWORD_AS_KEY.sub(rf"\g<head>{MASK}", _PASSWORD_IN_URL.sub(rf"\g<head>{MASK}", url))


def scrubbed(text: str, url: str) -> str:
    """`text` (a driver's message) without the password of `url`, however it is quoted in it."""
    for secret in _secrets(url):
        text = text.replace(secret, MASK)
    return masked(text)


def _secrets(url: str) -> list[str]:
    found: set[str] = set()
    try:
        parts = conninfo.conninfo_to_dict(url)
        found |= {str(parts[key]) for key in ("password", "sslpassword") if parts.get(key)}
    except ProgrammingError:
        pass  # not an address at all: what looks like a password is masked by its place
    try:
        raw = urlsplit(url).password
    except ValueError:
        raw = None
    if raw:
        found |= {raw, unquote(raw)}
    return sorted((s for s in found if s), key=len, reverse=True)
