"""Endpoints of roles."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import recheck_logins
from shardboard.api.http.parameters import DryRun, Fields, Uid, is_flag_set, select_fields
from shardboard.domain.access.roles import Role
from shardboard.schemas.access import roles_and_acls as schema
from shardboard.services.access import roles_and_acls as service
from shardboard.store.db import roll_back

router = APIRouter(prefix="/roles", tags=["roles"])


@router.get("", response_model=list[schema.Role], responses=error_responses())
async def list_roles(viewer: AnyViewer, session: ReadSession, fields: Fields = "") -> JSONResponse:
    """Return all roles, the built-in ones first."""
    return JSONResponse(
        [select_fields(_render(each), fields) for each in await service.list_visible_roles(session, viewer)]
    )


@router.post("", response_model=schema.Role, responses=error_responses(406, 409))
async def create_role(
    manager: UserManager, session: WriteSession, body: schema.NewRole, dry_run: DryRun = None
) -> JSONResponse:
    """Add a role. Required role: `admin` or `user_manager`."""
    row = await service.create_role(session, body.name, body.management, body.bdb_uids(), manager)
    return await _result(session, row, dry_run)


@router.get("/{uid}", response_model=schema.Role, responses=error_responses(404))
async def get_role(viewer: AnyViewer, session: ReadSession, uid: Uid, fields: Fields = "") -> JSONResponse:
    """Return a role."""
    return JSONResponse(select_fields(_render(await service.get_role(session, uid, viewer)), fields))


@router.put("/{uid}", response_model=schema.Role, responses=error_responses(404, 406, 409))
async def update_role(
    manager: UserManager, console: ConsoleDep, uid: Uid, body: schema.RoleUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change a role that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    async with console.store.begin() as session:
        row = await service.change_role(session, uid, body.name, body.management, body.bdb_uids(), manager)
        reply = await _result(session, row, dry_run)
    recheck_logins(console.store)
    return reply


@router.delete("/{uid}", responses=error_responses(404, 409))
async def delete_role(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete a role that is not built in and not in use. Required role: `admin` or `user_manager`."""
    await service.remove_role(session, uid, manager)
    return {}


async def _result(session: WriteSession, row: Role, dry_run: str | None) -> JSONResponse:
    """Return the role, and roll back in a dry run."""
    if is_flag_set(dry_run):
        await roll_back(session)
    return JSONResponse(_render(row))


def _render(row: Role) -> dict[str, Any]:
    return schema.render_role(row).model_dump()
