"""The second factor of users over HTTP (ours): a code of an app on the phone, besides the password."""

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
    """For the app; nothing changes until it is sent back with a code."""

    secret: Annotated[str, Field(repr=False, description="Base 32, to be typed where no picture can be read.")]
    uri: Annotated[str, Field(repr=False, description="otpauth://… for a QR code.")]


class Proof(BaseModel):
    """A browser that was left open is not enough, nor is the password that was found beside it."""

    model_config = ConfigDict(strict=True)

    password: Annotated[str, Field(max_length=256, repr=False, description="One's own.")]
    present_code: Annotated[
        str | None,
        Field(
            max_length=64, repr=False, description="Of the second factor that there is: the app's, or a recovery code."
        ),
    ] = None


class Confirmed(Proof):
    secret: Annotated[str, Field(max_length=128, repr=False)]
    code: Annotated[str, Field(max_length=64, repr=False, description="What the app shows for the secret.")]


class RecoveryCodes(BaseModel):
    recovery_codes: Annotated[list[str], Field(repr=False)]
    """Shown this once. Each logs in once in place of the app's code."""


@router.post("/second_factor", responses=errors(406))
async def propose(login: CurrentLogin, session: Reader) -> Secret:
    """A new secret for one's own app."""
    user = _oneself(await by_email(session, login.principal.username), login.principal)
    secret = codes.new_secret()
    return Secret(secret=secret, uri=codes.uri(secret, user.email, (await cluster.load(session)).name))


@router.put("/second_factor", responses=errors(406))
async def switch_on(login: CurrentLogin, console: TheConsole, request: Request, body: Confirmed) -> RecoveryCodes:
    """Log in with the app's code as well from now on, or with that of another app. Ends one's tokens, and the sessions but the one
    that asks. HTTP Basic is refused then: programs use service tokens."""
    user = await _proven(console, login.principal, body, credentials.origin(request))
    async with console.store.begin() as session:
        await user_accounts.use_second_factor(session, user.uid, body.present_code)
        made = await user_accounts.switch_second_factor_on(session, user.uid, body.secret, body.code, login.principal)
        await sessions.keep(session, login.session_uid, await one(session, user.uid))
    look_again(console.store)
    return RecoveryCodes(recovery_codes=made)


@router.delete("/second_factor", responses=errors(406))
async def switch_off(login: CurrentLogin, console: TheConsole, request: Request, body: Proof) -> dict[str, str]:
    """Log in with one's password alone again."""
    user = await _proven(console, login.principal, body, credentials.origin(request))
    async with console.store.begin() as session:
        await user_accounts.use_second_factor(session, user.uid, body.present_code)
        if (await cluster.load(session)).rules.second_factor_required:
            sentence = "Everybody needs a second factor here. For another phone, switch it on again with that one."
            raise NotAcceptable("second_factor_wanted", sentence)
        await user_accounts.switch_second_factor_off(session, user.uid, login.principal)
    return {}


@router.delete("/{uid}/second_factor", responses=errors(404))
async def switch_off_of(manager: UserManager, console: TheConsole, uid: Uid) -> dict[str, str]:
    """Switch it off for another user, who has lost the phone and the recovery codes."""
    async with console.store.begin() as session:
        if (await one(session, uid)).email == manager.username:
            raise Forbidden("unauthorized_action", "One's own second factor is switched off with the password.")
        await user_accounts.switch_second_factor_off(session, uid, manager)
    look_again(console.store)
    return {}


async def _proven(console: Console, by: Principal, proof: Proof, source: str) -> User:
    """Who asks, by the password once more, and by the second factor where there is one. Wrong ones count as failed logins do."""
    async with console.store.read() as session:
        user = _oneself(await by_email(session, by.username), by)
    if await credentials.password_of(console, user.email, proof.password, source) is None:
        raise Forbidden("invalid_credentials", credentials.REFUSAL)
    if user.totp_secret is not None:
        try:
            await credentials.insist_on_code(console.store, user, source, proof.present_code)
        except Unauthorized as refusal:  # who asks is logged in all the same
            said = "Send a code of the second factor that there is, or a recovery code, as `present_code`."
            said = said if proof.present_code is None else refusal.description
            raise NotAcceptable(refusal.code, said, field="present_code") from None
    return user


def _oneself(user: User | None, by: Principal) -> User:
    if user is None:
        raise Forbidden("unauthorized_action", f"{by.username} is no user: a service token has no second factor.")
    user_accounts.insist_on_regular(user)
    return user
