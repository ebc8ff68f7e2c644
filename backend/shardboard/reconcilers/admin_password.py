"""Gives a database another password for the user as which agents command its shards and replicas copy from their primaries, while
it serves.

First every shard lets that user in by either, then agents and replicas use the new one, then it is the database's, and only then
shards forget the one before. Who comes or goes meanwhile has one of the two, and gets in everywhere. Each step may be repeated.
"""

from collections.abc import Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.db import Store
from shardboard.driver import admin_password
from shardboard.driver.ports import Agents
from shardboard.errors import AgentBehind, AgentError
from shardboard.reconcilers import load
from shardboard.reconcilers.endpoints import Endpoints
from shardboard.reconcilers.lease import ours, release
from shardboard.reconcilers.load import DesiredDatabase
from shardboard.reconcilers.loop import Outcome
from shardboard.reconcilers.updates import back_to_active, refusal
from shardboard.state import bdbs
from shardboard.state.actions import Action
from shardboard.state.events import record_of_action

NAME = "SMResetAdminPassword"
STEPS = ("Let shards accept the new password", "Use it", "Let shards forget the one before")


class ResetAdminPassword:
    """`params["at"]` is the step that is under way, as a number."""

    def __init__(self, store: Store, agents: Agents, serving: Endpoints) -> None:
        self._store = store
        self._agents = agents
        self._serving = serving

    async def step(self, action: Action) -> Outcome:
        database = await load.database(self._store, action.object_uid)
        async with self._store.read() as session:
            bdb = await bdbs.by_uid(session, action.object_uid)
        if database is None or bdb is None:
            return Outcome(failed="The database does not exist any more.")
        at: int = action.params.get("at", 0)
        work: Callable[[DesiredDatabase, str], Awaitable[dict[int, str]]] = (self._accept, self._use, self._forget)[at]
        try:
            reasons = await work(database, bdb.next_admin_password)
        except AgentBehind as error:
            return Outcome(failed=error.reason)
        except AgentError as error:
            return Outcome(unreachable=error.reason, again_in=0.5)
        if reasons:
            return Outcome(unreachable=refusal(reasons), again_in=0.5)
        if at == 1 and not await self._keep(action):
            return Outcome(failed="The database does not exist any more.")
        if at + 1 == len(STEPS):
            return Outcome(finished=True)
        status = ["completed" if number <= at else "pending" for number in range(len(STEPS))]
        status[at + 1] = "running"
        return Outcome(
            remember={"at": at + 1},
            progress=100 * (at + 1) / len(STEPS),
            steps=[{"name": name, "status": each} for name, each in zip(STEPS, status, strict=True)],
            again_in=0.02,
        )

    async def _accept(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        # As it is: whoever cannot do that is found before anything is changed.
        present = database.engine.admin_password
        return await admin_password.use(
            self._agents, database.shards, database.engine.uid, present
        ) or await admin_password.accept(self._agents, database.shards, password)

    async def _use(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        return await admin_password.use(self._agents, database.shards, database.engine.uid, password)

    async def _keep(self, action: Action) -> bool:
        """From now on what is started, and what proxies are told, has the new one."""
        async with ours(self._store, action) as session:
            bdb = await bdbs.by_uid(session, action.object_uid) if session is not None else None
            if bdb is not None and bdb.next_admin_password:
                bdb.admin_password = bdb.next_admin_password
        return bdb is not None

    async def _forget(self, database: DesiredDatabase, password: str) -> dict[int, str]:
        if failed := await self._serving.serve(database.engine.uid):  # its canary logs in with what follows from it
            node_uid, reason = min(failed.items())
            raise AgentError(f"the endpoint on node {node_uid} has not been told: {reason}")
        return await admin_password.forget_others(self._agents, database.shards, password)

    async def finish(self, session: AsyncSession, action: Action, outcome: Outcome) -> None:
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None:
            bdb.next_admin_password = ""
            await release(session, action, "")
            told = f"All shards of {bdb.name} have another internal password, and forgot the one before."
            record_of_action(session, action, "bdb_admin_password_reset", told)

    async def fail(self, session: AsyncSession, action: Action, reason: str) -> None:
        """Where some use the new one already, it stays good, also at shards that are started from now on, and the next order goes
        on with it."""
        bdb = await bdbs.by_uid(session, action.object_uid)
        if bdb is not None and (action.params.get("at", 0) == 0 or bdb.admin_password == bdb.next_admin_password):
            bdb.next_admin_password = ""
        await back_to_active(session, action, f"The internal password was not changed everywhere: {reason}")
