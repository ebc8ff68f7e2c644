"""several slot ranges per shard"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("shards", sa.Column("slots", sa.String(), nullable=False, server_default=""))
    op.execute("UPDATE shards SET slots = CAST(slot_first AS VARCHAR) || '-' || CAST(slot_last AS VARCHAR)")
    with op.batch_alter_table("shards", schema=None) as batch_op:
        batch_op.alter_column("slots", existing_type=sa.String(), server_default=None)
        batch_op.drop_column("slot_first")
        batch_op.drop_column("slot_last")


def downgrade() -> None:
    """Keep only the first range of each pair. Do not downgrade if a pair of a database has several."""
    with op.batch_alter_table("shards", schema=None) as batch_op:
        batch_op.add_column(sa.Column("slot_first", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("slot_last", sa.Integer(), nullable=False, server_default="0"))
    shards = sa.table("shards", sa.column("uid"), sa.column("slots"), sa.column("slot_first"), sa.column("slot_last"))
    for uid, slots in op.get_bind().execute(sa.select(shards.c.uid, shards.c.slots)).all():
        first, _, last = slots.partition(",")[0].partition("-")
        values = {"slot_first": int(first or 0), "slot_last": int(last or first or 0)}
        op.execute(shards.update().where(shards.c.uid == uid).values(values))
    with op.batch_alter_table("shards", schema=None) as batch_op:
        batch_op.alter_column("slot_first", existing_type=sa.Integer(), server_default=None)
        batch_op.alter_column("slot_last", existing_type=sa.Integer(), server_default=None)
        batch_op.drop_column("slots")
