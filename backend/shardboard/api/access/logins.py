"""Endpoints of the web UI's session. Its cookie cannot be read by scripts or sent by other sites."""

from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.api.access.two_factor import SecondFactorSecret
from shardboard.api.http import credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.dependencies import ConsoleDep, CurrentLogin, Principal, ReadSession
from shardboard.api.http.error_handlers import ERROR_REPLIES
from shardboard.api.http.login_throttle import VerifiedUser, recheck_logins
from shardboard.console import Console
from shardboard.errors import Conflict, NotAcceptable, Unauthorized
from shardboard.schemas.timestamps import iso
from shardboard.services.access import logins, sessions
from shardboard.services.access import two_factor as second_factor
from shardboard.services.access import users as user_accounts
from shardboard.services.access.authorization import principal_of
from shardboard.state.access import users
from shardboard.state.access.users import User
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster

router = ApiRouter(prefix="/v1/session", tags=["session"], responses=ERROR_REPLIES)


class UserCredentials(BaseModel):
    username: Annotated[str, Field(min_length=1, max_length=254)]
    password: Annotated[str, Field(min_length=1, max_length=256, repr=False)]


class LoginForm(UserCredentials):
    code: Annotated[
        str | None,
        Field(max_length=64, repr=False, description="Code from the authenticator app, or a recovery code."),
    ] = None
    secret: Annotated[
        str | None,
        Field(
            max_length=128,
            repr=False,
            description="Secret of `/v1/session/second_factor`, with its `code`: turns on two-factor authentication if the policy "
            "requires it.",
        ),
    ] = None
    new_password: Annotated[
        str | None,
        Field(
            max_length=256,
            repr=False,
            description="New password, which replaces all current ones. Required if the password has expired.",
        ),
    ] = None


class SessionInfo(BaseModel):
    """The signed-in user and the session."""

    uid: int
    username: str
    role: str
    bdbs: list[int] | None
    """Uids of the databases that the role can access; null: all."""
    cluster_name: str
    version: str
    auth_method: str
    """`regular`: password of the console; `sso`: single sign-on; `ldap`: password of an LDAP directory."""
    second_factor: bool
    """Whether two-factor authentication is on."""
    second_factor_required: bool
    """Whether the policy requires two-factor authentication for users with a password."""
    password_expires_at: str | None
    """ISO 8601; null if passwords do not expire."""
    recovery_codes: Annotated[list[str] | None, Field(repr=False)] = None
    """Recovery codes, if two-factor authentication was turned on by this login. Returned only once."""


@router.post("", summary="Sign in")
async def sign_in(body: LoginForm, request: Request, response: Response, console: ConsoleDep) -> SessionInfo:
    """Sign in. The session lasts 12 hours.

    Returns 401 `second_factor_required` if `code` is missing, 401 `password_expired` if `new_password` is required, and 401
    `second_factor_missing` if a `secret` and its `code` are required. A request is executed completely or not at all. Authenticated
    by the credentials in the body.
    """
    source, new_password = credentials.source_address_of(request), body.new_password
    if new_password is not None:
        await credentials.check_new_password(console.store, new_password, body.username, body.password)
    login = await credentials.verify_lasting_login(
        console,
        body.username,
        body.password,
        source,
        code=body.code,
        allow_expired=new_password is not None,
        allow_missing_second_factor=body.secret is not None,
    )
    if body.secret is not None:
        await _check_new_factor(console, login.user, body.secret, body.code or "")
    password = None
    if new_password is not None:
        previous_hashes = login.user.password_hashes
        password = await credentials.hash_new_password(
            console.store, new_password, login.user.email, rejected_hashes=previous_hashes
        )
    async with console.store.begin() as session:
        await cluster.load_for_update(session)  # changes of users lock the cluster row first
        login, codes = await _complete_login(session, login, source, body, password)
        browser = request.headers.get("user-agent", "")
        token = await sessions.start(session, login.user, login.password, source, browser)
        reply = await _render(session, login.user)
    if password is not None or codes is not None:
        recheck_logins(console.store)
    credentials.set_cookie(response, token, sessions.SESSION_SECONDS)
    return reply.model_copy(update={"recovery_codes": codes})


async def _check_new_factor(console: Console, user: User, secret: str, code: str) -> None:
    """Check the secret and its code.

    This has to run before the check of the new password. Otherwise, a request without a valid code could find out whether the new
    password is one of the user's.
    """
    if user.totp_secret is not None:
        raise Conflict(
            "second_factor_is_on",
            f"{user.email} already uses two-factor authentication. Sign in with a code.",
            field="secret",
        )
    async with console.store.read() as session:
        await _require_enrollment(session, user)
    second_factor.verify_enrollment(secret, code)


async def _require_enrollment(session: AsyncSession, user: User) -> Cluster:
    cluster_row = await cluster.load(session)
    if not logins.lacks_second_factor(user, cluster_row.rules):
        message = (
            "This user does not have to turn on two-factor authentication at sign-in. Turn it on in the user menu."
        )
        raise NotAcceptable("config_error", message, field="secret")
    return cluster_row


async def _complete_login(
    session: AsyncSession,
    found: VerifiedUser,
    source: str,
    form: LoginForm,
    password: user_accounts.PasswordHashes | None,
) -> tuple[VerifiedUser, list[str] | None]:
    """Record the login and apply its changes. Return the user, and recovery codes if two-factor authentication was turned on."""
    user, principal, codes = found.user, Principal(found.user.email, found.user.role), None
    found = await credentials.record_login(session, found, source, code=form.code if form.secret is None else None)
    if password is not None:
        changed = await user_accounts.change(
            session, user.uid, user_accounts.AccountChanges(password=password), principal
        )
        found = VerifiedUser(changed, changed.passwords[0])
    if form.secret is not None:
        codes = await user_accounts.enable_second_factor(session, user.uid, form.secret, form.code or "", principal)
        found = VerifiedUser(found.user, found.user.password_of(found.password.hash))
    return found, codes


@router.post("/second_factor", summary="Create two-factor secret at sign-in")
async def create_sign_in_secret(body: UserCredentials, request: Request, console: ConsoleDep) -> SecondFactorSecret:
    """Return a new secret for the authenticator app of a user who cannot sign in without two-factor authentication.

    Nothing changes until the secret is sent back with a code. Authenticated by the username and password in the body.
    """
    source = credentials.source_address_of(request)
    login = await credentials.verify_lasting_login(
        console, body.username, body.password, source, code=None, allow_expired=True, allow_missing_second_factor=True
    )
    async with console.store.read() as session:
        cluster_row = await _require_enrollment(session, login.user)
    secret = second_factor.new_secret()
    return SecondFactorSecret(secret=secret, uri=second_factor.uri(secret, login.user.email, cluster_row.name))


@router.get("", summary="Get session")
async def get_session(session: ReadSession, principal: AnyViewer) -> SessionInfo:
    """Return the signed-in user."""
    user = await users.by_email(session, principal.username)
    if user is None:
        raise Unauthorized("token_expired", "The user no longer exists. Sign in as another user.")
    return await _render(session, user)


@router.delete("", summary="Sign out")
async def sign_out(response: Response, login: CurrentLogin, console: ConsoleDep) -> dict[str, str]:
    """Sign out. The session ends immediately, including for copies of its cookie."""
    if login.session_uid is not None:
        async with console.store.begin() as session:
            await sessions.sign_out(session, login.session_uid, login.principal)
        recheck_logins(console.store)
    credentials.set_cookie(response, "", 0)
    return {}


async def _render(session: AsyncSession, user: User) -> SessionInfo:
    cluster_row = await cluster.load(session)
    principal = await principal_of(session, user.email, user.role, user.role_uid)
    expiry = logins.last_expiry(user, cluster_row.settings)
    return SessionInfo(
        uid=user.uid,
        username=user.email,
        role=principal.role,
        bdbs=sorted(principal.bdbs) if principal.bdbs is not None else None,
        cluster_name=cluster_row.name,
        version=__version__,
        auth_method=user.auth_method,
        second_factor=user.totp_secret is not None,
        second_factor_required=cluster_row.rules.second_factor_required,
        password_expires_at=iso(expiry) if expiry else None,
    )
