"""indices of events and actions

`is_open` is a copy of a field of `details`, because JSON has no index that both databases support.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDICES = {
    "ix_events_type": ("events", ["type", "uid"]),
    "ix_events_bdb": ("events", ["bdb_uid", "type", "uid"]),
    "ix_events_node": ("events", ["node_uid", "type", "uid"]),
    "ix_events_shard": ("events", ["shard_uid", "type", "uid"]),
    "ix_events_ended_at": ("events", ["ended_at"]),
    "ix_actions_created_at": ("actions", ["created_at"]),
    "ix_actions_object": ("actions", ["object_type", "object_uid", "created_at"]),
}


def upgrade() -> None:
    op.add_column("events", sa.Column("is_open", sa.Boolean(), nullable=False, server_default=sa.false()))
    events = sa.table("events", sa.column("details", sa.JSON), sa.column("is_open", sa.Boolean), sa.column("ended_at"))
    opened = sa.and_(events.c.ended_at.is_(None), events.c.details["open"].as_boolean())
    op.execute(events.update().where(opened).values(is_open=True))
    for name, (table, columns) in INDICES.items():
        op.create_index(name, table, columns)
    op.create_index("ix_events_open", "events", ["is_open", "type"])
    op.drop_index("ix_events_bdb_uid", table_name="events")
    op.drop_index("ix_actions_object_uid", table_name="actions")


def downgrade() -> None:
    op.create_index("ix_actions_object_uid", "actions", ["object_uid"])
    op.create_index("ix_events_bdb_uid", "events", ["bdb_uid"])
    op.drop_index("ix_events_open", table_name="events")
    for name, (table, _) in INDICES.items():
        op.drop_index(name, table_name=table)
    with op.batch_alter_table("events") as batch_op:
        batch_op.drop_column("is_open")
