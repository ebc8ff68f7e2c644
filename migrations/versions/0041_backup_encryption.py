"""encryption and retries of backups; encrypted manifests

Manifests and results contain names of keys. Their new columns are encrypted by the next start of the console, as all values that a
migration leaves unencrypted.
"""

import base64
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0041"
down_revision: str | None = "0040"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

PACKED = (("backup_manifests", "backup_uid", "data"), ("transfers", "uid", "result"))
"""Table, primary key and column with compressed JSON."""


def upgrade() -> None:
    for table in ("backup_locations", "backups"):
        op.add_column(table, sa.Column("recipients", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("backup_locations", sa.Column("identities", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("backups", sa.Column("runs", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("backups", sa.Column("retry_of", sa.Integer(), nullable=True))
    op.add_column("backups", sa.Column("resumable_until", sa.DateTime(timezone=True), nullable=True))
    op.add_column("backups", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("backups", sa.Column("estimated_bytes", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("transfers", sa.Column("run", sa.Integer(), nullable=False, server_default="1"))
    _convert(sa.LargeBinary(), sa.String(), lambda packed: base64.b64encode(packed).decode())


def downgrade() -> None:
    _convert(sa.String(), sa.LargeBinary(), _decode)
    for column in ("estimated_bytes", "retry_at", "resumable_until", "retry_of", "runs", "recipients"):
        op.drop_column("backups", column)
    for column in ("identities", "recipients"):
        op.drop_column("backup_locations", column)
    op.drop_column("transfers", "run")


def _decode(text: str) -> bytes:
    if text.startswith("encrypted:"):
        raise RuntimeError(
            "Encrypted manifests cannot be converted. Restore a copy of the store from before the upgrade."
        )
    return base64.b64decode(text)


def _convert(
    current: sa.types.TypeEngine[bytes | str],
    new: sa.types.TypeEngine[bytes | str],
    convert: Callable[..., bytes | str],
) -> None:
    """Replace the columns with compressed JSON by columns of another type."""
    connection = op.get_bind()
    for table, key, column in PACKED:
        is_optional = table == "transfers"
        op.add_column(table, sa.Column("converted", new, nullable=True))
        rows = sa.table(table, sa.column(key), sa.column(column, current), sa.column("converted", new))
        stored, target, uid = rows.c[column], rows.c["converted"], rows.c[key]
        for value, packed in connection.execute(sa.select(uid, stored).where(stored.is_not(None))).all():
            connection.execute(rows.update().where(uid == value).values({target: convert(packed)}))
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
        with op.batch_alter_table(table) as batch:
            batch.alter_column("converted", new_column_name=column, existing_type=new, nullable=is_optional)
