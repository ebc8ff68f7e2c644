"""Endpoints of the Redis Enterprise REST API whose features do not exist in Shardboard.

Clients that check these features before they continue get the reply of a cluster that does not use them: an empty list or object,
or 404 for an object that does not exist. Requests that would create something are refused with the reason.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Path
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyEditor, AnyViewer, BdbEditor, BdbViewer
from shardboard.api.http.dependencies import Admin, ReadSession, UserManager
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lookups import get_bdb_or_404
from shardboard.api.http.parameters import Uid
from shardboard.api.http.query_check import accept_any_query
from shardboard.errors import ApiError, BadRequest, NotAcceptable, NotFound

router = ApiRouter(prefix="/v1", tags=["absent"])
router_v2 = ApiRouter(prefix="/v2", tags=["absent"])

AnyName = Annotated[str, Path(max_length=255)]

REPLIES: dict[str, tuple[str, Any]] = {
    "/v1/modules": ("Return an empty list. Modules cannot be uploaded; the agents install the flash module.", []),
    "/v2/local/modules/user-defined/artifacts": ("Return an empty list. Modules cannot be uploaded.", []),
    "/v1/bdbs/certificates": (
        "Return an empty list. Endpoints use the certificates of their nodes; `/v1/ca` returns the CA that signs them.",
        [],
    ),
    "/v1/crdbs": ("Return an empty list. Active-Active databases are not supported.", {"crdbs": []}),
    "/v1/crdb_tasks": ("Return an empty list. Active-Active databases are not supported.", []),
    "/v1/bdb_groups": ("Return an empty list. Databases cannot share a memory limit.", {"bdb_groups": []}),
    "/v1/suffixes": ("Return an empty list. The console has no DNS server; endpoints have addresses.", []),
    "/v1/bdbs/replica_sources/alerts": ("Return an empty object. Replica Of is not supported.", {}),
    "/v1/bdbs/crdt_sources/alerts": ("Return an empty object. Active-Active databases are not supported.", {}),
    "/v1/cluster/module-capabilities": (
        "Return an empty list. Modules cannot be uploaded.",
        {"all_capabilities": []},
    ),
    "/v1/local/services": (
        "Return an empty object. The console and each agent are one process, managed by the service manager of the machine.",
        {},
    ),
    "/v1/cluster/sso": (
        "Return the SAML settings: single sign-on with SAML is off. `/v1/cluster/oidc` has the settings of OpenID Connect.",
        {"control_plane": False, "enforce_control_plane": False, "protocol": "saml2"},
    ),
}
"""Constant replies by path."""

_CRDB = NotFound("crdb_not_found", "The Active-Active database does not exist. They are not supported.")
_CRDB_TASK = NotFound("task_not_found", "The task does not exist. Active-Active databases are not supported.")
_GROUP = NotFound("bdb_group_not_found", "The group does not exist. Databases cannot share a memory limit.")
_MODULE = NotFound("module_not_found", "The module does not exist. Modules cannot be uploaded.")
_PERMISSIONS = NotAcceptable(
    "not_supported", "Permissions have no names. The documentation lists the requests that each role may send."
)
_SERVICES = NotAcceptable(
    "not_supported",
    "The console and the agents have no separate services. Restart them with the service manager of their machine.",
)
_SAML = NotAcceptable(
    "not_supported", "Single sign-on with SAML is not supported. Use OpenID Connect: `PUT /v1/cluster/oidc`."
)
_UPLOAD = NotAcceptable("not_supported", "Modules cannot be uploaded. The agents install the flash module.")

REFUSALS: dict[str, tuple[str, Any, ApiError]] = {
    "POST /v1/crdbs": (
        "Create CRDB",
        AnyEditor,
        NotAcceptable("not_supported", "Active-Active databases are not supported. Use `POST /v1/bdbs`."),
    ),
    "GET /v1/crdbs/{guid}": ("Get CRDB", AnyViewer, _CRDB),
    "PATCH /v1/crdbs/{guid}": ("Change CRDB", AnyEditor, _CRDB),
    "DELETE /v1/crdbs/{guid}": ("Delete CRDB", AnyEditor, _CRDB),
    "PUT /v1/crdbs/{guid}/flush": ("Flush CRDB", AnyEditor, _CRDB),
    "GET /v1/crdbs/{guid}/health_report": ("Get health report of CRDB", AnyViewer, _CRDB),
    "PUT /v1/crdbs/{guid}/purge": ("Purge CRDB", AnyEditor, _CRDB),
    "POST /v1/crdbs/{guid}/updates": ("Change configuration of CRDB", AnyEditor, _CRDB),
    "POST /v1/crdbs/{guid}/upgrade": ("Upgrade CRDB", AnyEditor, _CRDB),
    "GET /v1/crdb_tasks/{task_id}": ("Get CRDB task", AnyViewer, _CRDB_TASK),
    "POST /v1/crdb_tasks/{task_id}/actions/cancel": ("Cancel CRDB task", AnyEditor, _CRDB_TASK),
    "POST /v1/bdb_groups": (
        "Create database group",
        Admin,
        NotAcceptable("not_supported", "Databases cannot share a memory limit. Set `memory_size` of each database."),
    ),
    "GET /v1/bdb_groups/{group_uid}": ("Get database group", AnyViewer, _GROUP),
    "PUT /v1/bdb_groups/{group_uid}": ("Change database group", Admin, _GROUP),
    "DELETE /v1/bdb_groups/{group_uid}": ("Delete database group", Admin, _GROUP),
    "GET /v1/suffix/{name}": (
        "Get DNS suffix",
        AnyViewer,
        NotFound("suffix_not_found", "The suffix does not exist. The cluster setting `dns_suffix` names endpoints."),
    ),
    "GET /v1/modules/{module_uid}": ("Get module", AnyViewer, _MODULE),
    "POST /v2/modules/user-defined": ("Create user-defined module", Admin, _UPLOAD),
    "DELETE /v2/modules/user-defined/{module_uid}": ("Delete user-defined module", Admin, _MODULE),
    "POST /v2/local/modules/user-defined/artifacts": ("Upload module artifact", Admin, _UPLOAD),
    "DELETE /v2/local/modules/user-defined/artifacts/{name}/{version}": ("Delete module artifact", Admin, _MODULE),
    "POST /v1/local/services": ("Run operation on services of node", Admin, _SERVICES),
    "POST /v1/services": ("Run operation on services", Admin, _SERVICES),
    "PUT /v1/cluster/sso": ("Set SAML settings", UserManager, _SAML),
    "POST /v1/cluster/sso/saml/metadata/idp": ("Upload SAML metadata of identity provider", UserManager, _SAML),
    "GET /v1/cluster/sso/saml/metadata/sp": (
        "Get SAML metadata of service provider",
        UserManager,
        NotAcceptable("missing_certificate", "No SAML service is configured. Use OpenID Connect: `/v1/cluster/oidc`."),
    ),
    "GET /v1/users/permissions": ("List permissions of roles", AnyViewer, _PERMISSIONS),
    "GET /v1/users/permissions/{role}": ("Get permissions of role", AnyViewer, _PERMISSIONS),
    "PATCH /v1/cluster/change_password_hashing_algorithm": (
        "Change password hashing algorithm",
        Admin,
        BadRequest("bad_request", "Passwords are hashed with Argon2id, which cannot be changed.", field="algorithm"),
    ),
}
"""Requests that are always refused, by method and path: summary, role, and error."""


def _constant(reply: Any) -> Callable[[AnyViewer], Awaitable[JSONResponse]]:
    async def get_constant(_viewer: AnyViewer) -> JSONResponse:
        return JSONResponse(reply)

    return get_constant


def _refusal(path: str, role: Any, error: ApiError) -> Callable[..., Awaitable[None]]:
    """Return a handler that raises the error. Its signature declares the role and the parameters of the path."""

    @accept_any_query
    async def refuse(**_values: Any) -> None:
        raise type(error)(error.code, error.description, field=error.field)

    annotations = {"_principal": role, **{part[1:-1]: AnyName for part in path.split("/") if part.startswith("{")}}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=each) for name, each in annotations.items()
    ]
    refuse.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return refuse


def _split(path: str) -> tuple[ApiRouter, str]:
    """Return the router of a path, and the path in it."""
    version = next(each for each in (router, router_v2) if path.startswith(f"{each.prefix}/"))
    return version, path.removeprefix(version.prefix)


def _add_routes() -> None:
    for path, (description, reply) in REPLIES.items():
        version, rest = _split(path)
        version.add_api_route(
            rest,
            _constant(reply),
            methods=["GET"],
            name=f"get {rest[1:].replace('/', ' ')}",
            description=description,
            response_model=dict[str, Any] if isinstance(reply, dict) else list[Any],
            responses=error_responses(),
        )
    for call, (summary, role, error) in REFUSALS.items():
        method, _, path = call.partition(" ")
        version, rest = _split(path)
        version.add_api_route(
            rest,
            _refusal(rest, role, error),
            methods=[method],
            name=summary,
            summary=summary,
            description=f"Return {error.status} `{error.code}`: {error.description}",
            responses=error_responses(*({error.status} - {400})),
        )


_add_routes()


@router.delete("/cluster/sso", summary="Remove SAML settings", responses=error_responses())
async def remove_saml_settings(_manager: UserManager) -> dict[str, str]:
    """Change nothing: single sign-on with SAML is always off. `DELETE /v1/cluster/oidc` removes OpenID Connect."""
    return {}


@router.get("/bdbs/{uid}/sync_source_stats", responses=error_responses(404))
@router.get("/bdbs/{uid}/syncer_state", responses=error_responses(404))
@router.get("/bdbs/{uid}/syncer_state/replica", responses=error_responses(404))
@router.get("/bdbs/{uid}/syncer_state/crdt", responses=error_responses(404))
@router.get("/migrations/{uid}", responses=error_responses(404))
@accept_any_query
async def get_replication_source(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> None:
    """Return 404: Replica Of is not supported."""
    await get_bdb_or_404(session, uid)
    raise NotFound("not_found", "The database does not replicate another database.")


@router.get("/bdbs/{uid}/sync_source_stats/{source_uid}", responses=error_responses(404))
@router.get("/bdbs/replica_sources/alerts/{uid}/{source_uid}", responses=error_responses(404))
@router.get("/bdbs/crdt_sources/alerts/{uid}/{source_uid}", responses=error_responses(404))
@accept_any_query
async def get_source(_viewer: BdbViewer, session: ReadSession, uid: Uid, source_uid: AnyName) -> None:
    """Return 404: databases have no sources."""
    await get_replication_source(_viewer, session, uid)


@router.get("/bdbs/replica_sources/alerts/{uid}/{source_uid}/{alert}", responses=error_responses(404))
@router.get("/bdbs/crdt_sources/alerts/{uid}/{source_uid}/{alert}", responses=error_responses(404))
async def get_source_alert(
    _viewer: BdbViewer, session: ReadSession, uid: Uid, source_uid: AnyName, alert: AnyName
) -> None:
    """Return 404: databases have no sources."""
    await get_replication_source(_viewer, session, uid)


@router.get("/bdbs/replica_sources/alerts/{uid}", responses=error_responses(404))
@router.get("/bdbs/crdt_sources/alerts/{uid}", responses=error_responses(404))
async def get_source_alerts(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> dict[str, Any]:
    """Return an empty object: databases have no sources."""
    await get_bdb_or_404(session, uid)
    return {}


@router.get("/bdbs/{uid}/peer_stats", responses=error_responses(404, 406))
@accept_any_query
async def get_peer_stats(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> None:
    """Return 406: Active-Active databases are not supported."""
    await get_bdb_or_404(session, uid)
    raise NotAcceptable("not_supported", "The database is not an Active-Active database.")


@router.get("/bdbs/{uid}/peer_stats/{source_uid}", responses=error_responses(404, 406))
@accept_any_query
async def get_peer_stats_of_source(_viewer: BdbViewer, session: ReadSession, uid: Uid, source_uid: AnyName) -> None:
    """Return 406: Active-Active databases are not supported."""
    await get_peer_stats(_viewer, session, uid)


@router.get("/bdbs/{uid}/certificates", responses=error_responses(404))
async def get_bdb_certificate(_viewer: BdbViewer, session: ReadSession, uid: Uid) -> None:
    """Return 404: endpoints use the certificates of their nodes. `/v1/ca` returns the CA that signs them."""
    await get_bdb_or_404(session, uid)
    raise NotFound(
        "certificate_not_found", "The database has no separate certificate. `/v1/ca` returns the CA of its nodes."
    )


@router.delete("/bdbs/{uid}/certificates", responses=error_responses(404))
async def delete_bdb_certificate(editor: BdbEditor, session: ReadSession, uid: Uid) -> None:
    """Return 404: endpoints use the certificates of their nodes."""
    await get_bdb_certificate(editor, session, uid)


@router.post("/bdbs/{uid}/certificates", responses=error_responses(404, 406))
async def set_bdb_certificate(_editor: BdbEditor, session: ReadSession, uid: Uid) -> None:
    """Return 406: endpoints use the certificates of their nodes, which the console issues and renews."""
    await get_bdb_or_404(session, uid)
    message = "Endpoints use the certificates of their nodes. Clients trust the console CA (`/v1/ca`)."
    raise NotAcceptable("not_supported", message)


@router.post("/bdbs/{uid}/modules/config", responses=error_responses(404, 406))
@router.post("/bdbs/{uid}/modules/upgrade", responses=error_responses(404, 406))
@router.post("/modules/config/bdb/{uid}", responses=error_responses(404, 406))
async def configure_bdb_modules(_editor: BdbEditor, session: ReadSession, uid: Uid) -> None:
    """Return 406: databases have no modules. `bigstore` of a database selects the flash module when it is created."""
    await get_bdb_or_404(session, uid)
    raise NotAcceptable("module_not_found", "The database has no modules. Modules cannot be uploaded.")
