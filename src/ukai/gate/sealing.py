"""The place of a reader in the change feed, as the reader holds it: sealed, since its numbers count what others write.

Two cursors of one place are not equal either, so that nobody is told whether anything came that they may not see.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from ukai.kit import ids

NONCE = 12
"""Bytes that make it another one each time: what AES-GCM asks for."""
NUMBER = 8
"""Bytes of each number of a place."""

Position = tuple[int, int]
"""Transaction and change."""


def sealed(position: Position, *, secret: bytes, entropy: ids.Entropy) -> str:
    """The position as nobody reads it without the deployment's secret of 32 bytes."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = entropy(NONCE)
    plain = b"".join(number.to_bytes(NUMBER, "big") for number in position)
    return urlsafe_b64encode(nonce + AESGCM(secret).encrypt(nonce, plain, None)).decode()


def opened(text: str, *, secret: bytes) -> Position | None:
    """The position; None where it was not sealed with this secret, or is not as it was given out."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        raw = urlsafe_b64decode(text.encode())
        plain = AESGCM(secret).decrypt(raw[:NONCE], raw[NONCE:], None)
    except (binascii.Error, UnicodeEncodeError, InvalidTag, ValueError):  # the last: too short for a nonce
        return None
    return int.from_bytes(plain[:NUMBER], "big"), int.from_bytes(plain[NUMBER:], "big")
