"""Deletes the temporary databases of verifications and scenario runs that no longer need them."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.benchmarks.benchmark_plan import OPEN_STATUSES as OPEN_RUNS
from shardboard.domain.benchmarks.scenarios import scenario_steps
from shardboard.domain.cluster.actions import OPEN_STATUSES
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.kit.bus import Bus
from shardboard.reconcilers.benchmarks.scenario_context import stop_benchmarks
from shardboard.reconcilers.data.requests import DataRequests
from shardboard.reconcilers.polling_loop import PollingLoop
from shardboard.state.benchmarks import benchmark_runs, scenario_runs
from shardboard.state.cluster import actions
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store

BATCH = 20
"""Largest number of databases that are deleted in one transaction, because other transactions wait for it."""
REMOVABLE = (BdbStatus.ACTIVE, BdbStatus.CREATION_FAILED, BdbStatus.PENDING)


class TemporaryDatabaseLoop(PollingLoop):
    """A database is deleted after the restore or the benchmark run on it was canceled."""

    changes = frozenset({"action", "bdb", "benchmark", "scenario_run"})

    def __init__(self, store: Store, bus: Bus, requests: DataRequests) -> None:
        super().__init__(store, bus)
        self._requests = requests

    async def is_due(self, session: AsyncSession) -> bool:
        return bool(await _unused(session))

    async def act(self, session: AsyncSession) -> None:
        for bdb in (await _unused(session))[:BATCH]:
            for action in await actions.list_open_for_bdb(session, bdb.uid):
                if action.cancellable:
                    action.cancelled_by = "system"
            is_measured = await stop_benchmarks(session, await benchmark_runs.list_open(session, bdb.uid), "system")
            if not is_measured and (bdb.status in REMOVABLE or bdb.action_uid is None):
                await self._requests.delete_database(session, bdb)


async def _unused(session: AsyncSession) -> list[Bdb]:
    """Return temporary databases that are no longer needed and that are not being deleted yet."""
    unused = []
    for bdb in await bdbs.list_temporary(session):
        action = await actions.by_uid(session, bdb.verification_action_uid or "")
        if action is None or action.status not in OPEN_STATUSES:
            unused.append(bdb)
    for bdb in await bdbs.list_of_scenarios(session):
        run = await scenario_runs.by_uid(session, bdb.scenario_run_uid or 0)
        is_needed = run is not None and (
            run.keep or (run.status in OPEN_RUNS and scenario_steps.needs_databases(run.parts, bdb.uid))
        )
        if not is_needed:
            unused.append(bdb)
    return [bdb for bdb in unused if bdb.status != BdbStatus.DELETE_PENDING or bdb.action_uid is None]
