"""Writes of resharding: each change of rows is one transaction, and only while the action is still ours."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.placement import slots
from shardboard.domain.placement.slots import Ranges
from shardboard.reconcilers.lease import leased_transaction
from shardboard.state.alerting.events import record_for_action
from shardboard.state.cluster import nodes
from shardboard.state.cluster.actions import Action
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.store.db import Store


async def write_slots(store: Store, action: Action, held: Mapping[int, Ranges]) -> None:
    """Store the slots that the pairs hold now."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            text = slots.render(held.get(row.pair, ()))
            if row.slots != text:
                row.slots = text


async def record_serving(store: Store, action: Action) -> None:
    """Record that the new shards have been seen serving."""
    now = datetime.now(UTC)
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            if row.uid in action.params["newcomers"] and row.observed_role is None:
                row.set_role(row.role, now)


async def retire(store: Store, action: Action, pairs: Collection[int]) -> None:
    """Retire pairs without slots. The removal loop ends their shards and makes the others forget them."""
    async with leased_transaction(store, action) as session:
        if session is None:
            return
        for row in await shards.list_for_bdb(session, action.object_uid):
            if row.pair in pairs:
                row.desired = "absent"


async def retired_shards(store: Store, action: Action) -> list[int]:
    """Return the uids of retired shards that still exist. Shards on unreachable nodes are removed when the node returns."""
    async with store.read() as session:
        reachable = {
            node.uid
            for node in await nodes.list_all(session)
            if node.health == "up" and node.agent_status == "connected"
        }
        return [
            row.uid
            for row in await shards.list_absent(session)
            if row.bdb_uid == action.object_uid and row.node_uid in reachable
        ]


async def record_completed(session: AsyncSession, action: Action) -> None:
    """Write the end: the database has the requested number of pairs."""
    bdb = await bdbs.by_uid(session, action.object_uid)
    if bdb is None:
        return
    bdb.status, bdb.status_detail, bdb.action_uid = "active", "", None
    seconds = (datetime.now(UTC) - action.created_at).total_seconds()
    before = action.params["count_before"]
    message = (
        f"Database {bdb.name} changed from {before} to {bdb.shards_count} primaries in {seconds:.1f} s"
        if before != bdb.shards_count
        else f"The slots of database {bdb.name} were distributed evenly in {seconds:.1f} s"
    )
    keys = action.params.get("keys", 0)
    details = {"before": before, "after": bdb.shards_count, "slots": action.params["total"], "keys": keys}
    message += f": {action.params['total']} slots moved, with {keys} keys."
    _record_event(session, action, bdb, "bdb_reshard_completed", message, {**details, "seconds": seconds})


async def record_stopped(session: AsyncSession, action: Action, reason: str) -> None:
    """Write the end of a failed or cancelled action: the database keeps the number of pairs that was reached."""
    bdb = await bdbs.by_uid(session, action.object_uid)
    if bdb is None:
        return
    rows = await shards.list_for_bdb(session, action.object_uid)
    if not action.params.get("joined"):  # after that, a new shard can hold keys of a partially moved slot
        for row in rows:
            if row.uid in action.params["newcomers"]:
                row.desired = "absent"
    pairs = {row.pair for row in rows if row.desired == "running"}
    requested, bdb.shards_count = bdb.shards_count, len(pairs)
    bdb.status, bdb.status_detail, bdb.action_uid = "active", reason, None
    bdb.changed_at = datetime.now(UTC)
    message = f"The change of database {bdb.name} to {requested} primaries ended with {len(pairs)}: {reason}"
    kind = "bdb_reshard_cancelled" if action.cancelled_by else "bdb_reshard_failed"
    severity = "WARNING" if action.cancelled_by else "ERROR"
    _record_event(session, action, bdb, kind, message, {"wanted": requested, "after": len(pairs)}, severity)


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
