"""What turns may spend together, whose credentials they use, what their rules said (room `runtime`)."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute(
        """
        create table spending (
            day date not null,
            principal text not null,
            agent text not null,
            tokens bigint not null default 0,
            usd numeric not null default 0,
            seconds numeric not null default 0,
            primary key (day, principal, agent)
        )
        """
    )
    # Set aside for requests that have not ended. One whose process died counts no longer once it is over.
    op.execute(
        """
        create table spending_held (
            id uuid primary key,
            day date not null,
            principal text not null,
            agent text not null,
            tokens bigint not null,
            usd numeric not null,
            over_at timestamptz not null
        )
        """
    )
    op.execute("create index spending_held_day on spending_held (day)")
    op.execute(
        """
        create table tool_credential (
            principal text not null,
            tool text not null,
            sealed bytea not null,
            granted_at timestamptz not null,
            primary key (principal, tool)
        )
        """
    )
    op.execute(
        "comment on column tool_credential.sealed is 'encrypted under the workspace key, bound to principal and tool'"
    )
    # Verdicts hold no words: the text is its hash, and marks are places in it.
    op.execute(
        """
        create table rule_verdict (
            rule bytea not null,
            model text not null,
            text bytea not null,
            fires boolean not null,
            spans integer[] not null,
            made_at timestamptz not null default now(),
            primary key (rule, model, text)
        )
        """
    )
