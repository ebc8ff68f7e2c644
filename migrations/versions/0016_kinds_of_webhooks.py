"""kinds of webhooks, and muting"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("webhooks", sa.Column("kind", sa.String(), nullable=False, server_default="webhook"))
    op.add_column("webhooks", sa.Column("silent_until", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute(sa.text("DELETE FROM webhooks WHERE kind <> 'webhook'"))
    op.drop_column("webhooks", "silent_until")
    op.drop_column("webhooks", "kind")
