"""Locations of backups and restores, with their current credentials."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.state.data import locations


async def location_of(session: AsyncSession, uid: int | None, inline: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the location with a uid, else the one that the request contained; None if it was deleted."""
    if uid is None:
        return inline
    row = await locations.by_uid(session, uid)
    return row.location if row is not None else None
