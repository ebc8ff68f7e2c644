"""Endpoints of roles."""

from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ConsoleDep, ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import FieldSelection, ListQuery, fields_of, list_query_of
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.domain.access.roles import Role
from shardboard.schemas.access import roles_and_acls as schema
from shardboard.services.access import roles_and_acls as service

router = ApiRouter(prefix="/v1/roles", tags=["roles"])


RoleList = Annotated[ListQuery, Depends(list_query_of(schema.Role))]
RoleFields = Annotated[FieldSelection, Depends(fields_of(schema.Role))]


@router.get("", response_model=list[schema.Role], responses=error_responses())
async def list_roles(viewer: AnyViewer, session: ReadSession, query: RoleList) -> JSONResponse:
    """Return all roles, the built-in ones first."""
    return query.reply([_render(each) for each in await service.list_visible_roles(session, viewer)])


@router.post("", response_model=schema.Role, responses=error_responses(406, 409))
async def create_role(manager: UserManager, session: WriteSession, body: schema.NewRole) -> JSONResponse:
    """Add a role. Required role: `admin` or `user_manager`."""
    row = await service.create_role(session, body.name, body.management, body.bdb_uids(), manager)
    return JSONResponse(_render(row))


@router.get("/{uid}", response_model=schema.Role, responses=error_responses(404))
async def get_role(viewer: AnyViewer, session: ReadSession, uid: Uid, fields: RoleFields) -> JSONResponse:
    """Return a role."""
    return JSONResponse(fields.apply(_render(await service.get_role(session, uid, viewer))))


@router.put("/{uid}", response_model=schema.Role, responses=error_responses(404, 406, 409))
async def update_role(
    request: Request, manager: UserManager, console: ConsoleDep, uid: Uid, body: schema.RoleUpdate, dry_run: DryRun
) -> JSONResponse:
    """Change a role that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    async with login_change(console.store, dry_run=dry_run, request=request) as session:
        row = await service.change_role(session, uid, body.name, body.management, body.bdb_uids(), manager)
        return JSONResponse(_render(row))


@router.delete("/{uid}", responses=error_responses(404, 409))
async def delete_role(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete a role that is not built in and not in use. Required role: `admin` or `user_manager`."""
    await service.remove_role(session, uid, manager)
    return {}


def _render(row: Role) -> dict[str, Any]:
    return schema.render_role(row).model_dump()
