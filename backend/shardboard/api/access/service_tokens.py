"""Endpoints of service tokens (extension)."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import (
    ConsoleDep,
    CurrentLogin,
    ReadSession,
    UserManager,
    WriteSessionWithoutDryRun,
)
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.lists import ListQuery, list_query_of
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.domain.access.roles import AnyManagementRole, uid_of
from shardboard.errors import NotAcceptable
from shardboard.schemas.timestamps import iso
from shardboard.services.access import roles_and_acls
from shardboard.services.access import service_tokens as service
from shardboard.state.access.service_tokens import ServiceToken

router = ApiRouter(prefix="/v1/service_tokens", tags=["users"])


class NewServiceToken(BaseModel):
    model_config = ConfigDict(strict=True)

    name: Annotated[str, Field(min_length=1, max_length=64, description="Purpose of the token. Names are unique.")]
    role: Annotated[AnyManagementRole | None, Field(description="Management role. Alternative to `role_uids`.")] = None
    role_uids: Annotated[list[int] | None, Field(max_length=1, description="Uid of one role of /v1/roles.")] = None
    ttl: Annotated[
        int | None,
        Field(
            ge=service.MIN_SECONDS,
            le=service.MAX_SECONDS,
            description="Lifetime in seconds. Default: the token does not expire.",
        ),
    ] = None


class ServiceTokenOut(BaseModel):
    """A service token without the token itself."""

    uid: int
    name: str
    role: str
    role_uids: list[int]
    """Uid of one role of /v1/roles."""
    created_by: str
    created_at: str
    expires_at: str | None
    """Null if the token does not expire."""
    expired: bool
    user_uid: int | None
    """Uid of the user who has signed in a program with the token, and with whom it ends; null: it belongs to no user."""
    last_used_at: str | None
    """Accurate to the minute; null if the token was never used."""


class CreatedServiceToken(ServiceTokenOut):
    token: Annotated[
        str, Field(repr=False, description="The token, returned only once. Send it as `Authorization: Bearer <token>`.")
    ]


TokenList = Annotated[ListQuery, Depends(list_query_of(ServiceTokenOut))]


@router.get("", response_model=list[ServiceTokenOut], responses=error_responses())
async def list_service_tokens(login: CurrentLogin, session: ReadSession, query: TokenList) -> JSONResponse:
    """Return service tokens, by name: all of them for the roles `admin` and `user_manager`, and otherwise those of the user."""
    return query.reply([_render(row) for row in await service.list_visible(session, login.principal)])


@router.post("", responses=error_responses(406, 409))
async def create_service_token(
    manager: UserManager, session: WriteSessionWithoutDryRun, body: NewServiceToken
) -> CreatedServiceToken:
    """Create a service token for a program. Only administrators can create tokens with the role `admin`.

    Required role: `admin` or `user_manager`.
    """
    role = await roles_and_acls.requested_role(session, body.role, body.role_uids)
    if role is None:
        raise NotAcceptable("config_error", "A service token needs a role: set `role` or `role_uids`.", field="role")
    row, token = await service.create(session, body.name, role, body.ttl, manager)
    return CreatedServiceToken(**_render(row), token=token)


@router.delete("/{uid}", responses=error_responses(404))
async def delete_service_token(login: CurrentLogin, console: ConsoleDep, uid: Uid, dry_run: DryRun) -> dict[str, str]:
    """Delete a service token. Requests and event streams with the token are rejected immediately.

    Required role: `admin` or `user_manager`, or the token itself or its user.
    """
    async with login_change(console.store, dry_run=dry_run) as session:
        await service.remove(session, uid, login.principal)
    return {}


def _render(row: ServiceToken) -> dict[str, object]:
    return {
        "uid": row.uid,
        "name": row.name,
        "role": row.role,
        "role_uids": [row.role_uid or uid_of(row.role)],
        "created_by": row.created_by,
        "created_at": iso(row.created_at),
        "expires_at": iso(row.expires_at) if row.expires_at else None,
        "expired": row.expires_at is not None and row.expires_at <= datetime.now(UTC),
        "user_uid": row.user_uid,
        "last_used_at": iso(row.last_used_at) if row.last_used_at else None,
    }
