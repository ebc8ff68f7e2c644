"""Deletion of rows whose file is in a storage location."""

import logging
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.collectors.data.location_access import LocationAccess
from shardboard.errors import ApiError
from shardboard.state.data import locations
from shardboard.store.db import Store

log = logging.getLogger(__name__)


class StoredFile(Protocol):
    """A row about a file. An empty path: the file was never written."""

    location_uid: int
    path: str
    detail: str


class FindStoredFile(Protocol):
    async def __call__(self, session: AsyncSession, uid: int, /) -> StoredFile | None: ...


async def delete_file_and_row(
    store: Store, access: LocationAccess, find: FindStoredFile, uid: int, description: str
) -> None:
    """Delete a file and then its row. If the file cannot be deleted, the row is kept, and `detail` has the reason."""
    async with store.read() as session:
        row = await find(session, uid)
        location = await locations.by_uid(session, row.location_uid) if row is not None else None
    if row is None:
        return
    error = ""
    if location is not None and row.path:
        try:
            await access.delete(location.location, [row.path])
        except ApiError as failure:
            error = failure.description
    async with store.begin() as session:
        current = await find(session, uid)
        if current is None:
            return
        if error:
            if current.detail != error:
                log.warning("%s cannot be deleted: %s", description, error)
            current.detail = error
        else:
            await session.delete(current)
