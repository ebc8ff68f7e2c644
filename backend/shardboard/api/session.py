"""The browser's login: a session in a cookie that no script can read and no other site can send."""

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.api import credentials
from shardboard.api.deps import CurrentLogin, Principal, Reader, TheConsole
from shardboard.api.errors import ERROR_REPLIES
from shardboard.api.gate import Verified, look_again
from shardboard.api.reach import AnyViewer
from shardboard.console import Console
from shardboard.errors import Unauthorized
from shardboard.schemas.times import iso
from shardboard.services import logins, sessions, user_accounts
from shardboard.services.users import principal_of
from shardboard.state import audit, cluster, users
from shardboard.state.users import User

router = APIRouter(prefix="/session", tags=["session"], responses=ERROR_REPLIES)


class LoginForm(BaseModel):
    username: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[str, Field(min_length=1, max_length=256, repr=False)]
    code: Annotated[
        str | None,
        Field(max_length=64, repr=False, description="Of the second factor: what the app shows, or a recovery code."),
    ] = None
    new_password: Annotated[
        str | None,
        Field(max_length=256, repr=False, description="Set in place of all that there are, as when one has expired."),
    ] = None


class SessionInfo(BaseModel):
    """Who is logged in, where."""

    uid: int
    username: str
    role: str
    bdbs: list[int] | None
    """Uids of the databases that the role reaches; null: all."""
    cluster_name: str
    version: str
    auth_method: str
    """regular; sso: by single sign-on, ldap: by a directory, both without a password here."""
    second_factor: bool
    """Whether an app's code is asked for besides the password."""
    password_expires_at: str | None
    """ISO 8601; null where passwords do not expire."""


@router.post("")
async def log_in(form: LoginForm, request: Request, response: Response, console: TheConsole) -> SessionInfo:
    """Log in; the session lasts 12 hours. 401 `second_factor_required` asks for `code` as well, 401 `password_expired` for
    `new_password`."""
    source, wanted = credentials.origin(request), form.new_password
    if wanted is not None:  # before a code is used up
        await credentials.insist_on_password(console.store, wanted, form.username, form.password)
    found = await credentials.log_in(
        console, form.username, form.password, source, code=form.code, renewing=wanted is not None, audit=True
    )
    if wanted is not None:
        found = await _renewed(console, found, wanted)
    async with console.store.begin() as session:
        audit.aside(session)  # the login has its line
        browser = request.headers.get("user-agent", "")
        token = await sessions.begin(session, found.user, found.password, source, browser)
        shown = await _shape(session, found.user)
    credentials.set_cookie(request, response, token, sessions.SECONDS)
    return shown


async def _renewed(console: Console, found: Verified, wanted: str) -> Verified:
    """With that password in place of all that there were."""
    user, by = found.user, Principal(found.user.email, found.user.role)
    password = await credentials.new_password(console.store, wanted, user.email, before=user.password_hashes)
    async with console.store.begin() as session:
        changed = await user_accounts.change(session, user.uid, user_accounts.Changes(password=password), by)
    look_again(console.store)
    return Verified(changed, changed.passwords[0])


@router.get("")
async def current(session: Reader, principal: AnyViewer) -> SessionInfo:
    """Who is logged in."""
    user = await users.by_email(session, principal.username)
    if user is None:
        raise Unauthorized("token_expired", "The user is gone.")
    return await _shape(session, user)


@router.delete("")
async def log_out(request: Request, response: Response, login: CurrentLogin, console: TheConsole) -> dict[str, str]:
    """Log out: the session is void from now on, wherever its cookie was copied to."""
    if login.session_uid is not None:
        async with console.store.begin() as session:
            await sessions.log_out(session, login.session_uid, login.principal)
        look_again(console.store)
    credentials.set_cookie(request, response, "", 0)
    return {}


async def _shape(session: AsyncSession, user: User) -> SessionInfo:
    here = await cluster.load(session)
    principal = await principal_of(session, user.email, user.role, user.role_uid)
    expiry = logins.last_expiry(user, here.settings)
    return SessionInfo(
        uid=user.uid,
        username=user.email,
        role=principal.role,
        bdbs=sorted(principal.bdbs) if principal.bdbs is not None else None,
        cluster_name=here.name,
        version=__version__,
        auth_method=user.auth_method,
        second_factor=user.totp_secret is not None,
        password_expires_at=iso(expiry) if expiry else None,
    )
