"""Endpoints of the alerts of databases, nodes and the cluster."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Path, Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbEditor, BdbViewer
from shardboard.api.http.dependencies import ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404, get_node_or_404
from shardboard.api.http.parameters import Uid
from shardboard.domain.alerting import alert_settings
from shardboard.errors import NotFound
from shardboard.schemas.alerting import alerts as schema
from shardboard.services.alerting import alerts as service
from shardboard.state.cluster import cluster, nodes
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases import bdbs
from shardboard.state.databases.bdbs import Bdb

router = ApiRouter(prefix="/v1", tags=["alerts"])

AlertName = Annotated[str, Path(max_length=64)]
IgnoreSettings = Annotated[
    str | None,
    Query(description="Accepted without effect. Responses always contain all alerts, including disabled ones."),
]


@router.get("/bdbs/alerts", response_model=dict[str, schema.Alerts], responses=error_responses())
async def list_bdb_alerts(
    viewer: AnyViewer, session: ReadSession, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return the alerts of all databases, by database uid."""
    return JSONResponse(
        await _bdb_alerts(session, [bdb for bdb in await bdbs.list_all(session) if viewer.can_access_database(bdb.uid)])
    )


@router.get("/bdbs/alerts/{uid}", response_model=schema.Alerts, responses=error_responses(404))
async def get_bdb_alerts(
    _viewer: BdbViewer, session: ReadSession, uid: Uid, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return the alerts of a database, by alert name."""
    return JSONResponse((await _bdb_alerts(session, [await get_bdb_or_404(session, uid)]))[str(uid)])


@router.get("/bdbs/alerts/{uid}/{alert}", response_model=schema.Alert, responses=error_responses(404))
async def get_bdb_alert(
    _viewer: BdbViewer, session: ReadSession, uid: Uid, alert: AlertName, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return an alert of a database."""
    bdb_alerts = await _bdb_alerts(session, [await get_bdb_or_404(session, uid)])
    return JSONResponse(_find_alert(bdb_alerts[str(uid)], alert))


@router.post("/bdbs/alerts/{uid}", response_model=schema.Alerts, responses=error_responses(404, 406))
async def set_bdb_alerts(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: schema.BdbAlertSettings
) -> JSONResponse:
    """Enable or disable alerts of a database and set their thresholds. Omitted alerts and fields keep their values.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    # Lock the cluster row: concurrent requests that change different alerts must not overwrite each other.
    await cluster.load_for_update(session)
    bdb = await get_bdb_or_404(session, uid)
    service.update_settings(session, bdb, body.settings_by_name(), editor)
    return JSONResponse((await _bdb_alerts(session, [bdb]))[str(uid)])


@router.get("/nodes/alerts", response_model=dict[str, schema.Alerts], responses=error_responses())
async def list_node_alerts(
    _viewer: AnyViewer, session: ReadSession, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return the alerts of all nodes, by node uid. The cluster's `alert_settings` configure them."""
    return JSONResponse(await _node_alerts(session, await nodes.list_all(session)))


@router.get("/nodes/alerts/{uid}", response_model=schema.Alerts, responses=error_responses(404))
async def get_node_alerts(
    _viewer: AnyViewer, session: ReadSession, uid: Uid, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return the alerts of a node, by alert name."""
    return JSONResponse((await _node_alerts(session, [await get_node_or_404(session, uid)]))[str(uid)])


@router.get("/nodes/alerts/{uid}/{alert}", response_model=schema.Alert, responses=error_responses(404))
async def get_node_alert(
    _viewer: AnyViewer, session: ReadSession, uid: Uid, alert: AlertName, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return an alert of a node."""
    node_alerts = await _node_alerts(session, [await get_node_or_404(session, uid)])
    return JSONResponse(_find_alert(node_alerts[str(uid)], alert))


@router.get("/cluster/alerts", response_model=schema.Alerts, responses=error_responses())
async def list_cluster_alerts(
    _viewer: AnyViewer, session: ReadSession, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return the alerts of the cluster, by alert name. The cluster's `alert_settings` configure them."""
    return JSONResponse(await _cluster_alerts(session))


@router.get("/cluster/alerts/{alert}", response_model=schema.Alert, responses=error_responses(404))
async def get_cluster_alert(
    _viewer: AnyViewer, session: ReadSession, alert: AlertName, ignore_settings: IgnoreSettings = None
) -> JSONResponse:
    """Return an alert of the cluster."""
    return JSONResponse(_find_alert(await _cluster_alerts(session), alert))


_UNSUPPORTED = dict.fromkeys(sorted(alert_settings.UNSUPPORTED_BDB_ALERTS), alert_settings.OFF)


async def _bdb_alerts(session: ReadSession, rows: Sequence[Bdb]) -> dict[str, Any]:
    single_uid = rows[0].uid if len(rows) == 1 else None
    newest_events = await service.newest_events(session, alert_settings.BDB_DEFAULTS, bdb_uid=single_uid)
    return {
        str(bdb.uid): schema.render_all(
            {**_UNSUPPORTED, **alert_settings.settings_for_bdb(bdb.alert_settings)},
            newest_events.get(bdb.uid, {}),
            bdb.created_at,
            has_own_threshold=True,
        )
        for bdb in rows
    }


async def _node_alerts(session: ReadSession, rows: Sequence[Node]) -> dict[str, Any]:
    settings = alert_settings.settings_for_source("node", (await cluster.load(session)).settings.alert_settings)
    newest_events = await service.newest_events(session, settings, node_uid=rows[0].uid if len(rows) == 1 else None)
    return {
        str(node.uid): schema.render_all(
            settings, newest_events.get(node.uid, {}), node.joined_at, has_own_threshold=False
        )
        for node in rows
    }


async def _cluster_alerts(session: ReadSession) -> dict[str, Any]:
    row = await cluster.load(session)
    settings = alert_settings.settings_for_source("cluster", row.settings.alert_settings)
    newest_events = await service.newest_events(session, settings)
    return schema.render_all(settings, newest_events.get(None, {}), row.created_at, has_own_threshold=False)


def _find_alert(found: Mapping[str, Any], alert: str) -> Any:
    if alert not in found:
        raise NotFound("alert_not_found", f"The alert {alert} does not exist.")
    return found[alert]
