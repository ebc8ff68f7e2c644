"""Endpoints of two-factor authentication (extension): a code of an authenticator app in addition to the password."""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from shardboard.api import credentials
from shardboard.api.deps import CurrentLogin, Reader, TheConsole, UserManager
from shardboard.api.gate import look_again
from shardboard.api.parameters import Uid
from shardboard.api.replies import errors
from shardboard.console import Console
from shardboard.errors import Forbidden, NotAcceptable, Unauthorized
from shardboard.services import second_factor as codes
from shardboard.services import sessions, user_accounts
from shardboard.services.users import Principal, one
from shardboard.state import cluster
from shardboard.state.users import User, by_email

router = APIRouter(prefix="/users", tags=["users"])


class Secret(BaseModel):
    """Secret for the authenticator app. Nothing changes until it is sent back with a code."""

    secret: Annotated[str, Field(repr=False, description="Base32 text, to enter in an app that cannot scan a QR code.")]
    uri: Annotated[str, Field(repr=False, description="`otpauth://` URI for a QR code.")]


class Proof(BaseModel):
    """Password and second factor of the user, so that an open browser session or a stolen password alone is not sufficient."""

    model_config = ConfigDict(strict=True)

    password: Annotated[str, Field(max_length=256, repr=False, description="Current password of the user.")]
    present_code: Annotated[
        str | None,
        Field(
            max_length=64,
            repr=False,
            description="Code of the current second factor: from the authenticator app, or a recovery code.",
        ),
    ] = None


class Confirmed(Proof):
    secret: Annotated[str, Field(max_length=128, repr=False)]
    code: Annotated[
        str, Field(max_length=64, repr=False, description="Code that the authenticator app shows for the secret.")
    ]


class RecoveryCodes(BaseModel):
    recovery_codes: Annotated[list[str], Field(repr=False)]
    """Returned only once. Each code can be used once instead of a code of the authenticator app."""


@router.post("/second_factor", summary="Create second-factor secret", responses=errors(406))
async def propose(login: CurrentLogin, session: Reader) -> Secret:
    """Return a new secret for the authenticator app of the signed-in user. Nothing changes yet."""
    user = _local_user(await by_email(session, login.principal.username), login.principal)
    secret = codes.new_secret()
    return Secret(secret=secret, uri=codes.uri(secret, user.email, (await cluster.load(session)).name))


@router.put("/second_factor", summary="Turn on two-factor authentication", responses=errors(406))
async def switch_on(login: CurrentLogin, console: TheConsole, request: Request, body: Confirmed) -> RecoveryCodes:
    """Turn on two-factor authentication for the signed-in user, or replace the authenticator app. Returns the recovery codes.

    Ends the user's tokens, and all sessions except the current one. HTTP Basic is rejected afterwards; programs use service tokens.
    """
    user = await _reauthenticate(console, login.principal, body, credentials.origin(request))
    async with console.store.begin() as session:
        await user_accounts.use_second_factor(session, user.uid, body.present_code)
        made = await user_accounts.switch_second_factor_on(session, user.uid, body.secret, body.code, login.principal)
        await sessions.keep(session, login.session_uid, await one(session, user.uid))
    look_again(console.store)
    return RecoveryCodes(recovery_codes=made)


@router.delete("/second_factor", summary="Turn off two-factor authentication", responses=errors(406))
async def switch_off(login: CurrentLogin, console: TheConsole, request: Request, body: Proof) -> dict[str, str]:
    """Turn off two-factor authentication for the signed-in user. Returns 406 if the policy `second_factor_required` is on."""
    user = await _reauthenticate(console, login.principal, body, credentials.origin(request))
    async with console.store.begin() as session:
        await user_accounts.use_second_factor(session, user.uid, body.present_code)
        if (await cluster.load(session)).rules.second_factor_required:
            sentence = (
                "The policy requires a second factor. To use another authenticator app, turn it on again with that app."
            )
            raise NotAcceptable("second_factor_wanted", sentence)
        await user_accounts.switch_second_factor_off(session, user.uid, login.principal)
    return {}


@router.delete("/{uid}/second_factor", summary="Turn off two-factor authentication of user", responses=errors(404))
async def switch_off_of(manager: UserManager, console: TheConsole, uid: Uid) -> dict[str, str]:
    """Turn off two-factor authentication for another user, who has lost the authenticator app and the recovery codes.

    Required role: `admin` or `user_manager`.
    """
    async with console.store.begin() as session:
        if (await one(session, uid)).email == manager.username:
            raise Forbidden("unauthorized_action", "Turn off your own second factor with your password instead.")
        await user_accounts.switch_second_factor_off(session, uid, manager)
    look_again(console.store)
    return {}


async def _reauthenticate(console: Console, by: Principal, proof: Proof, source: str) -> User:
    """Return the signed-in user after checking the password and, if enabled, the second factor. Failures count as failed logins."""
    async with console.store.read() as session:
        user = _local_user(await by_email(session, by.username), by)
    if await credentials.password_of(console, user.email, proof.password, source) is None:
        raise Forbidden("invalid_credentials", credentials.REFUSAL)
    if user.totp_secret is not None:
        try:
            await credentials.insist_on_code(console.store, user, source, proof.present_code)
        except Unauthorized as refusal:  # 401 would mean that the user is not signed in
            message = "`present_code` is missing. Send a code of the authenticator app, or a recovery code."
            message = message if proof.present_code is None else refusal.description
            raise NotAcceptable(refusal.code, message, field="present_code") from None
    return user


def _local_user(user: User | None, by: Principal) -> User:
    if user is None:
        raise Forbidden("unauthorized_action", f"{by.username} is not a user. Service tokens have no second factor.")
    user_accounts.insist_on_regular(user)
    return user
