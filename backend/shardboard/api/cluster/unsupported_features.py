"""Endpoints of the Redis Enterprise REST API whose features do not exist in Shardboard.

Clients that check these features before they continue get an empty or constant reply. Nothing can be set.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer, BdbViewer
from shardboard.api.http.dependencies import ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.errors import NotAcceptable, NotFound

router = ApiRouter(prefix="/v1", tags=["absent"])

_HOURLY, _EVERY_FIVE_MINUTES = "0 * * * *", "*/5 * * * *"
_JOBS: dict[str, dict[str, Any]] = {
    "backup": {"cron_expression": _EVERY_FIVE_MINUTES},
    "bdb_usage_report": {"cron_expression": _HOURLY, "file_retention_days": 1},
    "cert_rotation": {"cron_expression": _HOURLY, "expiry_days_before_rotation": 30},
    "log_rotation": {"cron_expression": _EVERY_FIVE_MINUTES},
    "node_checks": {"cron_expression": _HOURLY},
    "redis_cleanup": {"cron_expression": _HOURLY},
    "rotate_ccs": {"cron_expression": _EVERY_FIVE_MINUTES, "file_suffix": "5min", "rotate_max_num": 1},
}
_RUNNING = ("alert_mgr", "cm_server", "ldap_agent_mgr", "stats_archiver")
_NOT_RUNNING = (
    "call_home_agent",
    "crdb_coordinator",
    "crdb_worker",
    "entraid_agent_mgr",
    "mdns_server",
    "pdns_server",
    "sentinel_service",
)

REPLIES: dict[str, tuple[str, Any]] = {
    "/modules": ("Return an empty list. Modules cannot be uploaded; the agents install the flash module.", []),
    "/crdbs": ("Return an empty list. Active-Active databases are not supported.", {"crdbs": []}),
    "/crdb_tasks": ("Return an empty list. Active-Active databases are not supported.", []),
    "/bdb_groups": ("Return an empty list. Databases cannot share a memory limit.", {"bdb_groups": []}),
    "/suffixes": ("Return an empty list. The console has no DNS server; endpoints have addresses.", []),
    "/bdbs/replica_sources/alerts": ("Return an empty object. Replica Of is not supported.", {}),
    "/bdbs/crdt_sources/alerts": ("Return an empty object. Active-Active databases are not supported.", {}),
    "/cluster/actions": ("Return an empty list. Actions belong to nodes and databases.", {"actions": []}),
    "/cluster/module-capabilities": ("Return an empty list. Modules cannot be uploaded.", {"all_capabilities": []}),
    "/cm_settings": (
        "Return the time zone of the API, which is always UTC. Browsers show times in their own time zone.",
        {"timezone": "UTC"},
    ),
    "/diagnostics": ("Return an empty object. There are no scheduled diagnostic logs.", {}),
    "/job_scheduler": (
        "Return all job schedules as disabled. The console does this work when it is due.",
        {f"{name}_job_settings": {**settings, "enabled": False} for name, settings in _JOBS.items()},
    ),
    "/local/services": (
        "Return an empty object. The console and each agent are one process, managed by the service manager of the machine.",
        {},
    ),
    "/cluster/services_configuration": (
        "Return the services that run in the console, and those that do not exist.",
        {
            name: {"operating_mode": "enabled" if name in _RUNNING else "disabled"}
            for name in (*_RUNNING, *_NOT_RUNNING)
        },
    ),
    "/metrics_config": (
        "Return the metrics settings, which cannot be changed. `/v1/history/retention` returns the retention of metrics.",
        {
            "expose_db_tags": False,
            "key_distribution_enabled": False,
            "key_items_buckets": "",
            "key_size_buckets": "",
            "metrics_tag_keys_exposed": [],
        },
    ),
    "/ocsp": (
        "Return the OCSP settings, which cannot be changed. The console does not query the status of certificates.",
        {
            "ocsp_functionality": False,
            "responder_url": "",
            "query_frequency": 3600,
            "response_timeout": 1,
            "recovery_frequency": 60,
            "recovery_max_tries": 5,
        },
    ),
}


def _constant(reply: Any) -> Callable[[AnyViewer], Awaitable[JSONResponse]]:
    async def get_constant(_viewer: AnyViewer) -> JSONResponse:
        return JSONResponse(reply)

    return get_constant


for _path, (_description, _reply) in REPLIES.items():
    router.add_api_route(
        _path,
        _constant(_reply),
        methods=["GET"],
        name=f"get {_path[1:].replace('/', ' ')}",
        description=_description,
        response_model=dict[str, Any] if isinstance(_reply, dict) else list[Any],
        responses=error_responses(),
    )


@router.get("/bdbs/{uid}/sync_source_stats", responses=error_responses(404))
@router.get("/bdbs/{uid}/syncer_state", responses=error_responses(404))
async def get_replication_source(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> None:
    """Return 404: Replica Of is not supported."""
    await get_bdb_or_404(session, uid)
    raise NotFound("not_found", "The database does not replicate another database.")


@router.get("/bdbs/{uid}/peer_stats", responses=error_responses(404, 406))
async def get_peer_stats(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> None:
    """Return 406: Active-Active databases are not supported."""
    await get_bdb_or_404(session, uid)
    raise NotAcceptable("not_supported", "The database is not an Active-Active database.")
