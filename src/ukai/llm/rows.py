"""The SQL of this room: vectors by the hash of their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ukai.store import Transaction


async def vectors(tx: Transaction, model: str, contents: Sequence[bytes]) -> tuple[bytes, bytes, tuple[int, int]]:
    """Those of `contents` that are known: all sha256 of their texts, all their vectors (float32 little endian) in the
    same order, and how many bytes the shortest and the longest of these has.
    """
    # Each as one value: rows of their own would cost the driver more than the server. The list is written here, too.
    asked = "{" + ",".join([f'"\\\\x{content.hex()}"' for content in contents]) + "}"
    async with tx.connection.cursor(binary=True) as cursor:
        await cursor.execute(
            "select string_agg(content, ''), string_agg(vector, ''), min(length(vector)), max(length(vector)) "
            "from embedding where model = %s and content = any(%s::bytea[])",
            (model, asked),
            prepare=False,
        )
        row = await cursor.fetchone()
    assert row is not None
    return (b"", b"", (0, 0)) if row[0] is None else (row[0], row[1], (row[2], row[3]))


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
