"""Reading the complete audit log in batches."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.domain.audit import Check
from shardboard.state import audit
from shardboard.state.audit import AuditLine

AT_ONCE = 1_000


async def pieces(
    session: AsyncSession, *, since: datetime | None = None, until: datetime | None = None
) -> AsyncIterator[Sequence[AuditLine]]:
    """Yield all lines in order, in batches of up to AT_ONCE."""
    done = 0
    if since is not None:
        first = await audit.first_since(session, since)
        if first is None:
            return
        done = first - 1
    while True:
        lines = await audit.after(session, done, AT_ONCE, until=until)
        if lines:
            done = lines[-1].uid
            session.expunge_all()  # a million lines would take a gigabyte
            yield lines
        if len(lines) < AT_ONCE:
            return


async def check(store: Store) -> Check:
    """Check that the audit log was intact at the time of the call."""
    async with store.snapshot() as session:
        found = await audit.check(session)
        async for lines in pieces(session):
            for line in lines:
                found.follow(line, line.link)
    found.end()
    return found
