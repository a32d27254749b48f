"""The database: embedded server, pool, migrations and one Transaction value; nothing of the domain.

    async with store.connect(url) as db, db.transaction() as tx:
        await tx.execute("insert into run ...", (...))

Callers open a transaction and hand it down; each room keeps its SQL in its `rows.py`.
"""

from __future__ import annotations

from ukai.store import embedded
from ukai.store.database import Database, Transaction, connect
from ukai.store.migrations import migrate

__all__ = ["Database", "Transaction", "connect", "embedded", "migrate"]
