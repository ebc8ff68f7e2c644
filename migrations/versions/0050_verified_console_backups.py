"""verifications of backups of the console"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0050"
down_revision: str | None = "0049"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    with op.batch_alter_table("console_backups") as batch:
        batch.add_column(sa.Column("is_verifying", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch.add_column(sa.Column("verified", sa.JSON(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("console_backups") as batch:
        batch.drop_column("verified")
        batch.drop_column("is_verifying")
