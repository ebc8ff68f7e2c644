"""Opening and closing of a database's endpoints."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.reconcilers.databases.bdb_changes import reset_status
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs


class ChangeTraffic:
    """Waits until all reachable proxies have applied the state in the store."""

    def __init__(self, serving: Endpoints, *, stop: bool) -> None:
        self._serving = serving
        self._stop = stop

    async def step(self, action: Action) -> Outcome:
        failed = await self._serving.serve(action.object_uid)
        if failed and not self._stop:  # a proxy that is not running accepts no clients either
            node_uid, reason = min(failed.items())
            return Outcome(unreachable=f"the endpoint on node {node_uid} is unavailable: {reason}", retry_in=0.5)
        return Outcome(finished=True)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is None:
            return
        bdb.status, bdb.action_uid = BdbStatus.ACTIVE, None
        if self._stop:
            message = (
                f"Traffic of {bdb.name} was stopped. Clients were disconnected and cannot connect until it is resumed."
            )
            record_for_action(session, action, "bdb_traffic_stopped", message, severity="WARNING")
        else:
            record_for_action(session, action, "bdb_traffic_resumed", f"Clients of {bdb.name} can connect again.")

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        subject = "Traffic was not stopped on all nodes" if self._stop else "Traffic was not resumed on all nodes"
        await reset_status(session, action, f"{subject}: {reason}")
