"""recordings of changes, and restores to a point in time"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0048"
down_revision: str | None = "0047"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "recordings",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=False),
        sa.Column("slots", sa.Text(), nullable=False),
        sa.Column("location_uid", sa.Integer(), nullable=True),
        sa.Column("location", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("location_digest", sa.String(), nullable=False),
        sa.Column("recipients", sa.JSON(), nullable=False),
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("segment_seconds", sa.Integer(), nullable=False),
        sa.Column("shard_uid", sa.Integer(), nullable=True),
        sa.Column("lost_on", sa.JSON(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("history", sa.JSON(), nullable=False),
        sa.Column("start_offset", sa.BigInteger(), nullable=True),
        sa.Column("end_offset", sa.BigInteger(), nullable=False),
        sa.Column("deleted_until", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recording_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("end_reason", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_recordings")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_recordings_bdb_uid"), "recordings", ["bdb_uid"])
    op.add_column("transfers", sa.Column("recording_uid", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_transfers_recording_uid"), "transfers", ["recording_uid"])
    op.add_column("backups", sa.Column("positions", sa.JSON(), nullable=True))
    op.add_column("restores", sa.Column("until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("restores", sa.Column("replayed", sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("restores", "replayed")
    op.drop_column("restores", "until")
    op.drop_column("backups", "positions")
    op.drop_index(op.f("ix_transfers_recording_uid"), table_name="transfers")
    op.drop_column("transfers", "recording_uid")
    op.drop_index(op.f("ix_recordings_bdb_uid"), table_name="recordings")
    op.drop_table("recordings")
