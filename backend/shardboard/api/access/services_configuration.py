"""Endpoints of the optional services of the reference. Of those, only sign-in with LDAP can be turned on and off."""

from typing import Any

from fastapi.responses import JSONResponse

from shardboard.api.access.ldap import NewLdapSettings, set_ldap_settings
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import Admin, ConsoleDep, ReadSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun
from shardboard.domain.access.ldap import Directory
from shardboard.errors import NotAcceptable
from shardboard.schemas.cluster.feature_settings import SettingsChange
from shardboard.services.access import ldap as ldap_service
from shardboard.services.cluster import feature_settings as service
from shardboard.state.cluster import cluster

router = ApiRouter(prefix="/v1", tags=["cluster"])

LDAP = "ldap_agent_mgr"
_RUNNING = ("alert_mgr", "cm_server", "stats_archiver")
_ABSENT = (
    "call_home_agent",
    "crdb_coordinator",
    "crdb_worker",
    "entraid_agent_mgr",
    "mdns_server",
    "pdns_server",
    "sentinel_service",
)
_REASON = f"The console always runs its own services. Only {LDAP} can be changed, which is sign-in with LDAP."


@router.get("/cluster/services_configuration", response_model=dict[str, Any], responses=error_responses())
async def get_services_configuration(_viewer: AnyViewer, session: ReadSession) -> JSONResponse:
    """Return the services that run in the console, and those that do not exist. `ldap_agent_mgr` is sign-in with LDAP."""
    return JSONResponse(_render(ldap_service.directory_of(await cluster.load(session))))


@router.put("/cluster/services_configuration", response_model=dict[str, Any], responses=error_responses(406))
async def set_services_configuration(
    admin: Admin, console: ConsoleDep, body: SettingsChange, dry_run: DryRun
) -> JSONResponse:
    """Turn sign-in with LDAP (`ldap_agent_mgr`) on or off. Other services cannot be changed. Required role: `admin`."""
    async with console.store.read() as session:
        current = _render(ldap_service.directory_of(await cluster.load(session)))
    changed = service.allowed_changes(current, body.root, frozenset({f"{LDAP}.operating_mode"}), _REASON)
    for path, mode in changed.items():
        if mode not in ("enabled", "disabled"):
            raise NotAcceptable("config_error", f"{path} must be enabled or disabled.", field=path)
        if mode == "enabled" and not await _is_configured(console):
            message = "LDAP is not configured. Configure it with `PUT /v1/cluster/ldap`."
            raise NotAcceptable("config_error", message, field=path)
        await set_ldap_settings(admin, console, NewLdapSettings(control_plane=mode == "enabled"), dry_run)
        current[LDAP] = {"operating_mode": mode}
    return JSONResponse(current)


async def _is_configured(console: ConsoleDep) -> bool:
    async with console.store.read() as session:
        return ldap_service.directory_of(await cluster.load(session)) is not None


def _render(directory: Directory | None) -> dict[str, Any]:
    is_ldap_on = directory is not None and directory.control_plane
    running = {*_RUNNING, *((LDAP,) if is_ldap_on else ())}
    return {
        name: {"operating_mode": "enabled" if name in running else "disabled"}
        for name in sorted((*_RUNNING, *_ABSENT, LDAP))
    }
