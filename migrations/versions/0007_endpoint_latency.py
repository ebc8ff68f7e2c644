"""stored latency of endpoints"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("latency_frames", sa.Column("cells", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("latency_frames", schema=None) as batch_op:
        batch_op.drop_column("cells")
