"""The SQL of this room: vectors by the hash of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ukai.store import Transaction


async def vectors(tx: Transaction, model: str, contents: Sequence[bytes]) -> dict[bytes, bytes]:
    """Those of `contents` that are known: sha256 of the text -> float32 little endian."""
    found = await tx.fetch(
        "select content, vector from embedding where model = %s and content = any(%s)", (model, list(contents))
    )
    return {bytes(content): bytes(vector) for content, vector in found}


async def keep(tx: Transaction, model: str, new: Mapping[bytes, bytes]) -> None:
    """Adds what is not there; what is there stays, so that the first vector of a text is its vector for good."""
    # Sorted: two workers that add the same texts in another order would otherwise wait for each other.
    contents = sorted(new)
    await tx.execute(
        "insert into embedding (model, content, vector) select %s, * from unnest(%s::bytea[], %s::bytea[]) "
        "on conflict do nothing",
        (model, contents, [new[c] for c in contents]),
    )


async def forget_other_models(tx: Transaction, model: str) -> int:
    """Removes the vectors of every other model and says how many there were."""
    return await tx.execute("delete from embedding where model <> %s", (model,))
