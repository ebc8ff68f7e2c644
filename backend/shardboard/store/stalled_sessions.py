"""Ends transactions of a console that is stopped or unreachable, so that their locks do not block the other consoles."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

_END = text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE '%' || :console_id
        AND (state LIKE 'idle in transaction%' OR state = 'active' AND wait_event_type = 'Client')
        AND state_change < clock_timestamp() - make_interval(secs => :seconds)
""")
"""A session is also `active` while it waits for the client to execute a statement that it has prepared. The time limit for idle
transactions does not apply then."""


async def end_stalled_sessions(connection: AsyncConnection, console_id: str, seconds: float) -> None:
    """End the sessions of a console in PostgreSQL that have waited for it longer than this during a transaction."""
    await connection.execute(_END, {"console_id": console_id, "seconds": seconds})
