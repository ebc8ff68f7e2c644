"""Terms of the license that clients of the Redis Enterprise REST API expect. Shardboard is open source: it has no limits."""

from datetime import UTC, datetime

NEVER = datetime(9999, 12, 31, tzinfo=UTC)
"""When the license expires."""
UNLIMITED = 1_000_000
"""Number of shards that it allows."""
