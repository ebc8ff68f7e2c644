"""Endpoints of the passwords of a database's default user."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.deps import Tx
from shardboard.api.parameters import DryRun, Uid, is_on
from shardboard.api.reach import BdbEditor
from shardboard.api.replies import errors
from shardboard.schemas.absent import OptionalStr, present
from shardboard.services import bdb_passwords as service
from shardboard.state.bdbs import Bdb

router = APIRouter(tags=["databases"])


class Password(BaseModel):
    model_config = ConfigDict(strict=True)

    password: str = Field(max_length=512, repr=False)


class Ordered(BaseModel):
    action_uid: OptionalStr = Field(description="Uid of the action to poll; missing if nothing changes.")


@router.put("/bdbs/{uid}/passwords", response_model=Ordered, responses=errors(404, 406, 409))
async def replace_passwords(
    editor: BdbEditor, session: Tx, uid: Uid, body: Password, dry_run: DryRun = None
) -> JSONResponse:
    """Replace all passwords of the database by one. Existing connections keep working until clients reconnect.

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return _reply(await service.replace(session, uid, body.password, editor, dry_run=is_on(dry_run)))


@router.post("/bdbs/{uid}/passwords", response_model=Ordered, responses=errors(404, 406, 409))
async def add_password(
    editor: BdbEditor, session: Tx, uid: Uid, body: Password, dry_run: DryRun = None
) -> JSONResponse:
    """Add a password. A database can have up to ten.

    To change a password without an interruption, add the new password, update all applications and remove the old password.
    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return _reply(await service.add(session, uid, body.password, editor, dry_run=is_on(dry_run)))


@router.delete("/bdbs/{uid}/passwords", response_model=Ordered, responses=errors(404, 406, 409))
async def remove_password(
    editor: BdbEditor, session: Tx, uid: Uid, body: Password, dry_run: DryRun = None
) -> JSONResponse:
    """Remove a password. The last remaining password cannot be removed (406 `last_password`).

    Required role: `admin`, `cluster_member` or `db_member`.
    """
    return _reply(await service.remove(session, uid, body.password, editor, dry_run=is_on(dry_run)))


def _reply(bdb: Bdb) -> JSONResponse:
    reply: dict[str, Any] = present(action_uid=bdb.action_uid)
    return JSONResponse(reply)
