"""Endpoints of two-factor authentication (extension): a code of an authenticator app in addition to the password."""

from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api.http import credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin, ReadSession, UserManager
from shardboard.api.http.error_replies import error_responses
from shardboard.api.http.login_throttle import WRONG_CREDENTIALS, login_change
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.console import Console
from shardboard.errors import Forbidden, NotAcceptable, Unauthorized
from shardboard.services.access import sessions, users
from shardboard.services.access import two_factor as codes
from shardboard.services.access.authorization import Principal, get_user
from shardboard.state.access.users import User, by_email
from shardboard.state.cluster import cluster

router = ApiRouter(prefix="/v1/users", tags=["users"])


class SecondFactorSecret(BaseModel):
    """Secret for the authenticator app. Nothing changes until it is sent back with a code."""

    secret: Annotated[str, Field(repr=False, description="Base32 text, to enter in an app that cannot scan a QR code.")]
    uri: Annotated[str, Field(repr=False, description="`otpauth://` URI for a QR code.")]


class SecondFactorCode(BaseModel):
    """Password and authentication code of the user: an open browser session or a stolen password alone is not sufficient."""

    model_config = ConfigDict(strict=True)

    password: Annotated[str, Field(max_length=256, repr=False, description="Current password of the user.")]
    present_code: Annotated[
        str | None,
        Field(
            max_length=64,
            repr=False,
            description="Current code from the authenticator app, or a recovery code.",
        ),
    ] = None


class SecondFactorConfirmation(SecondFactorCode):
    secret: Annotated[str, Field(max_length=128, repr=False)]
    code: Annotated[
        str, Field(max_length=64, repr=False, description="Code that the authenticator app shows for the secret.")
    ]


class RecoveryCodes(BaseModel):
    recovery_codes: Annotated[list[str], Field(repr=False)]
    """Returned only once. Each code can be used once instead of a code of the authenticator app."""


@router.post("/second_factor", summary="Create two-factor secret", responses=error_responses(406))
async def create_second_factor_secret(login: CurrentLogin, session: ReadSession) -> SecondFactorSecret:
    """Return a new secret for the authenticator app of the signed-in user. Nothing changes yet."""
    user = _local_user(await by_email(session, login.principal.username), login.principal)
    secret = codes.new_secret()
    return SecondFactorSecret(secret=secret, uri=codes.uri(secret, user.email, (await cluster.load(session)).name))


@router.put("/second_factor", summary="Turn on two-factor authentication", responses=error_responses(406))
async def turn_on_second_factor(
    login: CurrentLogin, console: ConsoleDep, request: Request, body: SecondFactorConfirmation
) -> RecoveryCodes:
    """Turn on two-factor authentication for the signed-in user, or replace the authenticator app. Returns the recovery codes.

    Ends the user's tokens, and all sessions except the current one. HTTP Basic is rejected afterwards; programs use service tokens.
    """
    user = await _reauthenticate(console, login.principal, body, credentials.source_address_of(request))
    async with login_change(console.store) as session:
        await users.use_second_factor(session, user.uid, body.present_code)
        enabled = await users.enable_second_factor(session, user.uid, body.secret, body.code, login.principal)
        await sessions.revalidate(session, login.session_uid, await get_user(session, user.uid))
    return RecoveryCodes(recovery_codes=enabled)


@router.delete("/second_factor", summary="Turn off two-factor authentication", responses=error_responses(406))
async def turn_off_second_factor(
    login: CurrentLogin, console: ConsoleDep, request: Request, body: SecondFactorCode
) -> dict[str, str]:
    """Turn off two-factor authentication for the signed-in user. Returns 406 if the policy `second_factor_required` is on."""
    user = await _reauthenticate(console, login.principal, body, credentials.source_address_of(request))
    async with console.store.begin() as session:
        await users.use_second_factor(session, user.uid, body.present_code)
        if (await cluster.load(session)).rules.second_factor_required:
            message = (
                "The policy requires two-factor authentication. To use another authenticator app, set up two-factor "
                "authentication again with that app."
            )
            raise NotAcceptable("second_factor_wanted", message)
        await users.disable_second_factor(session, user.uid, login.principal)
    return {}


@router.delete(
    "/{uid}/second_factor", summary="Turn off two-factor authentication of user", responses=error_responses(404)
)
async def turn_off_second_factor_of_user(
    manager: UserManager, console: ConsoleDep, uid: Uid, dry_run: DryRun
) -> dict[str, str]:
    """Turn off two-factor authentication for another user, who has lost the authenticator app and the recovery codes.

    Required role: `admin` or `user_manager`.
    """
    async with login_change(console.store, dry_run=dry_run) as session:
        if (await get_user(session, uid)).email == manager.username:
            raise Forbidden("unauthorized_action", "To turn off your own two-factor authentication, use your password.")
        await users.disable_second_factor(session, uid, manager)
    return {}


async def _reauthenticate(console: Console, principal: Principal, body: SecondFactorCode, source: str) -> User:
    """Return the signed-in user after checking the password and, if enabled, the code. Failures count as failed sign-ins."""
    async with console.store.read() as session:
        user = _local_user(await by_email(session, principal.username), principal)
    if await credentials.match_password(console, user.email, body.password, source) is None:
        raise Forbidden("invalid_credentials", WRONG_CREDENTIALS)
    if user.totp_secret is not None:
        try:
            await credentials.require_second_factor_code(console.store, user, source, body.present_code)
        except Unauthorized as refusal:  # 401 would mean that the user is not signed in
            message = "`present_code` is missing. Send a code of the authenticator app, or a recovery code."
            message = message if body.present_code is None else refusal.description
            raise NotAcceptable(refusal.code, message, field="present_code") from None
    return user


def _local_user(user: User | None, principal: Principal) -> User:
    if user is None:
        raise Forbidden(
            "unauthorized_action",
            f"{principal.username} is not a user. Service tokens do not use two-factor authentication.",
        )
    users.require_local_password(user)
    return user
