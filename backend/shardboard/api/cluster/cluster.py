"""Endpoints of the cluster and its policy."""

from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ConsoleDep, Principal, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun
from shardboard.api.metrics.intervals import frame_values, newest_frame
from shardboard.console import Console
from shardboard.domain.cluster.cipher_suites import cipher_suites
from shardboard.domain.metrics import machine
from shardboard.errors import NotAcceptable
from shardboard.schemas.alerting import alarms as health_schema
from shardboard.schemas.cluster import cluster as schema
from shardboard.services.cluster import cluster as service
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.databases import bdbs, shards

router = ApiRouter(prefix="/v1", tags=["cluster"])


@router.get("/cluster", response_model=schema.ClusterOverview, responses=error_responses())
async def get_cluster(viewer: AnyViewer, session: ReadSession, console: ConsoleDep) -> JSONResponse:
    """Return the name, settings, nodes, databases, and capacity of the cluster."""
    return JSONResponse(await _full_cluster(session, console, await cluster.load(session), viewer))


@router.put("/cluster", response_model=schema.ClusterOverview, responses=error_responses(406))
async def update_cluster(
    admin: Admin, session: WriteSession, console: ConsoleDep, body: schema.ClusterUpdate
) -> JSONResponse:
    """Change cluster settings. Read-only and unknown settings are ignored. Cipher suites and certificates cannot be changed here.

    Required role: `admin`.
    """
    for name, value in _transport_security(console).items():
        if (body.model_extra or {}).get(name, value) != value:
            message = f"{name} cannot be changed. `PUT /v1/cluster/certificates` installs a certificate of the console."
            raise NotAcceptable("not_supported", message, field=name)
    changed = await service.update(session, body.changes(), admin)
    return JSONResponse(await _full_cluster(session, console, changed, admin))


@router.get("/cluster/policy", response_model=schema.Policy, responses=error_responses())
async def get_policy(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the policy: defaults for new databases and other rules."""
    return JSONResponse(schema.render_policy(await cluster.load(session)))


@router.put("/cluster/policy", response_model=schema.Policy, responses=error_responses())
async def update_policy(
    request: Request, admin: Admin, console: ConsoleDep, body: schema.PolicyUpdate, dry_run: DryRun
) -> JSONResponse:
    """Change rules of the policy. Unknown rules are ignored. Required role: `admin`."""
    async with login_change(console.store, dry_run=dry_run, request=request) as session:
        return JSONResponse(schema.render_policy(await service.update_policy(session, body.changes(), admin)))


@router.put("/cluster/policy/restore_default", response_model=schema.Policy, responses=error_responses())
async def restore_policy(admin: Admin, session: WriteSession) -> JSONResponse:
    """Reset all rules of the policy to their defaults. Required role: `admin`."""
    return JSONResponse(schema.render_policy(await service.restore_policy(session, admin)))


@router.get("/cluster/health", response_model=health_schema.Health, responses=error_responses())
async def get_health(viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the active alarms, the most severe first."""
    open_alarms = [alarm for alarm in await events.list_open_alarms(session) if viewer.can_see_alarm(alarm)]
    return JSONResponse(health_schema.render(open_alarms, datetime.now(UTC)))


def render_cluster(row: Cluster, settings: Settings) -> dict[str, Any]:
    """Return the cluster in the format of the API and the event stream."""
    return schema.render(row, https_port=settings.https_port, http_port=settings.http_port)


async def _full_cluster(session: ReadSession, console: ConsoleDep, row: Cluster, viewer: Principal) -> dict[str, Any]:
    """Return the cluster with its nodes, databases and capacity."""
    node_rows, shard_rows = await nodes.list_all(session), await shards.list_all(session)
    machines = machine.one_per_machine((node.uid, str(node.facts.get("machine_id", node.uid))) for node in node_rows)
    _, frame = newest_frame(console, "cluster")
    used_memory = dict(frame_values(frame, 0)).get("used_memory", 0.0) if frame is not None else 0.0
    common = {
        "status": "active",
        "nodes": [node.uid for node in node_rows],
        "databases": [bdb.uid for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)],
        "total_shards": len(shard_rows),
        "total_memory": sum(int(node.facts.get("total_memory", 0)) for node in node_rows if node.uid in machines),
        "used_memory": round(used_memory) if used_memory == used_memory else 0,
    }
    return {**render_cluster(row, console.settings), **_transport_security(console), **common}


def _transport_security(console: Console) -> dict[str, Any]:
    """Return the fields about TLS, which cannot be changed. `proxy_certificate` is what clients of endpoints must trust."""
    return {**cipher_suites(), "proxy_certificate": console.ca.ca_pem, "syncer_certificate": ""}
