"""Endpoints of Redis ACLs, which databases assign to roles."""

from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ReadSession, UserManager, WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import FieldSelection, ListQuery, fields_of, list_query_of
from shardboard.api.http.parameters import Uid
from shardboard.domain.access.acl_rules import Acl
from shardboard.schemas.access import roles_and_acls as schema
from shardboard.services.access import roles_and_acls as service

router = ApiRouter(prefix="/v1/redis_acls", tags=["redis_acls"])


AclList = Annotated[ListQuery, Depends(list_query_of(schema.Acl))]
AclFields = Annotated[FieldSelection, Depends(fields_of(schema.Acl))]


@router.get("", summary="List Redis ACLs", response_model=list[schema.Acl], responses=error_responses())
async def list_redis_acls(_: AnyViewer, session: ReadSession, query: AclList) -> JSONResponse:
    """Return all ACLs, the built-in ones first."""
    return query.reply([_render(each) for each in await service.list_acls(session)])


@router.post("", summary="Create Redis ACL", response_model=schema.Acl, responses=error_responses(406, 409))
async def create_acl(manager: UserManager, session: WriteSession, body: schema.NewAcl) -> JSONResponse:
    """Add an ACL. Required role: `admin` or `user_manager`."""
    return JSONResponse(_render(await service.create_acl(session, body.name, body.acl, manager)))


@router.post("/validate", summary="Validate Redis ACL", response_model=schema.Rules, responses=error_responses(406))
async def validate_acl(_: AnyViewer, body: schema.Rules) -> JSONResponse:
    """Validate the rules of an ACL and return them in normal form. Nothing is stored."""
    return JSONResponse({"acl": service.normalize_rules(body.acl)})


@router.get("/{uid}", summary="Get Redis ACL", response_model=schema.Acl, responses=error_responses(404))
async def get_acl(_: AnyViewer, session: ReadSession, uid: Uid, fields: AclFields) -> JSONResponse:
    """Return an ACL."""
    return JSONResponse(fields.apply(_render(await service.get_acl(session, uid))))


@router.put("/{uid}", summary="Update Redis ACL", response_model=schema.Acl, responses=error_responses(404, 406, 409))
async def update_acl(manager: UserManager, session: WriteSession, uid: Uid, body: schema.AclUpdate) -> JSONResponse:
    """Change an ACL that is not built in. The databases apply the change within seconds.

    Required role: `admin` or `user_manager`.
    """
    return JSONResponse(_render(await service.change_acl(session, uid, body.name, body.acl, manager)))


@router.delete("/{uid}", summary="Delete Redis ACL", responses=error_responses(404, 409))
async def delete_acl(manager: UserManager, session: WriteSession, uid: Uid) -> dict[str, Any]:
    """Delete an ACL that is not built in and that no database uses. Required role: `admin` or `user_manager`."""
    await service.remove_acl(session, uid, manager)
    return {}


def _render(row: Acl) -> dict[str, Any]:
    return schema.Acl.model_validate(row).model_dump()
