"""Running a program against the database: once when all goes well, again when another writer was in the way."""

from __future__ import annotations

import asyncio

from ukai.gate import graph_store, rows
from ukai.gate import program as programs
from ukai.kit import ids

RETRIES = 3
"""Of lock timeouts, deadlocks and races for a key; they are nobody's attempts."""
PAUSE_S = (0.005, 0.05)


async def run(
    graph: graph_store.GraphStore, program: programs.Program, *, judge: rows.Judge | None, entropy: ids.Entropy
) -> rows.Answer:
    """`{"commit", "nodes"}` or `{"problems": [..]}`; `judge` is asked between the locks and the writing.

    A program that begins again is the same one: the same ids, the same key, the same hash.
    """
    why = ""
    for _ in range(1 + RETRIES):
        answer = await graph.commit(program.body, judge)
        why = answer.get("retry", "")
        if not why:
            return answer
        if why == "in_progress":
            break  # the same proposal under the same key is being written: its sender will hear
        program.body["thorough"] = True
        await asyncio.sleep(pause(entropy))
    return {"problems": [{"code": "in_progress" if why == "in_progress" else "busy", "where": ""}]}


def pause(entropy: ids.Entropy) -> float:
    """Seconds before the next try, so that two do not meet again."""
    low, high = PAUSE_S
    return low + (high - low) * entropy(1)[0] / 255
