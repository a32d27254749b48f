"""Credentials of tools: one for each principal and tool, encrypted at rest, and nobody else's ever (P3.4).

A row is sealed under the workspace's key and bound to the two names that it belongs to: moved to another row, it does
not open. A missing credential is an outcome of the call, `connect`, and no reason to try another one.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ukai import store
from ukai.kit.clock import Clock
from ukai.kit.errors import PermanentError, ToolFailed
from ukai.runtime import rows

if TYPE_CHECKING:
    from datetime import datetime

KEY_FILE = "secret.key"
KEY_VARIABLE = "UKAI_SECRET_KEY"
KEY_BYTES = 32
NONCE_BYTES = 12


class BadKey(PermanentError):
    """The key that seals credentials cannot be used, or is not the one that sealed them."""

    hint = f"{KEY_VARIABLE} holds {KEY_BYTES} bytes in base64; without it, .ukai/{KEY_FILE} does"


class OpenKey(BadKey):
    """Others on this machine can read the key, or change it."""

    def __init__(self, path: Path, mode: int) -> None:
        super().__init__(
            f"the key in {path} is open to others ({mode:o})",
            hint=f"`chmod 600 {path}` closes it; where somebody may have read it, remove it and connect the tools anew",
        )
        self.mode = mode


class NotConnected(ToolFailed):
    """Whoever asks has not given this tool a credential yet."""

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"{tool} is not connected for whoever asks. Say so, and that `ukai connect {tool}` connects it; "
            "do not try it again"
        )
        self.tool = tool


def key(folder: Path, environ: Mapping[str, str]) -> bytes:
    """The workspace's key: from the environment, else from `folder`, where it is made the first time.

    Raises BadKey; OpenKey where the file is not its owner's alone, as ssh does.
    """
    written = environ.get(KEY_VARIABLE, "").strip()
    if written:
        return _decoded(written, KEY_VARIABLE)
    path = folder / KEY_FILE
    try:
        # Made at once with its final rights, and never over an existing one: two processes may come here together.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        if (mode := openness(path)) is not None:
            raise OpenKey(path, mode) from None
        return _decoded(path.read_bytes().decode("latin-1").strip(), str(path))
    made = os.urandom(KEY_BYTES)
    with os.fdopen(handle, "w") as file:
        file.write(base64.b64encode(made).decode() + "\n")
    return made


def openness(path: Path) -> int | None:
    """The mode of a key's file that others than its owner can read or write; None where it is nobody else's."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return mode if mode & 0o077 else None


@dataclass(frozen=True, kw_only=True)
class Vault:
    """What is sealed with one key."""

    db: store.Database
    key: bytes = field(repr=False)
    clock: Clock

    async def keep(self, principal: str, tool: str, secret: str) -> None:
        """In place of the one before."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = nonce + self._cipher().encrypt(nonce, secret.encode(), _bound(principal, tool))
        async with self.db.transaction() as tx:
            await rows.keep_credential(tx, principal, tool, sealed, self.clock.now())

    async def get(self, principal: str, tool: str) -> str:
        """This principal's secret for this tool. Raises NotConnected, and BadKey when it does not open."""
        async with self.db.transaction() as tx:
            sealed = await rows.credential(tx, principal, tool)
        if sealed is None:
            raise NotConnected(tool)
        from cryptography.exceptions import InvalidTag

        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return self._cipher().decrypt(nonce, rest, _bound(principal, tool)).decode()
        except (InvalidTag, ValueError) as error:
            raise BadKey(f"the credential of {principal} for {tool} does not open with this key") from error

    async def drop(self, principal: str, tool: str) -> bool:
        """Whether there was one."""
        async with self.db.transaction() as tx:
            return await rows.drop_credential(tx, principal, tool) > 0

    async def listed(self, principal: str) -> list[tuple[str, datetime]]:
        """The tools that are connected, and since when."""
        async with self.db.transaction() as tx:
            return await rows.credentials(tx, principal)

    def _cipher(self):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self.key)


def _bound(principal: str, tool: str) -> bytes:
    """What a sealed row belongs to; a zero byte stands in no name."""
    return f"{principal}\0{tool}".encode()


def _decoded(text: str, where: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadKey(f"the key in {where} is not base64") from error
    if len(found) != KEY_BYTES:
        raise BadKey(f"the key in {where} has {len(found)} bytes, not {KEY_BYTES}")
    return found
