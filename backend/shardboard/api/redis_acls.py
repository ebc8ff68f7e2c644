"""Endpoints of Redis ACLs, which databases assign to roles."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.deps import Reader, Tx, UserManager
from shardboard.api.parameters import DryRun, Fields, Uid, is_on, only
from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.db import take_back
from shardboard.domain.acl_rules import Acl
from shardboard.schemas import access as schema
from shardboard.services import access as service

router = APIRouter(prefix="/redis_acls", tags=["redis_acls"])


@router.get("", summary="List Redis ACLs", response_model=list[schema.Acl], responses=errors())
async def list_redis_acls(_: AnyViewer, session: Reader, fields: Fields = "") -> JSONResponse:
    """Return all ACLs, the built-in ones first."""
    return JSONResponse([only(_render(each), fields) for each in await service.acls(session)])


@router.post("", summary="Create Redis ACL", response_model=schema.Acl, responses=errors(406, 409))
async def create_acl(manager: UserManager, session: Tx, body: schema.NewAcl, dry_run: DryRun = None) -> JSONResponse:
    """Add an ACL. Required role: `admin` or `user_manager`."""
    return await _result(session, await service.create_acl(session, body.name, body.acl, manager), dry_run)


@router.post("/validate", summary="Validate Redis ACL", response_model=schema.Rules, responses=errors(406))
async def validate_acl(_: AnyViewer, body: schema.Rules) -> JSONResponse:
    """Validate the rules of an ACL and return them in normal form. Nothing is stored."""
    return JSONResponse({"acl": service.well_formed(body.acl)})


@router.get("/{uid}", summary="Get Redis ACL", response_model=schema.Acl, responses=errors(404))
async def get_acl(_: AnyViewer, session: Reader, uid: Uid, fields: Fields = "") -> JSONResponse:
    """Return an ACL."""
    return JSONResponse(only(_render(await service.acl(session, uid)), fields))


@router.put("/{uid}", summary="Update Redis ACL", response_model=schema.Acl, responses=errors(404, 406, 409))
async def update_acl(
    manager: UserManager, session: Tx, uid: Uid, body: schema.AclUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change an ACL that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    return await _result(session, await service.change_acl(session, uid, body.name, body.acl, manager), dry_run)


@router.delete("/{uid}", summary="Delete Redis ACL", responses=errors(404, 409))
async def delete_acl(manager: UserManager, session: Tx, uid: Uid) -> dict[str, Any]:
    """Delete an ACL that is not built in and that no database uses. Required role: `admin` or `user_manager`."""
    await service.remove_acl(session, uid, manager)
    return {}


async def _result(session: Tx, row: Acl, dry_run: str | None) -> JSONResponse:
    """Return the ACL, and roll back in a dry run."""
    if is_on(dry_run):
        await take_back(session)
    return JSONResponse(_render(row))


def _render(row: Acl) -> dict[str, Any]:
    return schema.Acl.model_validate(row).model_dump()
