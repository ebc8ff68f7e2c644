"""Synchronization of engine users with roles and permissions, on all shards including restarted ones."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.driver import acl_users as users
from shardboard.driver.acl_users import DataUser
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.kit.bus import Bus
from shardboard.reconcilers import load_database
from shardboard.reconcilers.access import hidden_internals
from shardboard.reconcilers.access.hidden_internals import DefaultUsers
from shardboard.state.access import acl_users as data_users
from shardboard.state.alerting.events import record
from shardboard.state.cluster import nodes
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.shards import ReadShard
from shardboard.store.db import Store

POLL_SECONDS = 2.0
"""Seconds between two sweeps. For this time a restarted shard can lack a user that was added while it was down."""
KINDS = frozenset({"bdb", "user", "role", "redis_acl", "cluster"})


@dataclass(frozen=True)
class ShardProcess:
    """Process of a shard. A new process only has the users from its file, which can be outdated."""

    shard: ShardRef
    identity: object


class AccessLoop:
    """Compares the users that each shard has with the users that it should have, and updates those that differ."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._known: dict[int, tuple[object, frozenset[DataUser]]] = {}
        """By uid of the shard: its process, and the users that were set there."""
        self._is_clean = False
        """Whether no shard, including unavailable ones, has personal users, and none should have any."""
        self._refusals: dict[int, str] = {}
        """By uid of the database: reason of the last reported failure."""
        self._default_users = DefaultUsers(store, agents)

    async def run(self) -> None:
        """Run until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await changes.wait_until(lambda change: change[0] in KINDS, POLL_SECONDS, pause=4)

    async def sweep(self) -> None:
        """Synchronize all databases once."""
        await self._default_users.sweep(_references)
        async with self._store.read() as session:
            desired = await data_users.granted_users(session)
            is_idle = self._is_clean and not any(desired.values())
            processes, are_all_here = ({}, True) if is_idle else await _processes(session)
        if is_idle:
            return
        self._known = {uid: known for uid, known in self._known.items() if uid in processes}
        for bdb_uid, bdb_users in desired.items():
            processes_of_bdb = {uid: process for uid, (owner, process) in processes.items() if owner == bdb_uid}
            desired_users = frozenset(DataUser(each.name, each.passwords_sha256, each.rules) for each in bdb_users)
            await self._update(bdb_uid, desired_users, processes_of_bdb)
        stale_uids = {
            uid for uid, (_, process) in processes.items() if self._known.get(uid) != (process.identity, frozenset())
        }
        # An unavailable shard still has users in its file that were removed from the others.
        self._is_clean = are_all_here and not stale_uids

    async def _update(self, bdb_uid: int, people: frozenset[DataUser], processes: Mapping[int, ShardProcess]) -> None:
        outdated = [
            process.shard for uid, process in processes.items() if self._known.get(uid) != (process.identity, people)
        ]
        if not outdated:
            return
        known_users = {
            uid: users_there
            for uid, (identity, users_there) in self._known.items()
            if uid in processes and processes[uid].identity == identity
        }
        applied = await users.apply_users(self._agents, outdated, people, known_users)
        self._known |= {
            uid: (processes[uid].identity, shard_users) for uid, shard_users in applied.users_by_shard.items()
        }
        await self._record_failure(bdb_uid, applied.refused)

    async def _record_failure(self, bdb_uid: int, refused: Mapping[int, str]) -> None:
        """Record an event when shards reject users, once per reason. Shards that did not respond are retried without an event."""
        uid, reason = min(refused.items(), default=(0, ""))
        if not reason.startswith("ERR") or self._refusals.get(bdb_uid) == reason:
            return
        self._refusals[bdb_uid] = reason
        async with self._store.begin() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            if bdb is not None:
                message = f"Users of {bdb.name} could not be set on shard redis:{uid}: {reason}"
                record(session, "bdb_access_failed", message, source="bdb", severity="ERROR", bdb_uid=bdb_uid)


async def _references(session: AsyncSession) -> hidden_internals.Processes:
    processes, _ = await _processes(session)
    return {uid: (bdb_uid, process.shard, process.identity) for uid, (bdb_uid, process) in processes.items()}


async def _processes(session: AsyncSession) -> tuple[dict[int, tuple[int, ShardProcess]], bool]:
    """Return database and process of each living shard, by uid, and whether all shards are living."""
    node_refs = {node.uid: load_database.node_ref(node) for node in await nodes.list_stored(session)}
    expected = await shards.list_conditions(session)
    rows = [row for row in expected if row.node_uid in node_refs and _is_alive(row)]
    processes_by_uid = {
        row.uid: (
            row.bdb_uid,
            ShardProcess(
                load_database.shard_ref(row, node_refs[row.node_uid]), (row.observed_pid, row.observed_started_at)
            ),
        )
        for row in rows
    }
    return processes_by_uid, len(rows) == len(expected)


def _is_alive(row: ReadShard) -> bool:
    return row.observed_status == ShardStatus.OK and row.observed_pid is not None
