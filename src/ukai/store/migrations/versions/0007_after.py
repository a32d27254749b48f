"""After the commit (room `gate`): undo, and persons who were erased."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0007"
down_revision = "0006"

FILES = ("0007_undo.sql", "0003_apply.sql", "0003_check.sql", "0007_erase.sql")
"""The gate's functions stand once, as they are now, in the files of 0003. A step that changes one runs its file again,
so that a database of before gets it too.
"""


def upgrade() -> None:
    # To the driver itself: the functions are full of signs that SQLAlchemy would read as parameters.
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    for name in FILES:
        connection.execute(Path(__file__).with_name(name).read_bytes())
