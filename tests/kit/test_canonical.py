"""What others are shown in JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

from ukai.kit import canonical


def test_an_instant_is_shown_in_utc_with_a_final_z_and_whatever_else_as_text():
    east = timezone(timedelta(hours=2))

    assert canonical.shown(datetime(2026, 3, 1, 9, tzinfo=UTC)) == "2026-03-01T09:00:00Z"
    assert canonical.shown(datetime(2026, 3, 1, 9, tzinfo=east)) == "2026-03-01T07:00:00Z"
    assert json.dumps({"at": datetime(2026, 3, 1)}, default=canonical.shown) == '{"at": "2026-03-01 00:00:00"}'
