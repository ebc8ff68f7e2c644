"""backups, restores, their transfers and locations"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0039"
down_revision: str | None = "0038"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "backup_locations",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("location", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_backup_locations")),
        sa.UniqueConstraint("name", name=op.f("uq_backup_locations_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "backups",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("bdb_name", sa.String(), nullable=False),
        sa.Column("location_uid", sa.Integer(), nullable=True),
        sa.Column("location_name", sa.String(), nullable=False),
        sa.Column("location", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("trigger", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("error_code", sa.String(), nullable=False),
        sa.Column("is_status_reset", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False),
        sa.Column("keys", sa.BigInteger(), nullable=False),
        sa.Column("engine_version", sa.String(), nullable=False),
        sa.Column("shards_count", sa.Integer(), nullable=False),
        sa.Column("slots", sa.JSON(), nullable=False),
        sa.Column("bdb", sa.JSON(), nullable=False),
        sa.Column("verified", sa.JSON(), nullable=True),
        sa.Column("kept_because", sa.String(), nullable=False),
        sa.Column("kept_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("files_to_delete", sa.JSON(), nullable=False),
        sa.Column("delete_error", sa.Text(), nullable=False),
        sa.Column("delete_retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("originator", sa.String(), nullable=False),
        sa.Column("action_uid", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_backups")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_backups_bdb_uid"), "backups", ["bdb_uid"])
    op.create_index(op.f("ix_backups_location_uid"), "backups", ["location_uid"])
    op.create_index(op.f("ix_backups_status"), "backups", ["status"])
    op.create_table(
        "backup_manifests",
        sa.Column("backup_uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("backup_uid", name=op.f("pk_backup_manifests")),
    )
    op.create_table(
        "restores",
        sa.Column("uid", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("bdb_uid", sa.Integer(), nullable=False),
        sa.Column("bdb_name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("backup_uid", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("sources", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("key_patterns", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("error_code", sa.String(), nullable=False),
        sa.Column("is_status_reset", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expected_keys", sa.BigInteger(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False),
        sa.Column("restored", sa.BigInteger(), nullable=False),
        sa.Column("expired", sa.BigInteger(), nullable=False),
        sa.Column("skipped", sa.BigInteger(), nullable=False),
        sa.Column("unsupported", sa.JSON(), nullable=False),
        sa.Column("mismatched_slots", sa.Integer(), nullable=True),
        sa.Column("originator", sa.String(), nullable=False),
        sa.Column("action_uid", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_restores")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_restores_bdb_uid"), "restores", ["bdb_uid"])
    op.create_index(op.f("ix_restores_backup_uid"), "restores", ["backup_uid"])
    op.create_table(
        "transfers",
        sa.Column("uid", sa.String(length=32), nullable=False),
        sa.Column("backup_uid", sa.Integer(), nullable=True),
        sa.Column("restore_uid", sa.Integer(), nullable=True),
        sa.Column("node_uid", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=True),
        sa.Column("shard_uids", sa.JSON(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("is_stored_on_node", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False),
        sa.Column("keys", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("error_code", sa.String(), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_transfers")),
    )
    op.create_index(op.f("ix_transfers_backup_uid"), "transfers", ["backup_uid"])
    op.create_index(op.f("ix_transfers_restore_uid"), "transfers", ["restore_uid"])
    op.create_index(op.f("ix_transfers_is_stored_on_node"), "transfers", ["is_stored_on_node"])


def downgrade() -> None:
    for table in ("transfers", "restores", "backup_manifests", "backups", "backup_locations"):
        op.drop_table(table)
