"""Pinned: records that the scope names one by one (`static_ids`) are always candidates."""

from __future__ import annotations

from collections.abc import Sequence

from ukai.context.strategies.asked import Asked, Strategy


async def find(ask: Asked) -> Sequence[int]:
    """The pinned records that live and may be read, by handle."""
    return [row for name in sorted(ask.scope.pinned) if (row := ask.view.rows.get(name)) is not None]


STRATEGY = Strategy(
    fires=lambda ask: bool(ask.scope.pinned),
    find=find,
    timeout_ms=lambda s: s.expand_ms,
    cap=lambda s: s.composition_cap,
)
