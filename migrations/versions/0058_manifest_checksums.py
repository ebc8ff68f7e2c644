"""checksums of manifests"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0058"
down_revision: str | None = "0057"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("backups", sa.Column("manifest_sha256", sa.String(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("backups", "manifest_sha256")
