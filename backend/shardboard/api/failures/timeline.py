"""Endpoint of the timeline: events of nodes and shards, as points or spans in time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.alerting.events import UidFilter, parse_time
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyLogViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.schemas.alerting import events as schema
from shardboard.state.alerting import events

router = ApiRouter(prefix="/v1", tags=["log"])

MAX_EVENTS = 5000
DEFAULT_SPAN = timedelta(hours=1)
ALARM_PREFIX = "alarm_"
TYPES = (
    "node_failed",
    "node_up",
    "node_agent_lost",
    "node_agent_connected",
    "node_joined",
    "shard_down",
    "shard_up",
    "shard_role_changed",
    "replica_link_down",
    "replica_in_sync",
    "shard_failover",
    "shard_failover_failed",
    "shard_handover_failed",
    "endpoint_moved",
    "endpoint_ended",
    "endpoint_down",
    "endpoint_up",
    "resync",
    "replica_revived",
    "replica_revival_failed",
    "rival_demoted",
    "shard_hung",
    "orphan_removed",
    "shard_restarted",
    "shard_restart_failed",
    "shard_moved",
    "shard_removed",
    "shard_migrate_completed",
    "shard_migrate_cancelled",
    "shard_migrate_failed",
    "bdb_reshard_completed",
    "bdb_reshard_cancelled",
    "bdb_reshard_failed",
    "bdb_upgrade_completed",
    "bdb_upgrade_cancelled",
    "bdb_upgrade_failed",
    "bdb_rebalance_completed",
    "bdb_rebalance_cancelled",
    "bdb_rebalance_failed",
    "replica_ha_started",
    "replica_ha_no_room",
    "replica_ha_completed",
    "replica_ha_failed",
    "primaries_return_completed",
    "node_maintenance_on_completed",
    "node_maintenance_off_completed",
    "node_removed",
    "drill_started",
    "drill_ended",
    "bdb_activated",
    "bdb_creation_failed",
    "bdb_updated",
    "bdb_update_failed",
    "bdb_traffic_stopped",
    "bdb_traffic_resumed",
    "bdb_delete_failed",
    "bdb_deleted",
    "bdb_flushed",
    "backup_succeeded",
    "backup_failed",
    "export_succeeded",
    "export_failed",
    "import_started",
    "import_succeeded",
    "import_failed",
    "benchmark_started",
    "benchmark_completed",
    "benchmark_failed",
    "benchmark_stopped",
    "scenario_started",
    "scenario_completed",
    "scenario_failed",
    "scenario_stopped",
)


@router.get("/timeline", summary="List timeline events", response_model=list[schema.Event], responses=error_responses())
async def list_timeline(
    viewer: AnyLogViewer,
    session: ReadSession,
    from_: Annotated[str | None, Query(alias="from", description="ISO 8601. Default: one hour before `to`.")] = None,
    to: Annotated[str | None, Query(description="ISO 8601. Default: now.")] = None,
    bdb_uid: UidFilter = None,
    node_uid: UidFilter = None,
) -> JSONResponse:
    """Return events in the interval, and events that started earlier but overlap it, oldest first.

    If there are too many, the newest ones are returned. Required role: any role except `none` and `db_viewer`.
    """
    last = parse_time(to, "to") or datetime.now(UTC) + timedelta(seconds=1)
    first = parse_time(from_, "from") or last - DEFAULT_SPAN
    overlapping = await events.list_overlapping(
        session,
        TYPES,
        first,
        last,
        family=ALARM_PREFIX,
        bdb_uid=bdb_uid,
        bdb_uids=viewer.bdbs,
        node_uid=node_uid,
        limit=MAX_EVENTS,
    )
    return JSONResponse([schema.render(event) for event in overlapping])
