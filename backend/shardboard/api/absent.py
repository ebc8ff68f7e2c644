"""Rooms of the REST reference whose feature does not exist here, for clients that look before they go on: there is nothing, and
nothing can be set. Every reply says what is so."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader
from shardboard.api.found import bdb_of
from shardboard.api.parameters import Uid
from shardboard.api.reach import AnyViewer, BdbViewer
from shardboard.api.replies import errors
from shardboard.errors import NotAcceptable, NotFound

router = APIRouter(tags=["absent"])

_HOURLY, _OFTEN = "0 * * * *", "*/5 * * * *"
_JOBS: dict[str, dict[str, Any]] = {
    "backup": {"cron_expression": _OFTEN},
    "bdb_usage_report": {"cron_expression": _HOURLY, "file_retention_days": 1},
    "cert_rotation": {"cron_expression": _HOURLY, "expiry_days_before_rotation": 30},
    "log_rotation": {"cron_expression": _OFTEN},
    "node_checks": {"cron_expression": _HOURLY},
    "redis_cleanup": {"cron_expression": _HOURLY},
    "rotate_ccs": {"cron_expression": _OFTEN, "file_suffix": "5min", "rotate_max_num": 1},
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
    "/modules": ("No module can be uploaded; the flash tier comes with the agents.", []),
    "/crdbs": ("There are no Active-Active databases.", {"crdbs": []}),
    "/crdb_tasks": ("There are no Active-Active databases, and so no tasks of theirs.", []),
    "/bdb_groups": ("Databases do not share memory limits.", {"bdb_groups": []}),
    "/suffixes": ("The console serves no DNS; endpoints are told by address.", []),
    "/bdbs/replica_sources/alerts": ("No database replicates another one.", {}),
    "/bdbs/crdt_sources/alerts": ("There are no Active-Active databases.", {}),
    "/cluster/actions": ("The cluster as a whole has no actions; nodes and databases have theirs.", {"actions": []}),
    "/cluster/module-capabilities": ("No module can be uploaded.", {"all_capabilities": []}),
    "/cm_settings": ("Each browser shows times in its own time zone; the API tells them in UTC.", {"timezone": "UTC"}),
    "/diagnostics": ("Nothing is logged for diagnosis on a schedule.", {}),
    "/job_scheduler": (
        "No job has a schedule: what they do elsewhere is done here when it is due, all the time.",
        {f"{name}_job_settings": {**settings, "enabled": False} for name, settings in _JOBS.items()},
    ),
    "/local/services": ("Console and agents are one process each; the machine's service manager runs them.", {}),
    "/cluster/services_configuration": (
        "What runs within the console, and what does not exist.",
        {
            name: {"operating_mode": "enabled" if name in _RUNNING else "disabled"}
            for name in (*_RUNNING, *_NOT_RUNNING)
        },
    ),
    "/metrics_config": (
        "How metrics are kept and told cannot be set; `/v1/history/retention` says what is kept.",
        {
            "expose_db_tags": False,
            "key_distribution_enabled": False,
            "key_items_buckets": "",
            "key_size_buckets": "",
            "metrics_tag_keys_exposed": [],
        },
    ),
    "/ocsp": (
        "The states of certificates are not asked for.",
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
    async def tell(_viewer: AnyViewer) -> JSONResponse:
        return JSONResponse(reply)

    return tell


for _path, (_sentence, _reply) in REPLIES.items():
    router.add_api_route(
        _path,
        _constant(_reply),
        methods=["GET"],
        name=f"get {_path[1:].replace('/', ' ')}",
        description=_sentence,
        response_model=dict[str, Any] if isinstance(_reply, dict) else list[Any],
        responses=errors(),
    )


@router.get("/bdbs/{uid}/sync_source_stats", responses=errors(404))
@router.get("/bdbs/{uid}/syncer_state", responses=errors(404))
async def get_replication_source(_viewer: BdbViewer, session: Reader, uid: Uid) -> None:
    """404: no database replicates another one."""
    await bdb_of(session, uid)
    raise NotFound("not_found", "The database replicates no other one.")


@router.get("/bdbs/{uid}/peer_stats", responses=errors(404, 406))
async def get_peer_stats(_viewer: BdbViewer, session: Reader, uid: Uid) -> None:
    """406: there are no Active-Active databases."""
    await bdb_of(session, uid)
    raise NotAcceptable("not_supported", "The database is not an Active-Active one.")
