"""standard names of columns"""

from collections.abc import Sequence

from alembic import op

revision: str = "0036"
down_revision: str | None = "0035"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NAMES = {
    "shards": {"leads_again": "should_regain_primary"},
    "webhooks": {"told_to": "last_sent_uid", "last_told_at": "last_sent_at", "silent_until": "muted_until"},
    "issued_certificates": {"ends": "valid_until", "refused": "revoked"},
    "audit_lines": {"proof": "auth_method"},
    "sessions": {"password_mark": "password_fingerprint"},
    "benchmark_loads": {"held": "is_stored_on_node", "began": "first_line", "ended": "last_line"},
    "outages": {"seen_by": "reported_by", "watched": "is_exact"},
    "login_failures": {"waits_until": "locked_until"},
}
"""Previous and new names of columns, by table."""


def upgrade() -> None:
    op.drop_index(op.f("ix_benchmark_loads_held"), table_name="benchmark_loads")
    for table, names in NAMES.items():
        for before, now in names.items():
            op.alter_column(table, before, new_column_name=now)
    op.create_index(op.f("ix_benchmark_loads_is_stored_on_node"), "benchmark_loads", ["is_stored_on_node"])


def downgrade() -> None:
    op.drop_index(op.f("ix_benchmark_loads_is_stored_on_node"), table_name="benchmark_loads")
    for table, names in NAMES.items():
        for before, now in names.items():
            op.alter_column(table, now, new_column_name=before)
    op.create_index(op.f("ix_benchmark_loads_held"), "benchmark_loads", ["held"])
