"""Keeps the users of the engines as roles and permissions have it: at every shard, also those that start anew."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.bus import Bus
from shardboard.db import Store
from shardboard.driver import users
from shardboard.driver.cluster import ShardRef
from shardboard.driver.ports import Agents
from shardboard.driver.users import DataUser
from shardboard.reconcilers import load
from shardboard.state import bdbs, data_users, nodes, shards
from shardboard.state.events import record
from shardboard.state.shards import Shard

LOOK_AGAIN = 2.0
"""Seconds: so long a shard that starts anew may lack a user who was added while it was away."""
KINDS = frozenset({"bdb", "user", "role", "redis_acl", "cluster"})


@dataclass(frozen=True)
class Process:
    """A shard's process: another one knows only what is in its file, which may be older."""

    shard: ShardRef
    born: object


class AccessLoop:
    """Compares what each shard was told with what it should know, and tells those that differ."""

    def __init__(self, store: Store, bus: Bus, agents: Agents) -> None:
        self._store = store
        self._bus = bus
        self._agents = agents
        self._known: dict[int, tuple[object, frozenset[DataUser]]] = {}
        """By uid of the shard: its process, and the users that this was told."""
        self._is_clean = False
        """No shard has users of people, also not one that is away, and none shall."""
        self._refusals: dict[int, str] = {}
        """By uid of the database, what was told of last."""

    async def run(self) -> None:
        """Until cancelled."""
        with self._bus.listen("change") as changes:
            while True:
                await self.sweep()
                await changes.until(lambda change: change[0] in KINDS, LOOK_AGAIN)

    async def sweep(self) -> None:
        """Once over all databases."""
        async with self._store.read() as session:
            wanted = await data_users.allowed(session)
            is_idle = self._is_clean and not any(wanted.values())
            processes, are_all_here = ({}, True) if is_idle else await _processes(session)
            has_more = await data_users.has_idle_hashes(session)
        if has_more:
            async with self._store.begin() as session:
                await data_users.forget(session)
        if is_idle:
            return
        self._known = {uid: known for uid, known in self._known.items() if uid in processes}
        for bdb_uid, allowed in wanted.items():
            of_bdb = {uid: process for uid, (owner, process) in processes.items() if owner == bdb_uid}
            people = frozenset(DataUser(each.name, each.passwords_sha256, each.rules) for each in allowed)
            await self._bring(bdb_uid, people, of_bdb)
        left = {uid for uid, (_, process) in processes.items() if self._known.get(uid) != (process.born, frozenset())}
        # One that is away still has in its file whom the others have been told to remove.
        self._is_clean = are_all_here and not left

    async def _bring(self, bdb_uid: int, people: frozenset[DataUser], processes: Mapping[int, Process]) -> None:
        behind = [process.shard for uid, process in processes.items() if self._known.get(uid) != (process.born, people)]
        if not behind:
            return
        known = {
            uid: told for uid, (born, told) in self._known.items() if uid in processes and processes[uid].born == born
        }
        brought = await users.bring(self._agents, behind, people, known)
        self._known |= {uid: (processes[uid].born, taken) for uid, taken in brought.taken.items()}
        await self._tell(bdb_uid, brought.refused)

    async def _tell(self, bdb_uid: int, refused: Mapping[int, str]) -> None:
        """An event when shards refuse, once for each reason; one that does not answer is told again, and nothing is said of it."""
        uid, reason = min(refused.items(), default=(0, ""))
        if not reason.startswith("ERR") or self._refusals.get(bdb_uid) == reason:
            return
        self._refusals[bdb_uid] = reason
        async with self._store.begin() as session:
            bdb = await bdbs.by_uid(session, bdb_uid)
            if bdb is not None:
                sentence = f"Users of {bdb.name} could not be brought to shard redis:{uid}: {reason}"
                record(session, "bdb_access_failed", sentence, source="bdb", severity="ERROR", bdb_uid=bdb_uid)


async def _processes(session: AsyncSession) -> tuple[dict[int, tuple[int, Process]], bool]:
    """By uid of each shard that lives: its database, and its process; and whether all do."""
    places = {node.uid: load.reference(node) for node in await nodes.every(session)}
    wanted = await shards.every(session)
    rows = [row for row in wanted if row.node_uid in places and _lives(row)]
    found = {
        row.uid: (
            row.bdb_uid,
            Process(load.shard(row, places[row.node_uid]), (row.observed_pid, row.observed_started_at)),
        )
        for row in rows
    }
    return found, len(rows) == len(wanted)


def _lives(row: Shard) -> bool:
    return row.observed_status == "ok" and row.observed_pid is not None
