"""What schedules started (room `jobs`): one row for each time that something was due and began."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Its primary key is the claim: nothing begins twice for one slot."""
    op.execute(
        """
        create table firing (
            schedule text not null,
            slot timestamptz not null,
            state text not null check (state in ('running', 'done', 'failed')),
            tries int not null,
            holder uuid not null,
            started_at timestamptz not null,
            ended_at timestamptz,
            result jsonb,
            said text not null default '',
            primary key (schedule, slot)
        )
        """
    )
    op.execute("comment on column firing.slot is 'the time for which it was due'")
    op.execute("comment on column firing.tries is 'how often it was begun: again only when whoever ran it died'")
    op.execute("comment on column firing.said is 'why it failed'")
