"""Personal tokens (app), of which a hash is kept; deliveries and feedback of chats; refusals before a run."""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Tokens, and an index for their owner's list."""
    op.execute(
        """
        create table personal_token (
            id uuid primary key,
            sha256 bytea not null unique check (length(sha256) = 32),
            principal text not null,
            name text not null,
            created_at timestamptz not null,
            expires_at timestamptz not null,
            used_at timestamptz,
            revoked_at timestamptz
        )
        """
    )
    op.execute("create index personal_token_principal on personal_token (principal)")
    op.execute("comment on column personal_token.sha256 is 'of the token, which holds 256 random bits'")
    op.execute("comment on column personal_token.used_at is 'the day, not the minute: who works when is not kept here'")
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(Path(__file__).with_name("0010_slack.sql").read_bytes())
