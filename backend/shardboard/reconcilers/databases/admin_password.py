"""Change of a database's admin password while the database serves requests.

Agents control the shards with this password, and replicas use it to copy from their primaries. First all shards accept both
passwords, then agents and replicas use the new one, then it is stored as the database's password, and finally shards stop accepting
the old one. Shards and components that start or stop in between have one of the two, which is accepted everywhere. Each step can be
repeated.
"""

from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.bdb_parameters import AdminPasswordParameters
from shardboard.domain.cluster.actions import step_status
from shardboard.driver import admin_password
from shardboard.driver.interfaces import Agents
from shardboard.errors import AgentError, AgentOutdated
from shardboard.reconcilers import load_database
from shardboard.reconcilers.databases.bdb_changes import failure_message, reset_status
from shardboard.reconcilers.databases.endpoints import Endpoints
from shardboard.reconcilers.lease import leased_transaction, unlock_databases
from shardboard.reconcilers.load_database import DesiredDatabase
from shardboard.reconcilers.loop import Outcome
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs
from shardboard.store.db import Store

STEPS = ("Accept the new password on all shards", "Use the new password", "Remove the old password from all shards")


class ResetAdminPassword:
    """Performs one of `STEPS` after the other."""

    def __init__(self, store: Store, agents: Agents, serving: Endpoints) -> None:
        self._store = store
        self._agents = agents
        self._serving = serving

    async def step(self, action: Action) -> Outcome:
        database = await load_database.database(self._store, action.object_uid)
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, action.object_uid)
        if database is None or bdb is None:
            return Outcome(failed="The database no longer exists.")
        at = AdminPasswordParameters.parse(action).at
        work: Callable[[DesiredDatabase, str], Awaitable[dict[int, str]]] = (self._accept, self._use, self._remove_old)[
            at
        ]
        try:
            reasons = await work(database, bdb.next_admin_password)
        except AgentOutdated as error:
            return Outcome(failed=error.reason)
        except AgentError as error:
            return Outcome(unreachable=error.reason, retry_in=0.5)
        if reasons:
            return Outcome(unreachable=failure_message(reasons), retry_in=0.5)
        if at == 1 and not await self._save(action):
            return Outcome(failed="The database no longer exists.")
        if at + 1 == len(STEPS):
            return Outcome(finished=True)
        statuses = [step_status(number, at + 1) for number in range(len(STEPS))]
        return Outcome(
            parameters=AdminPasswordParameters(at=at + 1),
            progress=100 * (at + 1) / len(STEPS),
            steps=[{"name": name, "status": each} for name, each in zip(STEPS, statuses, strict=True)],
            retry_in=0.02,
        )

    async def _accept(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        # First with the present password, which changes nothing, to find agents that cannot do this.
        current_password = database.engine.admin_password
        return await admin_password.use_password(
            self._agents, database.shards, database.engine.uid, current_password
        ) or await admin_password.add_password(self._agents, database.shards, password)

    async def _use(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        return await admin_password.use_password(self._agents, database.shards, database.engine.uid, password)

    async def _save(self, action: Action) -> bool:
        """Store the new password as the database's. Shards that start and proxies get it from now on."""
        async with leased_transaction(self._store, action) as session:
            bdb = await bdbs.by_uid(session, action.object_uid) if session is not None else None
            if bdb is not None and bdb.next_admin_password:
                bdb.admin_password = bdb.next_admin_password
        return bdb is not None

    async def _remove_old(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        if failed := await self._serving.serve(database.engine.uid):  # canary writes use a password derived from it
            node_uid, reason = min(failed.items())
            raise AgentError(f"the endpoint on node {node_uid} has not been updated: {reason}")
        return await admin_password.remove_other_passwords(self._agents, database.shards, password)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bdb.next_admin_password = ""
            await unlock_databases(session, action, "")
            message = (
                f"The internal password of {bdb.name} was changed on all shards. The old one is no longer accepted."
            )
            record_for_action(session, action, "bdb_admin_password_reset", message)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """If some shards already use the new password, it stays accepted, also by shards that start from now on, and the next
        request continues with it.
        """
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None and (
            AdminPasswordParameters.parse(action).at == 0 or bdb.admin_password == bdb.next_admin_password
        ):
            bdb.next_admin_password = ""
        await reset_status(session, action, f"The internal password was not changed on all shards: {reason}")
