"""Deletion of the keys that a database has before a restore replaces them.

A replica that is promoted before it has received the deletion still has the old keys. Therefore, the row of the restore contains
the shards without old keys: primaries on which the deletion succeeded, and replicas that confirmed to have received it. Any other
shard that becomes primary is erased before keys are written to it. This also deletes what clients have written since the promotion.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from shardboard.actions.data_parameters import RestoreParameters
from shardboard.domain.cluster.actions import StepStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver import valkey_cluster
from shardboard.driver.interfaces import Agents
from shardboard.driver.valkey_cluster import ShardRef
from shardboard.reconcilers import load_database
from shardboard.reconcilers.data.restore_context import RestoreContext
from shardboard.reconcilers.databases.bdb_changes import failure_message, failures_by_shard
from shardboard.reconcilers.lease import leased_transaction
from shardboard.reconcilers.loop import Outcome
from shardboard.state.cluster.actions import Action
from shardboard.state.data import restores
from shardboard.store.db import Store
from shardboard.valkey.replies import info_fields, info_number

CONFIRM_SECONDS = 5.0
"""How long replicas may take to receive the deletion. Others are erased if they are promoted."""
POLL_SECONDS = 0.1
INFO_SECONDS = 10.0
RETRY_SECONDS = 0.5


class Erasure:
    """Deletes old keys. Every step can be repeated, because no transfer writes to a shard before it is erased."""

    def __init__(self, store: Store, agents: Agents) -> None:
        self._store = store
        self._agents = agents

    async def step(self, action: Action, context: RestoreContext) -> Outcome | None:
        """Erase the primaries that may have old keys. Return None if there are none."""
        uids = {row.uid for row in context.unerased}
        if not uids:
            return None
        # The row is written first, so that a failure afterwards is reported correctly.
        if not await self._save(action, []):
            return Outcome()
        database = await load_database.database(self._store, action.object_uid)
        if database is None:
            return Outcome(failed="The database no longer exists.")
        primaries = [each for each in database.primaries if each.uid in uids]
        results = await valkey_cluster.command(self._agents, primaries, "FLUSHALL", "ASYNC")
        reasons = failures_by_shard(results)
        erased = [each for each in primaries if each.uid not in reasons]
        pairs = {each.pair for each in erased}
        replicas = [each for each in database.living if each.pair in pairs and each not in database.primaries]
        confirmed = await self._confirmed(erased, replicas)
        if not await self._save(action, [*(each.uid for each in erased), *confirmed]):
            return Outcome()
        detail = failure_message(reasons) if reasons else ""
        step = {"name": "Delete all keys", "status": StepStatus.RUNNING, **({"detail": detail} if detail else {})}
        return Outcome(steps=[step], retry_in=RETRY_SECONDS if reasons else 0.0)

    async def _save(self, action: Action, uids: Sequence[int]) -> bool:
        async with leased_transaction(self._store, action) as session:
            uid = RestoreParameters.parse(action).restore_uid
            row = await restores.by_uid(session, uid) if session is not None else None
            if row is None:
                return False
            row.erased_at = row.erased_at or datetime.now(UTC)
            row.erased_shards = sorted({*row.erased_shards, *uids})
        return True

    async def _confirmed(self, primaries: Sequence[ShardRef], replicas: Sequence[ShardRef]) -> list[int]:
        """Return the replicas that have received everything that the primaries have executed so far."""
        offsets = {}
        for shard, info in (await self._replication(primaries)).items():
            if info.get("role") == ShardRole.PRIMARY:
                offsets[shard.pair] = info_number(info, "master_repl_offset")
        waiting = [each for each in replicas if each.pair in offsets]
        confirmed: list[int] = []
        deadline = time.monotonic() + CONFIRM_SECONDS
        while waiting:
            for shard, info in (await self._replication(waiting)).items():
                is_replica = info.get("role") == ShardRole.REPLICA and info.get("master_link_status") == "up"
                if is_replica and info_number(info, "slave_repl_offset") >= offsets[shard.pair]:
                    confirmed.append(shard.uid)
            waiting = [each for each in waiting if each.uid not in confirmed]
            if time.monotonic() >= deadline:
                break
            if waiting:
                await asyncio.sleep(POLL_SECONDS)
        return confirmed

    async def _replication(self, shards: Sequence[ShardRef]) -> dict[ShardRef, dict[str, str]]:
        results = await valkey_cluster.command(self._agents, shards, "INFO", "replication", timeout=INFO_SECONDS)
        return {each: info_fields(results[each.uid].reply) for each in shards if results[each.uid].ok}
