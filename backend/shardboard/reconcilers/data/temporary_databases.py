"""Deletes the temporary databases of verifications that have ended."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.kit.bus import Bus
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.cluster import actions
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

REMOVABLE = (BdbStatus.ACTIVE, BdbStatus.CREATION_FAILED, BdbStatus.PENDING)


class TemporaryDatabaseLoop(PollingLoop):
    """A database whose restore is still running is deleted after the restore was canceled."""

    changes = frozenset({"action", "bdb"})

    def __init__(self, store: Store, bus: Bus, requests: DataRequests) -> None:
        super().__init__(store, bus)
        self._requests = requests

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await _unused(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb in await _unused(session):
            for action in await actions.list_open_for_bdb(session, bdb.uid):
                if action.cancellable:
                    action.cancelled_by = "system"
            if bdb.status in REMOVABLE or bdb.action_uid is None:
                await self._requests.delete_database(session, bdb)


async def _unused(session: AsyncSession) -> list[Bdb]:
    """Return temporary databases whose verification has ended and that are not being deleted yet."""
    unused = []
    for bdb in await bdbs.list_temporary(session):
        action = await actions.by_uid(session, bdb.verification_action_uid or "")
        is_used = action is not None and action.status in OPEN_STATUSES
        is_being_deleted = bdb.status == BdbStatus.DELETE_PENDING and bdb.action_uid is not None
        if not is_used and not is_being_deleted:
            unused.append(bdb)
    return unused
