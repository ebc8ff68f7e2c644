"""Endpoints of roles."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader, TheConsole, Tx, UserManager
from shardboard.api.gate import look_again
from shardboard.api.parameters import DryRun, Fields, Uid, is_on, only
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.db import take_back
from shardboard.domain.roles import Role
from shardboard.schemas import access as schema
from shardboard.services import access as service

router = APIRouter(prefix="/roles", tags=["roles"])


@router.get("", response_model=list[schema.Role], responses=errors())
async def list_roles(viewer: AnyViewer, session: Reader, fields: Fields = "") -> JSONResponse:
    """Return all roles, the built-in ones first."""
    return JSONResponse([only(_render(each), fields) for each in await service.roles_seen(session, viewer)])


@router.post("", response_model=schema.Role, responses=errors(406, 409))
async def create_role(manager: UserManager, session: Tx, body: schema.NewRole, dry_run: DryRun = None) -> JSONResponse:
    """Add a role. Required role: `admin` or `user_manager`."""
    row = await service.create_role(session, body.name, body.management, body.bdb_uids(), manager)
    return await _result(session, row, dry_run)


@router.get("/{uid}", response_model=schema.Role, responses=errors(404))
async def get_role(viewer: AnyViewer, session: Reader, uid: Uid, fields: Fields = "") -> JSONResponse:
    """Return a role."""
    return JSONResponse(only(_render(await service.role(session, uid, viewer)), fields))


@router.put("/{uid}", response_model=schema.Role, responses=errors(404, 406, 409))
async def update_role(
    manager: UserManager, console: TheConsole, uid: Uid, body: schema.RoleUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change a role that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    async with console.store.begin() as session:
        row = await service.change_role(session, uid, body.name, body.management, body.bdb_uids(), manager)
        reply = await _result(session, row, dry_run)
    look_again(console.store)
    return reply


@router.delete("/{uid}", responses=errors(404, 409))
async def delete_role(manager: UserManager, session: Tx, uid: Uid) -> dict[str, Any]:
    """Delete a role that is not built in and not in use. Required role: `admin` or `user_manager`."""
    await service.remove_role(session, uid, manager)
    return {}


async def _result(session: Tx, row: Role, dry_run: str | None) -> JSONResponse:
    """Return the role, and roll back in a dry run."""
    if is_on(dry_run):
        await take_back(session)
    return JSONResponse(_render(row))


def _render(row: Role) -> dict[str, Any]:
    return schema.role(row).model_dump()
