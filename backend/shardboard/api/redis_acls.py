"""Lists of data rules, which databases give to roles, over HTTP (REST reference 3.5)."""

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


@router.get("", response_model=list[schema.Acl], responses=errors())
async def list_redis_acls(_: AnyViewer, session: Reader, fields: Fields = "") -> JSONResponse:
    """All of them, those first that are built in."""
    return JSONResponse([only(_shape(each), fields) for each in await service.acls(session)])


@router.post("", response_model=schema.Acl, responses=errors(406, 409))
async def create_acl(manager: UserManager, session: Tx, body: schema.NewAcl, dry_run: DryRun = None) -> JSONResponse:
    """Add one."""
    return await _kept(session, await service.create_acl(session, body.name, body.acl, manager), dry_run)


@router.post("/validate", response_model=schema.Rules, responses=errors(406))
async def validate_acl(_: AnyViewer, body: schema.Rules) -> JSONResponse:
    """Whether a list could be kept, and how it would read; nothing is kept."""
    return JSONResponse({"acl": service.well_formed(body.acl)})


@router.get("/{uid}", response_model=schema.Acl, responses=errors(404))
async def get_acl(_: AnyViewer, session: Reader, uid: Uid, fields: Fields = "") -> JSONResponse:
    """One of them."""
    return JSONResponse(only(_shape(await service.acl(session, uid)), fields))


@router.put("/{uid}", response_model=schema.Acl, responses=errors(404, 406, 409))
async def update_acl(
    manager: UserManager, session: Tx, uid: Uid, body: schema.AclUpdate, dry_run: DryRun = None
) -> JSONResponse:
    """Change one that is not built in. Databases follow within seconds."""
    return await _kept(session, await service.change_acl(session, uid, body.name, body.acl, manager), dry_run)


@router.delete("/{uid}", responses=errors(404, 409))
async def delete_acl(manager: UserManager, session: Tx, uid: Uid) -> dict[str, Any]:
    """Remove one that is not built in and that nobody uses."""
    await service.remove_acl(session, uid, manager)
    return {}


async def _kept(session: Tx, row: Acl, dry_run: str | None) -> JSONResponse:
    """As it would be, of a dry run."""
    if is_on(dry_run):
        await take_back(session)
    return JSONResponse(_shape(row))


def _shape(row: Acl) -> dict[str, Any]:
    return schema.Acl.model_validate(row).model_dump()
