"""Switch back to primaries that were lost with their node, after the node has returned and all shards are in sync and quiet.

Active only with the policy `primaries_return`. Primaries that were promoted on request keep their role.
"""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import movement, switch_back
from shardboard.actions.movement import ClusterView
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.reconcilers.retry_policy import should_retry
from shardboard.state.cluster import actions
from shardboard.state.cluster import cluster as clusters
from shardboard.state.databases import shards


class SwitchBackLoop(PollingLoop):
    """Schedules the switch back, one action per database."""

    changes = frozenset({"node", "action", "cluster"})

    async def is_due(self, session: AsyncSession) -> bool:
        return (await clusters.load(session)).rules.primaries_return and bool(
            await shards.list_former_primaries(session)
        )

    async def act(self, session: AsyncSession) -> None:
        view = await movement.locked_view(session)
        for bdb_uid in sorted({row.bdb_uid for row in await shards.list_former_primaries(session)}):
            await _schedule(session, view, bdb_uid)


async def _schedule(session: AsyncSession, view: ClusterView, bdb_uid: int) -> None:
    bdb = view.databases.get(bdb_uid)
    if bdb is None or bdb.status != BdbStatus.ACTIVE or await actions.list_open_for_bdb(session, bdb_uid):
        return
    moves = switch_back.plan_moves(view, bdb_uid)
    promoted_uids = [move.promote for move in moves]
    if not moves or not should_retry(
        await actions.list_attempts_for_bdb(session, bdb_uid, ActionName.SWITCH_BACK),
        ActionName.SWITCH_BACK,
        promoted_uids,
    ):
        return
    switch_back.queue_switchovers(session, view, bdb_uid, moves, "system")
