"""Of each node when its source said what stands in it since an earlier version (rooms `gate` and `context`)."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """What was changed before: the commits' times, as far as the history still tells."""
    op.execute("alter table node add column earlier jsonb")
    op.execute("comment on column node.earlier is 'version -> when its source said so; null: nothing has changed'")
    op.execute(
        """
        update node n set earlier = jsonb_build_object('1', n.created_at) || (
            select coalesce(jsonb_object_agg(version, at), '{}') from (
                select version, min(at) as at from change c
                where kind = 'node' and id = n.id
                and version::text in (select value from jsonb_each_text(n.field_versions))
                group by version
            ) c
        )
        where n.field_versions <> '{}'
        """
    )
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(Path(__file__).with_name("0003_apply.sql").read_bytes())
