"""Kind `mail`: the messages of mailboxes (`.mbox`) and of single files (`.eml`).

    source: {kind: mail, files: "exports/sales/*.mbox"}

Columns: `id` (without its angle brackets), `subject`, `sender`, `recipients` (to and cc, lower case), `at`, `body`
(the plain text; what is quoted stays), `in_reply_to`, `thread` (the first message it refers to, else itself) and
`attachments` (names).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email import message, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from ukai.connect import files
from ukai.connect.source import MAX_ROW, Item, Row, Site, unread
from ukai.graph import times
from ukai.kit import shape

_ID = re.compile(r"<([^<>\s]+)>")
_PARSER = BytesParser(policy=policy.compat32)


@dataclass(frozen=True, kw_only=True)
class Mail:
    """See the module."""

    __pydantic_config__ = shape.STRICT
    kind: Literal["mail"] = "mail"
    files: str
    """A pattern, relative to the workspace. A file that ends in .eml is one message, any other a mailbox."""
    is_fixed: ClassVar[bool] = True
    columns: ClassVar[frozenset[str]] = frozenset(
        ("id", "subject", "sender", "recipients", "at", "body", "in_reply_to", "thread", "attachments")
    )

    def items(self, site: Site) -> Iterator[Item]:
        """Message after message."""
        return files.each(site, self.files, _messages)

    def fingerprint(self, site: Site) -> str:
        """Of the files."""
        return files.fingerprint(site, self.files)


def _messages(name: str, path: Path) -> Iterator[Item]:
    with path.open("rb") as file:
        whole = [file.read(MAX_ROW)] if name.endswith(".eml") else _split(file)
        for number, raw in enumerate(whole, 1):
            yield _item(name if name.endswith(".eml") else f"{name}#{number}", raw)


def _split(file: IO[bytes]) -> Iterator[bytes]:
    """The messages of a mailbox: each begins with a line `From ` that follows an empty one. Of one without an end only
    the beginning is kept.
    """
    lines: list[bytes] = []
    size, blank = 0, True
    for line in iter(lambda: file.readline(MAX_ROW), b""):
        if blank and line.startswith(b"From "):
            if lines:
                yield b"".join(lines)
            lines, size = [], 0
        elif size < MAX_ROW:
            lines.append(line[1:] if re.match(rb">+From ", line) else line)
            size += len(line)
        blank = not line.strip()
    if lines:
        yield b"".join(lines)


def _item(place: str, raw: bytes) -> Item:
    try:
        parsed = _PARSER.parsebytes(raw)
        row = _row(parsed)
    except (MessageError, LookupError, ValueError, TypeError, OverflowError, RecursionError) as error:
        text = raw.decode("utf-8", "surrogateescape")
        return unread("row_unreadable", place, f"no message: {error}", raw=text, hint="repair the mailbox")
    if not row["id"] and not row["sender"]:
        text = raw.decode("utf-8", "surrogateescape")
        return unread("row_unreadable", place, "no message: neither an id nor a sender", raw=text)
    return Row(place, row)


def _row(parsed: message.Message) -> dict[str, Any]:
    id = _first(parsed, "Message-ID")
    references = _ID.findall(_text(parsed, "References")) or _ID.findall(_text(parsed, "In-Reply-To"))
    return {
        "id": id,
        "subject": _text(parsed, "Subject"),
        "sender": next(iter(_addresses(parsed, "From")), None),
        "recipients": _addresses(parsed, "To", "Cc"),
        "at": _instant(_text(parsed, "Date")),
        "body": _body(parsed),
        "in_reply_to": _first(parsed, "In-Reply-To"),
        "thread": references[0] if references else id,
        "attachments": [name for part in parsed.walk() if (name := part.get_filename())],
    }


def _text(parsed: message.Message, name: str) -> str:
    """A header with its encoded words as text, on one line."""
    value = str(parsed.get(name, ""))
    with suppress(LookupError, UnicodeError, ValueError):  # an encoding that nobody knows: as it is written
        value = str(make_header(decode_header(value)))
    return " ".join(value.split())


def _first(parsed: message.Message, name: str) -> str | None:
    found = _ID.findall(_text(parsed, name))
    return found[0] if found else None


def _addresses(parsed: message.Message, *names: str) -> list[str]:
    given = [str(v) for name in names for v in parsed.get_all(name, [])]
    return list(dict.fromkeys(address.lower() for _, address in getaddresses(given) if "@" in address))


def _instant(text: str) -> str | None:
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return times.written(at if at.tzinfo else at.replace(tzinfo=UTC))


def _body(parsed: message.Message) -> str:
    texts: list[str] = []
    for part in parsed.walk():
        if part.get_content_type() == "text/plain" and not part.get_filename():
            raw: Any = part.get_payload(decode=True)
            charset = part.get_content_charset() or "utf-8"
            try:
                texts.append(bytes(raw or b"").decode(charset))
            except (LookupError, UnicodeDecodeError):
                texts.append(bytes(raw or b"").decode("utf-8", "replace"))
    return "\n".join(t.replace("\r\n", "\n").strip() for t in texts)
