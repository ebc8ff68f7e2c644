"""movement of shards"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ADDED = (("actions", "cancelled_by"), ("nodes", "duty"))


def upgrade() -> None:
    for table, column in ADDED:
        op.add_column(table, sa.Column(column, sa.String(), nullable=False, server_default=""))
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.alter_column(column, existing_type=sa.String(), server_default=None)
    op.add_column("shards", sa.Column("leads_again", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("shards", schema=None) as batch_op:
        batch_op.alter_column("leads_again", existing_type=sa.Boolean(), server_default=None)
    op.create_table(
        "snapshots",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("node_uid", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("placement", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_snapshots")),
    )
    with op.batch_alter_table("snapshots", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_snapshots_node_uid"), ["node_uid"], unique=False)


def downgrade() -> None:
    op.drop_table("snapshots")
    with op.batch_alter_table("shards", schema=None) as batch_op:
        batch_op.drop_column("leads_again")
    for table, column in ADDED:
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column(column)
