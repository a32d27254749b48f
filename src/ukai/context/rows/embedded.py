"""The SQL of how far embedding has come: what has its vectors, what waits, and who embeds."""

from __future__ import annotations

from collections.abc import Sequence

from ukai.store import Transaction


async def reached(tx: Transaction, model: str) -> int:
    """The number of the last text to which embedding has come: those up to it have their vectors, no others count."""
    return int(await tx.value("select arrived from embedded where model = %s", (model,)) or 0)


async def reach(tx: Transaction, model: str, to: int) -> None:
    """Embedding has come to this text, and to all before it."""
    await tx.execute(
        "insert into embedded (model, arrived) values (%s, %s) "
        "on conflict (model) do update set arrived = greatest(embedded.arrived, excluded.arrived)",
        (model, to),
    )


_EARLIER = (
    "from passage p where p.arrived = 0 and not exists (select 1 from embedded where model = %s) "
    "and not exists (select 1 from embedding e where e.model = %s and e.content = p.content) limit %s"
)
"""What was there before texts had numbers, as long as some of it waits."""
_LATER = "from passage p where p.arrived > %s and p.arrived > 0 order by p.arrived limit %s"
"""In order also where they are only counted: else all would be looked through for the few that wait."""


async def waiting(tx: Transaction, model: str, limit: int) -> list[tuple[int, str]]:
    """Number and text of the next passages to be embedded, in their order; without a number come first."""
    earlier = await tx.fetch(f"select p.arrived, p.text {_EARLIER}", (model, model, limit))
    if earlier:
        return [(0, str(r[1])) for r in earlier]
    after = await reached(tx, model)
    rows = await tx.fetch(f"select p.arrived, p.text {_LATER}", (after, limit))
    return [(int(r[0]), str(r[1])) for r in rows]


async def texts_of(tx: Transaction, contents: Sequence[bytes]) -> list[str]:
    """The texts of passages with these hashes. All passages are looked through."""
    rows = await tx.fetch("select distinct text from passage where content = any(%s)", (list(contents),))
    return [str(r[0]) for r in rows]


async def lock_embedding(line: Transaction) -> bool:
    """Whether nobody else embeds what waits until the connection ends or `unlock_embedding` is called."""
    return await line.value("select pg_try_advisory_lock(hashtextextended('ukai.embedding', 0))")


async def unlock_embedding(line: Transaction) -> None:
    """Let others embed."""
    await line.value("select pg_advisory_unlock(hashtextextended('ukai.embedding', 0))")


async def count_without_vector(tx: Transaction, model: str, stop_at: int) -> int:
    """How many passages embedding has not come to, counted no further than `stop_at`."""
    after = await reached(tx, model)
    later = int(await tx.value(f"select count(*) from (select 1 {_LATER}) s", (after, stop_at)))  # noqa: S608
    if later >= stop_at:
        return later
    rest = (model, model, stop_at - later)
    return later + int(await tx.value(f"select count(*) from (select 1 {_EARLIER}) s", rest))  # noqa: S608
