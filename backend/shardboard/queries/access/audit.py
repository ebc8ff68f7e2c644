"""Reading the complete audit log in batches."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.audit import ChainVerification
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditLine
from shardboard.store.db import Store

BATCH_SIZE = 1_000


async def batches(
    session: AsyncSession, *, since: datetime | None = None, until: datetime | None = None
) -> AsyncIterator[Sequence[AuditLine]]:
    """Yield all lines in order, in batches of up to AT_ONCE."""
    last_uid = 0
    if since is not None:
        first = await audit.first_since(session, since)
        if first is None:
            return
        last_uid = first - 1
    while True:
        lines = await audit.list_after(session, last_uid, BATCH_SIZE, until=until)
        if lines:
            last_uid = lines[-1].uid
            session.expunge_all()  # a million lines would take a gigabyte
            yield lines
        if len(lines) < BATCH_SIZE:
            return


async def verify(store: Store) -> ChainVerification:
    """Check that the audit log was intact at the time of the call."""
    async with store.snapshot() as session:
        verification = await audit.chain_verification(session)
        async for lines in batches(session):
            for line in lines:
                verification.verify_line(line, line.link)
    verification.finish()
    return verification
