"""Endpoints of Redis ACLs, which databases assign to roles."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Fields, Uid, is_flag_set, select_fields
from shardboard.domain.access.acl_rules import Acl
from shardboard.schemas.access import roles_and_acls as schema
from shardboard.services.access import roles_and_acls as service
from shardboard.store.db import roll_back

router = APIRouter(prefix="/redis_acls", tags=["redis_acls"])


@router.get("", summary="List Redis ACLs", response_model=list[schema.Acl], responses=error_responses())
async def list_redis_acls(_: AnyViewer, session: ReadSession, fields: Fields = "") -> JSONResponse:
    """Return all ACLs, the built-in ones first."""
    return JSONResponse([select_fields(_render(each), fields) for each in await service.list_acls(session)])


@router.post("", summary="Create Redis ACL", response_model=schema.Acl, responses=error_responses(406, 409))
async def create_acl(
    manager: UserManager, session: WriteSession, body: schema.NewAcl, dry_run: DryRun = None
) -> JSONResponse:
    """Add an ACL. Required role: `admin` or `user_manager`."""
    return await _result(session, await service.create_acl(session, body.name, body.acl, manager), dry_run)


@router.post("/validate", summary="Validate Redis ACL", response_model=schema.Rules, responses=error_responses(406))
async def validate_acl(_: AnyViewer, body: schema.Rules) -> JSONResponse:
    """Validate the rules of an ACL and return them in normal form. Nothing is stored."""
    return JSONResponse({"acl": service.normalize_rules(body.acl)})


@router.get("/{uid}", summary="Get Redis ACL", response_model=schema.Acl, responses=error_responses(404))
async def get_acl(_: AnyViewer, session: ReadSession, uid: Uid, fields: Fields = "") -> JSONResponse:
    """Return an ACL."""
    return JSONResponse(select_fields(_render(await service.get_acl(session, uid)), fields))


@router.put("/{uid}", summary="Update Redis ACL", response_model=schema.Acl, responses=error_responses(404, 406, 409))
async def update_acl(
    manager: UserManager, session: WriteSession, uid: Uid, body: schema.AclUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change an ACL that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    return await _result(session, await service.change_acl(session, uid, body.name, body.acl, manager), dry_run)


@router.delete("/{uid}", summary="Delete Redis ACL", responses=error_responses(404, 409))
async def delete_acl(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete an ACL that is not built in and that no database uses. Required role: `admin` or `user_manager`."""
    await service.remove_acl(session, uid, manager)
    return {}


async def _result(session: WriteSession, row: Acl, dry_run: str | None) -> JSONResponse:
    """Return the ACL, and roll back in a dry run."""
    if is_flag_set(dry_run):
        await roll_back(session)
    return JSONResponse(_render(row))


def _render(row: Acl) -> dict[str, Any]:
    return schema.Acl.model_validate(row).model_dump()
