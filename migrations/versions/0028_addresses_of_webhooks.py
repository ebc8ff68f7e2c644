"""remove all parts of webhook URLs except the host from events, because the other parts can be secret"""

import re
from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0028"
down_revision: str | None = "0027"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ADDRESS = re.compile(r"https?://(?:[^/@\s]*@)?(\[[^\]]*\]|[^/:?#\s]+)\S*")


def upgrade() -> None:
    events = sa.table("events", sa.column("uid"), sa.column("type"), sa.column("description"))
    connection = op.get_bind()
    told = sa.select(events.c.uid, events.c.description).where(events.c.type == "webhook_created")
    for uid, description in connection.execute(told).all():
        short = ADDRESS.sub(r"\1", description)
        if short != description:
            connection.execute(events.update().where(events.c.uid == uid).values(description=short))


def downgrade() -> None:
    pass  # the removed parts cannot be restored
