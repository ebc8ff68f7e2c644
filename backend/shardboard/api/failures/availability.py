"""Health endpoints for load balancers and monitoring: databases, endpoints, the console and the cluster."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.cluster import nodes as node_api
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer
from shardboard.api.http.dependencies import ConsoleDep, LoginOrError, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid, is_flag_set
from shardboard.domain.cluster.node_status import NodeHealth
from shardboard.domain.failures import availability
from shardboard.domain.failures.availability import AvailabilityFault
from shardboard.errors import ApiError, Unavailable
from shardboard.schemas.failures import availability as schema
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs, shards
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard

router = ApiRouter(tags=["health"])

_CODES: dict[AvailabilityFault, str] = {
    "shard_unreachable": "bdb_unavailable_shard_unreachable",
    "port_unbound": "bdb_unavailable_port_unbound",
}


@router.get("/v1/bdbs/{uid}/availability", responses=error_responses(404))
async def get_availability(
    _viewer: BdbViewer,
    session: ReadSession,
    uid: Uid,
    extend_check: Annotated[
        Literal["lag"] | None, Query(description="Also require that all replicas are in sync.")
    ] = None,
    availability_lag_tolerance_ms: Annotated[
        int | None, Query(ge=0, description="Accepted without effect: a replica is either in sync or not.")
    ] = None,
) -> dict[str, Any]:
    """Return 200 if clients can read and write all slots of the database, and 503 with the reason otherwise."""
    bdb = await get_bdb_or_404(session, uid)
    rows = await shards.list_for_bdb(session, uid)
    bdb_faults = _faults(bdb, rows, await nodes.list_all(session))
    if bdb_faults:
        raise Unavailable(_CODES[bdb_faults[0]], " ".join(availability.MESSAGES[each] for each in bdb_faults))
    if extend_check == "lag" and (pairs := availability.pairs_out_of_sync(schema.copies(rows))):
        raise Unavailable("bdb_unavailable", f"The replica of replication pair {pairs[0]} is not in sync.")
    return {}


@router.get("/v1/local/bdbs/{uid}/endpoint/availability", responses=error_responses(404))
async def get_endpoint_availability(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> dict[str, Any]:
    """Return 200 if a proxy serves the endpoint of the database, and 503 otherwise. The response covers all nodes."""
    bdb = await get_bdb_or_404(session, uid)
    if "port_unbound" in _faults(bdb, [], await nodes.list_all(session)):
        raise Unavailable("bdb_endpoint_unavailable", availability.MESSAGES["port_unbound"])
    return {}


@router.get("/v1/local/node/master_healthcheck", responses=error_responses())
async def get_master_healthcheck(
    session: ReadSession, login_or_error: LoginOrError, console: ConsoleDep
) -> dict[Literal["status"], Literal["active", "inactive"]]:
    """Return `active` if this console or another one is known to be the leader. Return 503 if the store is unavailable.

    Requires authentication unless the policy `master_healthcheck_api_auth` is false.
    """
    if isinstance(login_or_error, ApiError) and (await cluster.load(session)).rules.master_healthcheck_api_auth:
        raise login_or_error
    return {"status": "active" if console.leadership.is_led else "inactive"}


@router.get("/v4/cluster/health", response_model=schema.ClusterHealth, responses=error_responses())
async def get_cluster_health(
    viewer: AnyViewer,
    session: ReadSession,
    console: ConsoleDep,
    issues_only: Annotated[
        str | None, Query(description="Return only nodes and databases that have a problem.")
    ] = None,
) -> JSONResponse:
    """Return the health of nodes and databases, and the active alarms of the cluster."""
    machines, rows = await nodes.list_all(session), await shards.list_all(session)
    faults = []
    for bdb in await bdbs.list_all(session):
        if not viewer.can_access_database(bdb.uid):
            continue
        bdb_rows = [row for row in rows if row.bdb_uid == bdb.uid]
        faults.append((bdb, bdb_rows, _faults(bdb, bdb_rows, machines)))
    report = schema.cluster(
        await cluster.load(session),
        machines,
        await node_api.render_node_statuses(session, machines, console),
        faults,
        [alarm for alarm in await events.list_open_alarms(session) if viewer.can_see_alarm(alarm)],
        on_flash=sum(len(bdb_rows) for bdb, bdb_rows, _ in faults if bdb.on_flash),
        issues_only=is_flag_set(issues_only, "issues_only"),
    )
    return JSONResponse(report)


@router.get("/v4/db/{uid}/health", response_model=schema.DatabaseHealth, responses=error_responses(404))
@router.get("/v4/bdb/{uid}/health", response_model=schema.DatabaseHealth, responses=error_responses(404))
async def get_database_health(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> JSONResponse:
    """Return the health of a database: its shards, and the reasons why clients cannot use it."""
    bdb, rows = await get_bdb_or_404(session, uid), await shards.list_for_bdb(session, uid)
    bdb_faults = _faults(bdb, rows, await nodes.list_all(session))
    return JSONResponse(schema.database(bdb, rows, bdb_faults, await events.list_open_alarms(session)))


def _faults(bdb: Bdb, rows: Sequence[Shard], machines: Sequence[Node]) -> list[AvailabilityFault]:
    return availability.faults(schema.copies(rows), bound=any(_is_listening(node, bdb) for node in machines))


def _is_listening(node: Node, bdb: Bdb) -> bool:
    """Return whether the node's proxy serves the endpoint, according to the last report of its agent.

    Proxy statistics are not used: a console that has just started has not received any yet.
    """
    is_running = node.health != NodeHealth.DOWN and node.proxy.get("state") == "running"
    return (
        not bdb.traffic_stopped
        and node.uid in bdb.endpoint_nodes
        and is_running
        and str(bdb.uid) not in node.proxy.get("failures", {})
    )
