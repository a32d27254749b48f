"""Rows that a pull could not bring in (room `connect`): the quarantine."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    # How far each pull has come. It moves in the transaction of the rows: whoever is killed in between, the next one
    # goes on behind the last row that is in.
    op.execute(
        """
        create table pull (
            id uuid primary key,
            connector text not null,
            state text not null check (state in ('running', 'done', 'failed', 'left')),
            started_at timestamptz not null,
            ended_at timestamptz,
            source text not null,
            position bigint not null default 0,
            cursor jsonb,
            columns text[] not null default '{}',
            counts jsonb not null default '{}'
        )
        """
    )
    op.execute("create index pull_connector on pull (connector, started_at desc)")
    op.execute("comment on column pull.source is 'fingerprint of what is read; empty when it cannot be known'")
    op.execute("comment on column pull.position is 'rows that are dealt with'")
    op.execute("comment on column pull.cursor is 'the greatest that was seen'")
    # What a connector said last about each record: what is said again is not proposed again, and what a full pull does
    # not say any more is missing.
    op.execute(
        """
        create table pulled (
            connector text not null,
            key text collate "C" not null,
            content bytea not null,
            pull uuid not null,
            primary key (connector, key)
        ) with (fillfactor = 90)
        """
    )
    # Nothing that came is lost: a row that could not be brought in waits here as it came. `source` is JSON in text,
    # because jsonb cannot hold every character that a broken row is broken by.
    op.execute(
        """
        create table quarantine (
            id uuid primary key,
            connector text not null,
            content bytea not null,
            pull uuid not null,
            place text not null,
            key text,
            codes text[] not null,
            findings jsonb not null,
            source text not null,
            is_raw boolean not null,
            first_at timestamptz not null,
            last_at timestamptz not null,
            tries int not null default 1,
            unique (connector, content)
        )
        """
    )
    op.execute("create index quarantine_key on quarantine (connector, key)")
