"""Transactions of a console that stops in the middle of a statement."""

from sqlalchemy.ext.asyncio import AsyncSession


async def prepare_statement(session: AsyncSession) -> None:
    """Prepare a statement without executing it. PostgreSQL regards the session as active until then."""
    pooled = await (await session.connection()).get_raw_connection()
    assert pooled.driver_connection is not None
    await pooled.driver_connection.prepare("SELECT 2")
