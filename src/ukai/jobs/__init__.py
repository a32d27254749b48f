"""What runs by itself: when it is due, that it runs once whoever is there to run it, and what came of it.

    firing = await jobs.fire(db, schedule, clock=clock, run=run)

Every process that serves may ask at any time. Of all of them one runs it, under a lock that ends with its connection;
whoever is killed is taken over from. Docs: docs/design/schedules.md.
"""

from __future__ import annotations

from ukai.jobs.firing import TRIES, Firing, Skipped, fire, is_open, latest
from ukai.jobs.schedule import Schedule

__all__ = ["TRIES", "Firing", "Schedule", "Skipped", "fire", "is_open", "latest"]
