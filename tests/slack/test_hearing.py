from __future__ import annotations

from typing import Any

import pytest

from ukai.surfaces.slack import hearing


@pytest.mark.parametrize(
    "body", [{}, {"event": None}, {"event": "x"}, {"event": ["x"]}, {"event": {"type": "message"}}]
)
def test_what_is_no_event_asks_nothing(body: dict[str, Any]):
    assert hearing.question(body, me="U1") is None
