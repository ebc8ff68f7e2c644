"""Endpoints of the cluster and its policy."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Admin, Principal, Reader, TheConsole, Tx
from shardboard.api.gate import look_again
from shardboard.api.intervals import newest, values_of
from shardboard.api.parameters import DryRun, is_on
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.domain import machines
from shardboard.schemas import cluster as schema
from shardboard.schemas import health as health_schema
from shardboard.services import cluster as service
from shardboard.settings import Settings
from shardboard.state import bdbs, cluster, events, nodes, shards
from shardboard.state.cluster import Cluster

router = APIRouter(tags=["cluster"])


@router.get("/cluster", response_model=schema.WholeCluster, responses=errors())
async def get_cluster(viewer: AnyViewer, session: Reader, console: TheConsole) -> JSONResponse:
    """Return the name, settings, nodes, databases and capacity of the cluster."""
    return JSONResponse(await _full_cluster(session, console, await cluster.load(session), viewer))


@router.put("/cluster", response_model=schema.WholeCluster, responses=errors())
async def update_cluster(
    admin: Admin, session: Tx, console: TheConsole, body: schema.ClusterUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change cluster settings. Read-only and unknown settings are ignored. Required role: `admin`."""
    changed = await service.update(session, body.changes(), admin, dry_run=is_on(dry_run))
    return JSONResponse(await _full_cluster(session, console, changed, admin))


@router.get("/cluster/policy", response_model=schema.Policy, responses=errors())
async def get_policy(_viewer: AnyViewer, session: Reader) -> JSONResponse:
    """Return the policy: defaults for new databases and other rules."""
    return JSONResponse(schema.policy_of(await cluster.load(session)))


@router.put("/cluster/policy", response_model=schema.Policy, responses=errors())
async def update_policy(admin: Admin, console: TheConsole, body: schema.PolicyUpdate) -> JSONResponse:
    """Change rules of the policy. Unknown rules are ignored. Required role: `admin`."""
    async with console.store.begin() as session:
        reply = schema.policy_of(await service.update_policy(session, body.changes(), admin))
    look_again(console.store)
    return JSONResponse(reply)


@router.put("/cluster/policy/restore_default", response_model=schema.Policy, responses=errors())
async def restore_policy(admin: Admin, session: Tx) -> JSONResponse:
    """Reset all rules of the policy to their defaults. Required role: `admin`."""
    return JSONResponse(schema.policy_of(await service.restore_policy(session, admin)))


@router.get("/cluster/health", response_model=health_schema.Health, responses=errors())
async def get_health(viewer: AnyViewer, session: Reader) -> JSONResponse:
    """Return the active alarms, the most severe first."""
    raised = [alarm for alarm in await events.open_alarms(session) if viewer.hears(alarm)]
    return JSONResponse(health_schema.render(raised))


def represent(row: Cluster, settings: Settings) -> dict[str, Any]:
    """Return the cluster in the format of the API and the event stream."""
    return schema.render(row, https_port=settings.https_port, http_port=settings.http_port)


async def _full_cluster(session: Reader, console: TheConsole, row: Cluster, viewer: Principal) -> dict[str, Any]:
    """Return the cluster with its nodes, databases and capacity."""
    node_rows, shard_rows = await nodes.every(session), await shards.every(session)
    counted = machines.one_per_machine((node.uid, str(node.facts.get("machine_id", node.uid))) for node in node_rows)
    _, frame = newest(console, "cluster")
    used = dict(values_of(frame, 0)).get("used_memory", 0.0) if frame is not None else 0.0
    every = {
        "status": "active",
        "nodes": [node.uid for node in node_rows],
        "databases": [bdb.uid for bdb in await bdbs.every(session) if viewer.reaches(bdb.uid)],
        "total_shards": len(shard_rows),
        "total_memory": sum(int(node.facts.get("total_memory", 0)) for node in node_rows if node.uid in counted),
        "used_memory": round(used) if used == used else 0,
    }
    return {**represent(row, console.settings), **every}
