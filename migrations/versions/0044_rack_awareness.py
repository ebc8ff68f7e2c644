"""policy rack_aware has an effect; earlier releases stored it without one"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0044"
down_revision: str | None = "0043"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

CLUSTER = sa.table("cluster", sa.column("uid", sa.Integer), sa.column("policy", sa.JSON))


def upgrade() -> None:
    connection = op.get_bind()
    for uid, policy in connection.execute(sa.select(CLUSTER.c.uid, CLUSTER.c.policy)).all():
        if "rack_aware" in (policy or {}):
            changed = {name: value for name, value in policy.items() if name != "rack_aware"}
            connection.execute(CLUSTER.update().where(CLUSTER.c.uid == uid).values(policy=changed))


def downgrade() -> None:
    pass
