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
from shardboard.errors import Forbidden
from shardboard.services import second_factor as codes
from shardboard.services import user_accounts
from shardboard.services.users import Principal, one
from shardboard.state import cluster
from shardboard.state.users import User, by_email

router = APIRouter(prefix="/users", tags=["users"])


class Secret(BaseModel):
    """For the app; nothing changes until it is sent back with a code."""

    secret: Annotated[str, Field(repr=False, description="Base 32, to be typed where no picture can be read.")]
    uri: Annotated[str, Field(repr=False, description="otpauth://… for a QR code.")]


class OwnPassword(BaseModel):
    model_config = ConfigDict(strict=True)

    password: Annotated[str, Field(max_length=256, repr=False, description="One's own.")]


class Confirmed(OwnPassword):
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
    """Log in with the app's code as well from now on. HTTP Basic is refused then: programs use service tokens."""
    user = await _proven(console, login.principal, body.password, credentials.origin(request))
    async with console.store.begin() as session:
        made = await user_accounts.switch_second_factor_on(session, user.uid, body.secret, body.code, login.principal)
    look_again(console.store)
    return RecoveryCodes(recovery_codes=made)


@router.delete("/second_factor", responses=errors(406))
async def switch_off(login: CurrentLogin, console: TheConsole, request: Request, body: OwnPassword) -> dict[str, str]:
    """Log in with one's password alone again."""
    user = await _proven(console, login.principal, body.password, credentials.origin(request))
    async with console.store.begin() as session:
        await user_accounts.switch_second_factor_off(session, user.uid, login.principal)
    return {}


@router.delete("/{uid}/second_factor", responses=errors(404))
async def switch_off_of(manager: UserManager, console: TheConsole, uid: Uid) -> dict[str, str]:
    """Switch it off for another user, who has lost the phone and the recovery codes."""
    async with console.store.begin() as session:
        if (await one(session, uid)).email == manager.username:
            raise Forbidden("unauthorized_action", "One's own second factor is switched off with the password.")
        await user_accounts.switch_second_factor_off(session, uid, manager)
    return {}


async def _proven(console: Console, by: Principal, password: str, source: str) -> User:
    """Who asks, by the password once more: a browser left open is not enough. Wrong ones count as failed logins do."""
    async with console.store.read() as session:
        user = _oneself(await by_email(session, by.username), by)
    if await credentials.password_of(console, user.email, password, source) is None:
        raise Forbidden("invalid_credentials", credentials.REFUSAL)
    return user


def _oneself(user: User | None, by: Principal) -> User:
    if user is None:
        raise Forbidden("unauthorized_action", f"{by.username} is no user: a service token has no second factor.")
    user_accounts.insist_on_regular(user)
    return user
