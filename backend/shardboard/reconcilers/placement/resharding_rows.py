"""Writes of resharding: each change of rows is one transaction, and only while the action is still ours."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions.bdb_parameters import ReshardParameters
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import DesiredState
from shardboard.domain.placement import slots
from shardboard.domain.placement.slots import Ranges
from shardboard.reconcilers.lease import leased_transaction
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store


async def write_slots(store: Store, action: Action, slots_by_pair: Mapping[int, Ranges]) -> None:
    """Store the slots that the pairs hold now."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            text = slots.render(slots_by_pair.get(row.pair, ()))
            if row.slots != text:
                row.slots = text


async def record_serving(store: Store, action: Action, new_shards: Collection[int]) -> None:
    """Record that the new shards have been seen serving."""
    now = datetime.now(UTC)
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            if row.uid in new_shards and row.observed_role is None:
                row.set_role(row.role, now)


async def retire(store: Store, action: Action, pairs: Collection[int]) -> None:
    """Retire pairs without slots. The removal loop ends their shards and makes the others forget them."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            if row.pair in pairs:
                row.desired = DesiredState.ABSENT


async def retired_shards(store: Store, action: Action) -> list[int]:
    """Return the uids of retired shards that still exist. Shards on unreachable nodes are removed when the node returns."""
    async with store.read() as session:
        available_uids = {node.uid for node in await nodes.list_all(session) if node.is_available}
        return [
            row.uid
            for row in await shards.list_absent(session)
            if row.bdb_uid == action.object_uid and row.node_uid in available_uids
        ]


async def record_completed(session: AsyncSession, action: Action) -> None:
    """Write the end: the database has the requested number of pairs."""
    bdb = await bdbs.by_uid(session, action.object_uid)
    if bdb is None:
        return
    bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, "", None
    seconds = (datetime.now(UTC) - action.created_at).total_seconds()
    parameters = ReshardParameters.parse(action)
    previous_count, total, keys = parameters.count_before, parameters.total, parameters.keys
    message = (
        f"Database {bdb.name} changed from {previous_count} to {bdb.shards_count} primaries in {seconds:.1f} s"
        if previous_count != bdb.shards_count
        else f"The slots of database {bdb.name} were distributed evenly in {seconds:.1f} s"
    )
    details = {"before": previous_count, "after": bdb.shards_count, "slots": total, "keys": keys}
    message += f": {total} slots moved, with {keys} keys."
    _record_event(session, action, bdb, "bdb_reshard_completed", message, {**details, "seconds": seconds})


async def record_stopped(session: AsyncSession, action: Action, reason: str) -> None:
    """Write the end of a failed or cancelled action: the database keeps the number of pairs that was reached."""
    bdb = await bdbs.by_uid(session, action.object_uid)
    if bdb is None:
        return
    rows = await shards.list_for_bdb(session, action.object_uid)
    parameters = ReshardParameters.parse(action)
    if not parameters.joined:  # after that, a new shard can hold keys of a partially moved slot
        for row in rows:
            if row.uid in parameters.new_shards:
                row.desired = DesiredState.ABSENT
    pairs = {row.pair for row in rows if row.desired == DesiredState.RUNNING}
    requested_count, bdb.shards_count = bdb.shards_count, len(pairs)
    bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, reason, None
    bdb.changed_at = datetime.now(UTC)
    message = f"The change of database {bdb.name} to {requested_count} primaries ended with {len(pairs)}: {reason}"
    kind = "bdb_reshard_cancelled" if action.cancelled_by else "bdb_reshard_failed"
    severity = "WARNING" if action.cancelled_by else "ERROR"
    _record_event(session, action, bdb, kind, message, {"wanted": requested_count, "after": len(pairs)}, severity)


def _record_event(
    session: AsyncSession,
    action: Action,
    bdb: Bdb,
    type_: str,
    description: str,
    details: Mapping[str, object],
    severity: str = "INFO",
) -> None:
    record_for_action(session, action, type_, description, severity=severity, details={"bdb_name": bdb.name, **details})
