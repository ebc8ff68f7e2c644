"""Endpoints of the passwords of a database's default user."""

from typing import Any

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import BdbEditor
from shardboard.api.http.dependencies import WriteSession
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.schemas.optional_fields import OptionalStr, without_none
from shardboard.services.databases import bdb_passwords as service
from shardboard.state.databases.bdbs import Bdb

router = ApiRouter(prefix="/v1", tags=["databases"])


class PasswordRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    password: str = Field(max_length=512, repr=False)


class PasswordChangeReply(BaseModel):
    action_uid: OptionalStr = Field(description="Uid of the action to poll; missing if nothing changes.")


@router.put("/bdbs/{uid}/passwords", response_model=PasswordChangeReply, responses=error_responses(404, 406, 409))
async def replace_passwords(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: PasswordRequest, dry_run: DryRun
) -> JSONResponse:
    """Replace all passwords of the database with one. Existing connections keep working until clients reconnect.

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return _reply(await service.replace(session, uid, body.password, editor, dry_run=dry_run))


@router.post("/bdbs/{uid}/passwords", response_model=PasswordChangeReply, responses=error_responses(404, 406, 409))
async def add_password(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: PasswordRequest, dry_run: DryRun
) -> JSONResponse:
    """Add a password. A database can have up to ten.

    To change a password without interruption, add the new password, update all applications, and remove the old password.
    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return _reply(await service.add(session, uid, body.password, editor, dry_run=dry_run))


@router.delete("/bdbs/{uid}/passwords", response_model=PasswordChangeReply, responses=error_responses(404, 406, 409))
async def remove_password(
    editor: BdbEditor, session: WriteSession, uid: Uid, body: PasswordRequest, dry_run: DryRun
) -> JSONResponse:
    """Remove a password. The last remaining password cannot be removed (406 `last_password`).

    Required role: `admin`, `cluster_member`, or `db_member`.
    """
    return _reply(await service.remove(session, uid, body.password, editor, dry_run=dry_run))


def _reply(bdb: Bdb) -> JSONResponse:
    reply: dict[str, Any] = without_none(action_uid=bdb.action_uid)
    return JSONResponse(reply)
