"""release that has migrated the store"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0052"
down_revision: str | None = "0051"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "store_release",
        sa.Column("uid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.CheckConstraint("uid = 1", name=op.f("ck_store_release_one_row")),
        sa.PrimaryKeyConstraint("uid", name=op.f("pk_store_release")),
    )


def downgrade() -> None:
    op.drop_table("store_release")
