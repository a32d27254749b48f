"""The place of a reader in the change feed, as the reader holds it: sealed, since its numbers count what others write.

Two cursors of one place are not equal either, so that nobody is told whether anything came that they may not see.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest

from ukai.kit import ids

SIZE = 16
"""Bytes of each third: what makes it another one each time, the place, and what proves that it was given out here."""

Position = tuple[int, int]
"""Transaction and change."""


def sealed(position: Position, *, secret: bytes, entropy: ids.Entropy) -> str:
    """The position as nobody reads it without the deployment's secret."""
    nonce = entropy(SIZE)
    plain = b"".join(number.to_bytes(SIZE // 2, "big") for number in position)
    said = _over(plain, _made(secret, nonce, b"place"))
    return urlsafe_b64encode(nonce + said + _made(secret, nonce + said, b"proof")).decode()


def opened(text: str, *, secret: bytes) -> Position | None:
    """The position; None where it was not sealed with this secret, or is not as it was given out."""
    try:
        raw = urlsafe_b64decode(text.encode())
    except (binascii.Error, UnicodeEncodeError):
        return None
    nonce, said, proof = raw[:SIZE], raw[SIZE : 2 * SIZE], raw[2 * SIZE :]
    if not compare_digest(proof, _made(secret, nonce + said, b"proof")):
        return None
    plain = _over(said, _made(secret, nonce, b"place"))
    return int.from_bytes(plain[: SIZE // 2]), int.from_bytes(plain[SIZE // 2 :])


def _made(secret: bytes, of: bytes, what: bytes) -> bytes:
    return blake2b(of, key=secret, person=what, digest_size=SIZE).digest()


def _over(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=False))
