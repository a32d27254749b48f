"""What is searched (room `context`): the texts of nodes, part by part, derived from the graph and never ahead of it."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # Rebuilt from the graph at any time: a passage holds nothing that its node does not.
    op.execute(
        """
        create table passage (
            node uuid not null references node,
            part text not null,
            field text not null,
            ordinal int not null,
            lead text not null,
            text text not null,
            content bytea not null,
            at timestamptz,
            words tsvector generated always as (to_tsvector('simple', text)) stored,
            primary key (node, part)
        )
        """
    )
    op.execute("create index passage_words on passage using gin (words)")
    op.execute("comment on column passage.part is 'what follows the handle: body, turn/31'")
    op.execute("comment on column passage.field is 'the field whose readers may read it'")
    op.execute("comment on column passage.content is 'sha256 of the text: the key of its embedding'")
    # What nodes are called: how a question that names one finds it.
    op.execute(
        """
        create table called (
            node uuid primary key references node,
            name text not null,
            folded text not null,
            first text not null
        )
        """
    )
    op.execute("create index called_folded on called (folded)")
    op.execute("create index called_first on called (first)")
    # How far the passages have followed the graph: the position in the feed of changes that was read last.
    op.execute(
        """
        create table passage_cursor (
            one boolean primary key default true check (one),
            xid xid8 not null,
            seq bigint not null,
            cluster bigint not null
        )
        """
    )
    op.execute(
        "insert into passage_cursor (xid, seq, cluster) select '0', 0, system_identifier from pg_control_system()"
    )
    op.execute("comment on column passage_cursor.cluster is 'where transactions are counted as xid counts them'")
