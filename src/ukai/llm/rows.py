"""The SQL of this room: vectors by the hash of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ukai.store import Transaction


async def vectors(tx: Transaction, model: str, contents: Sequence[bytes], length: int) -> tuple[bytes, bytes, bytes]:
    """Those of `contents` that are known: all sha256 of their texts, all their vectors (float32 little endian) in the
    same order; and the sha256 of those whose vectors do not have so many bytes.
    """
    # Each as one value: rows of their own would cost the driver more than the server. The list is written here, too.
    asked = "{" + ",".join([f'"\\\\x{content.hex()}"' for content in contents]) + "}"
    async with tx.connection.cursor(binary=True) as cursor:
        await cursor.execute(
            "select string_agg(content, '') filter (where fits), string_agg(vector, '') filter (where fits), "
            "string_agg(content, '') filter (where not fits) "
            "from (select content, vector, length(vector) = %s as fits from embedding "
            "where model = %s and content = any(%s::bytea[])) e",
            (length, model, asked),
            prepare=False,
        )
        row = await cursor.fetchone()
    assert row is not None
    found, raw, others = row
    return found or b"", raw or b"", others or b""


async def forget(tx: Transaction, model: str, contents: Sequence[bytes]) -> None:
    """Removes the vectors of these texts."""
    await tx.execute("delete from embedding where model = %s and content = any(%s)", (model, list(contents)))


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
