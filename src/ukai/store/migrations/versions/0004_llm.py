"""Vectors kept by the hash of their text (room `llm`)."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # bytea and not `vector`: models differ in length, the exact bytes are what is promised, and vectors are compared
    # in process over the rows that a reader may see. No text is kept, so a person that is erased leaves none here.
    op.execute(
        """
        create table embedding (
            model text not null,
            content bytea not null check (length(content) = 32),
            vector bytea not null check (length(vector) > 0 and length(vector) % 4 = 0),
            created_at timestamptz not null default now(),
            primary key (model, content)
        )
        """
    )
    op.execute("comment on column embedding.model is 'name and hash of the weights'")
    op.execute("comment on column embedding.content is 'sha256 of the text in UTF-8'")
    op.execute("comment on column embedding.vector is 'float32, little endian'")
