"""Endpoints of settings objects of the reference: scheduled jobs, metrics, diagnostics, OCSP, and connection auditing."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter, summary_of
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ReadSession, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.errors import NotAcceptable, NotFound
from shardboard.schemas.cluster.feature_settings import SettingsChange
from shardboard.services.cluster import feature_settings as service
from shardboard.services.cluster.feature_settings import Feature

router = ApiRouter(prefix="/v1", tags=["cluster"])

_DESCRIPTIONS = {
    "cm_settings": "`timezone`: time zone of times in emails. Browsers show times in their own time zone.",
    "metrics_config": "`max_requests_in_flight`: maximum number of concurrent requests for Prometheus metrics; 0 = unlimited.",
    "job_scheduler": "`rotate_ccs_job_settings`: schedule of the backups of the console. Other jobs cannot be changed.",
    "diagnostics": "Nothing is logged on a schedule, so there are no settings.",
    "ocsp": "The console does not query the status of certificates, so no setting can be changed.",
    "cluster/auditing/db_conns": "Connections of clients are not audited, so no setting can be changed.",
}


def _getter(feature: Feature) -> Callable[..., Awaitable[JSONResponse]]:
    async def get_settings(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
        return JSONResponse(await feature.read(session))

    return get_settings


def _setter(feature: Feature) -> Callable[..., Awaitable[JSONResponse]]:
    async def set_settings(admin: Admin, session: WriteSession, body: SettingsChange) -> JSONResponse:
        return JSONResponse(await service.update(session, feature, body.root, admin))

    return set_settings


def _add_routes() -> None:
    for path, feature in service.FEATURES.items():
        name = path.replace("/", " ")
        for verb, method, handler in (("get", "GET", _getter(feature)), ("set", "PUT", _setter(feature))):
            suffix = " Required role: `admin`." if method == "PUT" else ""
            router.add_api_route(
                f"/{path}",
                handler,
                methods=[method],
                name=f"{verb} {name}",
                summary=summary_of(f"{verb} {name}"),
                description=_DESCRIPTIONS[path] + suffix,
                response_model=dict[str, Any],
                responses=error_responses(*((406,) if method == "PUT" else ())),
            )


_add_routes()


@router.delete("/cluster/auditing/db_conns", responses=error_responses(404))
async def remove_db_conns_auditing(_admin: Admin) -> None:
    """Return 404: connections of clients are not audited. Required role: `admin`."""
    raise NotFound("db_conns_audit_config_not_found", "Auditing of connections is not configured.")


@router.get("/ocsp/status", summary="Get OCSP status", responses=error_responses())
async def get_ocsp_status(_viewer: AnyViewer) -> dict[str, str]:
    """Return the status `UNKNOWN`: the console does not query the status of certificates."""
    empty = ("next_update", "produced_at", "responder_url", "revocation_time", "this_update")
    return {"cert_status": "UNKNOWN", **dict.fromkeys(empty, "")}


@router.post("/ocsp/test", summary="Test OCSP", responses=error_responses(406))
async def query_ocsp(_admin: Admin) -> None:
    """Return 406 `no_responder_url`: the console queries no OCSP responder. Required role: `admin`."""
    raise NotAcceptable("no_responder_url", "No OCSP responder is configured. The console does not query one.")
