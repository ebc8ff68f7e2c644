"""Endpoints with which a program on a machine without a browser signs in: a user confirms it in the web UI (extension)."""

from typing import Annotated

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http import credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.audit_middleware import record_secret_access
from shardboard.api.http.credentials import Login
from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin, check_principal_role
from shardboard.api.http.error_replies import error_responses
from shardboard.errors import Forbidden, NotFound
from shardboard.schemas.timestamps import iso
from shardboard.services.access import device_logins as service
from shardboard.services.access import service_tokens
from shardboard.services.access.authorization import VIEWERS
from shardboard.services.access.device_logins import DeviceLoginStatus
from shardboard.state.access import audit, users
from shardboard.state.access.users import User

router = ApiRouter(prefix="/v1/device_logins", tags=["session"])

MAX_DAYS = 90
PAGE = "/device"
"""Page of the web UI where the user enters the short code."""


class NewDeviceLogin(BaseModel):
    model_config = ConfigDict(strict=True)

    name: Annotated[str, Field(min_length=1, max_length=64, description="Host name of the machine. The user sees it.")]
    username: Annotated[
        str | None, Field(min_length=1, max_length=254, description="Only this user can confirm the sign-in.")
    ] = None
    ttl: Annotated[
        int,
        Field(ge=service_tokens.MIN_SECONDS, le=MAX_DAYS * 86_400, description="Lifetime of the token in seconds."),
    ] = MAX_DAYS * 86_400

    @field_validator("name", "username")
    @classmethod
    def _check_printable(cls, text: str | None) -> str | None:
        if text is not None and (not text.isprintable() or text != text.strip()):
            raise ValueError("must have printable characters only, and no space at either end")
        return text


class StartedDeviceLogin(BaseModel):
    device_code: Annotated[str, Field(repr=False, description="Secret with which only the program gets the token.")]
    user_code: Annotated[str, Field(repr=False, description="Short code that the user enters on the page.")]
    page: str
    """Path of the page of the web UI."""
    expires_in: int
    """Seconds."""
    interval: int
    """Seconds between requests for the token."""


class DeviceCode(BaseModel):
    model_config = ConfigDict(strict=True)

    device_code: Annotated[str, Field(min_length=1, max_length=100, repr=False)]


class DeviceLoginState(BaseModel):
    status: DeviceLoginStatus
    token: Annotated[str | None, Field(repr=False, description="Service token, returned once after the confirmation.")]
    token_uid: int | None
    username: str | None
    """User who has confirmed the sign-in."""
    role: str | None
    expires_at: str | None
    """Expiry of the token."""


class UserCode(BaseModel):
    model_config = ConfigDict(strict=True)

    user_code: Annotated[
        str, Field(min_length=1, max_length=32, repr=False, description="Short code, in any spelling.")
    ]


class DeviceLoginDecision(UserCode):
    approve: Annotated[bool, Field(description="Whether to confirm or to deny the sign-in.")]


class WaitingDeviceLogin(BaseModel):
    """A sign-in of a program that waits for its confirmation."""

    name: str
    """Name of the machine, as the program states it."""
    address: str
    """Address from which the program sent its request."""
    created_at: str
    expires_at: str
    role: str
    """Management role that the token will have."""
    bdbs: list[int] | None
    """Uids of the databases that the role can access; null: all."""
    ttl: int
    """Lifetime of the token in seconds."""


async def confirming_login(login: CurrentLogin) -> Login:
    """Require a browser session, so that tokens and scripts cannot create further tokens."""
    check_principal_role(login.principal, VIEWERS)
    if login.session_uid is None:
        raise Forbidden("session_required", "Sign-ins of programs are confirmed in the web UI only.")
    return login


ConfirmingLogin = Annotated[Login, Depends(confirming_login)]


@router.post("", summary="Start sign-in of a program", responses=error_responses(406))
async def start_device_login(console: ConsoleDep, request: Request, body: NewDeviceLogin) -> StartedDeviceLogin:
    """Start the sign-in of a program. Show the short code and the address of the page to the user, and then request the token.

    No credentials are required.
    """
    address = credentials.source_address_of(request)
    async with console.store.read() as session:  # rejected requests must not lock the store
        await service.require_capacity(session, address)
    async with console.store.begin() as session:
        audit.without_audit(session)
        device_code, user_code = await service.start(session, body.name, body.username, body.ttl, address)
    return StartedDeviceLogin(
        device_code=device_code,
        user_code=user_code,
        page=PAGE,
        expires_in=service.LIFETIME_SECONDS,
        interval=service.POLL_SECONDS,
    )


@router.post("/token", summary="Get token of a program", responses=error_responses(404))
async def get_device_token(console: ConsoleDep, body: DeviceCode) -> DeviceLoginState:
    """Return the state of a sign-in. After the confirmation, the response contains the token, once.

    Authenticated by the secret code.
    """
    async with console.store.read() as session:
        status = await service.status_of(session, body.device_code)
    if status is DeviceLoginStatus.PENDING:
        return _render(service.DeviceToken(status))
    async with console.store.begin() as session:
        redeemed = await service.redeem(session, body.device_code)
    if redeemed.token is not None:
        record_secret_access("A program signed in.")
    return _render(redeemed)


@router.post("/find", summary="Find sign-in of a program", responses=error_responses(404))
async def find_device_login(login: ConfirmingLogin, console: ConsoleDep, body: UserCode) -> WaitingDeviceLogin:
    """Return the sign-in with a short code, so that the user can compare it before confirming it. Requires a browser session."""
    async with console.store.begin() as session:
        audit.without_audit(session)
        row = await service.find(session, await _user_of(session, login), body.user_code)
    if row is None:
        raise _unknown_code()
    bdbs = login.principal.bdbs
    return WaitingDeviceLogin(
        name=row.name,
        address=row.address,
        created_at=iso(row.created_at),
        expires_at=iso(row.expires_at),
        role=login.principal.role,
        bdbs=None if bdbs is None else sorted(bdbs),
        ttl=row.token_seconds,
    )


@router.post("/confirm", summary="Confirm sign-in of a program", responses=error_responses(404))
async def confirm_device_login(
    login: ConfirmingLogin, console: ConsoleDep, body: DeviceLoginDecision
) -> dict[str, str]:
    """Confirm or deny the sign-in with a short code. Its program gets a token with the role of the user.

    Requires a browser session.
    """
    async with console.store.begin() as session:
        user = await _user_of(session, login)
        row = await service.find(session, user, body.user_code)
        if row is not None:
            service.decide(session, row, user, login.session_uid or 0, is_approved=body.approve)
    if row is None:
        raise _unknown_code()
    return {}


async def _user_of(session: AsyncSession, login: Login) -> User:
    user = await users.by_email(session, login.principal.username)
    if user is None:
        raise Forbidden("session_required", "The user of this session was deleted.")
    return user


def _unknown_code() -> NotFound:
    return NotFound(
        "device_login_not_exist", "The code is not valid or has expired. Compare it with the one of the program."
    )


def _render(state: service.DeviceToken) -> DeviceLoginState:
    row = state.row
    return DeviceLoginState(
        status=state.status,
        token=state.token,
        token_uid=row.uid if row else None,
        username=row.created_by if row else None,
        role=row.role if row else None,
        expires_at=iso(row.expires_at) if row and row.expires_at else None,
    )
