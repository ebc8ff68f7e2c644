"""Users, and tokens for scripts (REST reference 1.2, 3.5)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api import credentials
from shardboard.api.deps import CurrentLogin, Principal, Reader, TheConsole, requires
from shardboard.api.errors import ERROR_REPLIES
from shardboard.errors import Unauthorized
from shardboard.schemas.times import epoch
from shardboard.services import logins, tokens
from shardboard.services import users as services
from shardboard.services.users import USER_ADMINS
from shardboard.state import cluster, users
from shardboard.state.users import User

router = APIRouter(prefix="/users", tags=["users"], responses=ERROR_REPLIES)

UserAdmin = Annotated[Principal, Depends(requires(USER_ADMINS))]

_ROLE_UIDS = {"admin": 1, "cluster_member": 2, "cluster_viewer": 3, "db_member": 4, "db_viewer": 5, "none": 6}


class TokenRequest(BaseModel):
    ttl: Annotated[int, Field(ge=1, le=86400, strict=True, description="seconds")] = 300


class AccessToken(BaseModel):
    access_token: Annotated[str, Field(repr=False)]


class UserOut(BaseModel):
    """A user, without anything secret."""

    uid: int
    email: str
    name: str
    role: str
    role_uids: list[int]
    auth_method: str = "regular"
    status: str
    last_login: int | None
    """Epoch seconds; null before the first login."""
    email_alerts: bool = False
    bdbs_email_alerts: list[str] = []
    cluster_email_alerts: bool = False


@router.post("/authorize")
async def authorize(
    request: Request, console: TheConsole, login: CurrentLogin, body: TokenRequest | None = None
) -> AccessToken:
    """A token for scripts, against user name and password by HTTP Basic."""
    if login.claims is not None:
        raise Unauthorized(
            "unauthorized", "A token is given against user name and password; use refresh_jwt to renew one."
        )
    async with console.store.begin() as session:
        source = credentials.origin(request)
        user = await logins.succeeded(session, login.principal.username, source, audit=True)
        return AccessToken(access_token=await _issue(session, user, body))


@router.post("/refresh_jwt")
async def refresh(session: Reader, login: CurrentLogin, body: TokenRequest | None = None) -> AccessToken:
    """A new token in place of one that still holds."""
    if login.claims is None or login.claims.use != "api":
        raise Unauthorized("unauthorized", "Send the token to renew as Authorization: JWT <token>.")
    user = await users.by_email(session, login.principal.username)
    return AccessToken(access_token=await _issue(session, user, body))


@router.get("")
async def list_users(session: Reader, _: UserAdmin) -> list[UserOut]:
    """All users."""
    return [_shape(user) for user in await services.every(session)]


@router.get("/{uid}")
async def get_user(uid: int, session: Reader, _: UserAdmin) -> UserOut:
    """One user."""
    return _shape(await services.one(session, uid))


async def _issue(session: AsyncSession, user: User | None, body: TokenRequest | None) -> str:
    if user is None:
        raise Unauthorized("token_expired", "The user is gone.")
    secret = (await cluster.load(session)).jwt_secret
    return tokens.issue(secret, user, "api", (body or TokenRequest()).ttl)


def _shape(user: User) -> UserOut:
    return UserOut(
        uid=user.uid,
        email=user.email,
        name=user.name,
        role=user.role,
        role_uids=[_ROLE_UIDS[user.role]] if user.role in _ROLE_UIDS else [],
        status=services.status(user),
        last_login=epoch(user.last_login) if user.last_login else None,
    )
