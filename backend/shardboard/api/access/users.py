"""Endpoints of users, their passwords, and tokens for scripts."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from fastapi import Depends, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from shardboard.api.http import audit_middleware, credentials
from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.dependencies import (
    ConsoleDep,
    CurrentLogin,
    LoginOrError,
    ReadSession,
    UserManager,
    WriteSession,
)
from shardboard.api.http.error_handlers import ERROR_REPLIES
from shardboard.api.http.lists import FieldSelection, ListQuery, fields_of, list_query_of
from shardboard.api.http.login_throttle import login_change
from shardboard.api.http.parameters import DryRun, Uid
from shardboard.domain.access.roles import AnyManagementRole, ManagementRole
from shardboard.errors import ApiError, Forbidden, NotFound, Unauthorized
from shardboard.schemas.timestamps import epoch, iso
from shardboard.services.access import authorization as services
from shardboard.services.access import logins, roles_and_acls, sessions, tokens, users
from shardboard.services.access.authorization import Principal
from shardboard.services.access.role_assignments import RoleAssignment
from shardboard.state.access.users import REGULAR, User, by_email
from shardboard.state.cluster import cluster

MAX_ROLES = 64
"""Maximum number of roles of a user."""

router = ApiRouter(prefix="/v1/users", tags=["users"], responses=ERROR_REPLIES)


class TokenRequest(BaseModel):
    ttl: Annotated[int, Field(ge=1, le=86400, strict=True, description="Lifetime in seconds.")] = 300


class TokenCredentials(TokenRequest):
    """Credentials in the body, for clients that do not use HTTP Basic."""

    username: Annotated[str | None, Field(max_length=254)] = None
    password: Annotated[str | None, Field(max_length=256, repr=False)] = None
    code: Annotated[
        str | None,
        Field(
            max_length=64,
            repr=False,
            description="Code from the authenticator app, or a recovery code (extension).",
        ),
    ] = None


class AccessToken(BaseModel):
    access_token: Annotated[str, Field(repr=False)]


class Authorization(AccessToken):
    jwt: Annotated[str, Field(repr=False, description="Same as `access_token`, for compatibility with other clients.")]


_WITHOUT_EFFECT: dict[str, Any] = {
    "email_alerts": False,
    "bdbs_email_alerts": [],
    "cluster_email_alerts": False,
    "certificate_subject_line": "",
    "account_id": None,
}
"""Fields of the Redis Enterprise REST API that have no effect, with their values in replies."""


class UserChanges(BaseModel):
    """Omitted fields keep their values. Unimplemented fields of the Redis Enterprise REST API are accepted without effect."""

    model_config = ConfigDict(strict=True)

    WITHOUT_EFFECT: ClassVar = _WITHOUT_EFFECT

    email: Annotated[
        str | None,
        Field(
            max_length=254,
            description="Username. Empty for users who have only a name. It cannot be changed: omit it or send the current value.",
        ),
    ] = None
    auth_method: Annotated[
        Literal["regular", "sso", "ldap"] | None,
        Field(
            description="`regular`: password of the console; `sso`: single sign-on; `ldap`: password of an LDAP directory."
        ),
    ] = None
    name: Annotated[str | None, Field(max_length=254)] = None
    password: Annotated[str | None, Field(max_length=256, repr=False)] = None
    role: AnyManagementRole | None = None
    role_uids: Annotated[
        list[int] | None,
        Field(
            max_length=MAX_ROLES,
            description="Uids of roles of /v1/roles. Alternative to `role`. "
            "The management permissions of one of them must include those of the others. An empty list means no role.",
        ),
    ] = None


class NewUser(UserChanges):
    email: Annotated[
        str,
        Field(
            max_length=254, description="Username to sign in with. Users without an email address sign in with `name`."
        ),
    ] = ""
    name: Annotated[
        str, Field(max_length=254, description="Users can authenticate to databases with both `email` and `name`.")
    ] = ""
    password: Annotated[
        str | None, Field(max_length=256, repr=False, description="Required unless `auth_method` is `sso`.")
    ] = None

    @model_validator(mode="after")
    def _check_auth_method(self) -> "NewUser":
        if not self.email and not self.name:
            what = "is missing. Set `email`, or `name` for a user without an email address"
            raise PydanticCustomError("field", "{field} {what}", {"field": "email", "what": what})
        if self.auth_method == "ldap":
            message = "must not be ldap for a new user. LDAP users are created when they sign in"
            raise PydanticCustomError("field", "{field} {what}", {"field": "auth_method", "what": message})
        if (self.password is None) != (self.auth_method == "sso"):
            message = "is missing" if self.password is None else "must be omitted for users of single sign-on"
            raise PydanticCustomError("field", "{field} {what}", {"field": "password", "what": message})
        return self


class NewPasswordRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    username: Annotated[str | None, Field(max_length=254, description="Username. Default: the signed-in user.")] = None
    new_password: Annotated[str, Field(max_length=256, repr=False)]


class PasswordRemovalRequest(BaseModel):
    model_config = ConfigDict(strict=True)

    username: Annotated[str | None, Field(max_length=254, description="Username. Default: the signed-in user.")] = None
    old_password: Annotated[str, Field(max_length=256, repr=False)]


class UserOut(BaseModel):
    """A user without secrets."""

    uid: int
    email: str
    name: str
    role: str
    role_uids: list[int]
    auth_method: str
    status: str
    passwords_count: int
    """Number of passwords of the user (extension)."""
    password_issue_date: str
    """ISO 8601 time when the newest password was set; empty without a password."""
    second_factor: bool
    """Whether two-factor authentication is on (extension)."""
    last_login: int | None
    """Epoch seconds; null before the first login."""
    email_alerts: bool = False
    bdbs_email_alerts: list[str] = []
    cluster_email_alerts: bool = False


@router.post("/authorize", summary="Create token")
async def create_token(
    request: Request, console: ConsoleDep, login_or_error: LoginOrError, body: TokenCredentials | None = None
) -> Authorization:
    """Create a token for scripts. Requires a username and password, by HTTP Basic or in the body; the body takes precedence."""
    token_request, source = body or TokenCredentials(), credentials.source_address_of(request)
    if token_request.username is not None or token_request.password is not None:
        username, password = token_request.username or "", token_request.password or ""
    elif isinstance(login_or_error, ApiError):
        raise login_or_error
    elif login_or_error.password is None:
        raise Unauthorized(
            "unauthorized", "A new token requires a username and password. Use refresh_jwt to renew a token."
        )
    else:
        username, password = audit_middleware.parse_basic_credentials(
            request.headers["authorization"].partition(" ")[2]
        )
    # Verify again: a token lasts, so it requires a password that is valid now, not one from the cache.
    login = await credentials.verify_login(console, username, password, source, code=token_request.code, audit=True)
    async with console.store.read() as session:
        secret = (await cluster.load(session)).jwt_secret
    fingerprint = tokens.password_fingerprint(secret, login.password)
    token = tokens.issue(secret, login.user.email, fingerprint, token_request.ttl)
    return Authorization(access_token=token, jwt=token)


@router.post("/refresh_jwt", summary="Renew token")
async def renew_token(session: ReadSession, login: CurrentLogin, body: TokenRequest | None = None) -> AccessToken:
    """Create a new token from one that is still valid. Requires the token in the `Authorization` header."""
    if login.claims is None:
        raise Unauthorized("unauthorized", "Send the token to renew as Authorization: JWT <token>.")
    user = await by_email(session, login.principal.username)
    if user is not None and user.auth_method != REGULAR:
        message = "Tokens of this user cannot be renewed, because another system authenticates it. Create a new token."
        raise Forbidden("not_renewable", message)
    secret, options = (await cluster.load(session)).jwt_secret, body or TokenRequest()
    username, fingerprint = login.principal.username, login.claims.password_fingerprint
    audit_middleware.record_secret_access("A token was renewed.")
    return AccessToken(access_token=tokens.issue(secret, username, fingerprint, options.ttl))


UserList = Annotated[ListQuery, Depends(list_query_of(UserOut))]
UserFields = Annotated[FieldSelection, Depends(fields_of(UserOut))]


@router.get("", response_model=list[UserOut])
async def list_users(session: ReadSession, _: UserManager, query: UserList) -> JSONResponse:
    """Return all users. Required role: `admin` or `user_manager`."""
    login_status = await logins.load_login_status(session)
    return query.reply([_render(user, login_status).model_dump() for user in await services.list_all(session)])


async def new_user_password(console: ConsoleDep, _manager: UserManager, body: NewUser) -> users.PasswordHashes | None:
    """Hash the password of a new user before the transaction starts, because this takes time."""
    if body.password is None:
        return None
    return await credentials.hash_new_password(console.store, body.password, body.email or body.name)


NewUserPassword = Annotated[users.PasswordHashes | None, Depends(new_user_password)]


@router.post("")
async def create_user(manager: UserManager, password: NewUserPassword, session: WriteSession, body: NewUser) -> UserOut:
    """Create a user. The default role is `db_viewer`. Required role: `admin` or `user_manager`."""
    role = await roles_and_acls.requested_role(session, body.role, body.role_uids) or RoleAssignment(
        ManagementRole.DB_VIEWER
    )
    user = await users.create(session, body.email, body.name, password, role, manager)
    return _render(user, await logins.load_login_status(session))


@router.put("/password")
async def replace_passwords(
    console: ConsoleDep, login: CurrentLogin, body: NewPasswordRequest, dry_run: DryRun
) -> dict[str, str]:
    """Replace all passwords of the signed-in user or, for administrators, of another user.

    Ends the user's tokens, and all sessions except the current one.
    """
    principal = login.principal
    user = await _find_user(console, body, principal)
    rejected_hashes = _rejected_hashes(user, principal)
    password = await credentials.hash_new_password(
        console.store, body.new_password, user.email, rejected_hashes=rejected_hashes
    )
    async with login_change(console.store, dry_run=dry_run) as session:
        changed = await users.change(session, user.uid, users.AccountChanges(password=password), principal)
        await sessions.revalidate(session, login.session_uid, changed)
    return {}


@router.post("/password")
async def add_password(
    console: ConsoleDep, login: CurrentLogin, body: NewPasswordRequest, dry_run: DryRun
) -> dict[str, str]:
    """Add a password. A user can have up to five. Sessions and tokens of the other passwords stay valid.

    To change a password without interruption, add the new password, update all programs, and remove the old password.
    """
    user = await _find_user(console, body, login.principal)
    users.require_local_password(user)
    password_hash = user.password_hash
    password = await credentials.hash_new_password(console.store, body.new_password, user.email, salt_of=password_hash)
    async with login_change(console.store, dry_run=dry_run) as session:
        await users.add_password(session, user.uid, password, password_hash, login.principal)
    return {}


@router.delete("/password")
async def remove_password(
    console: ConsoleDep, login: CurrentLogin, request: Request, body: PasswordRemovalRequest, dry_run: DryRun
) -> dict[str, str]:
    """Remove a password, unless it is the only one. Ends the sessions and tokens that were created with it.

    A wrong password counts as a failed sign-in.
    """
    user = await _find_user(console, body, login.principal)
    users.require_local_password(user)
    source = credentials.source_address_of(request)
    password = await credentials.match_password(console, user.email, body.old_password, source)
    if password is None:
        message = f"This is not a password of {user.email}. After several failed attempts, wait before you try again."
        raise NotFound("password_not_found", message, field="old_password")
    async with login_change(console.store, dry_run=dry_run) as session:
        await users.remove_password(session, user.uid, password.hash, login.principal)
    return {}


def _rejected_hashes(user: User, principal: Principal) -> Sequence[str]:
    """Return the hashes that a new password must not match.

    Empty for the passwords of another user, so that they cannot be guessed with this check. Also empty for a user with several
    passwords, because one of them may become the only one.
    """
    return user.password_hashes if user.email == principal.username and len(user.passwords) == 1 else ()


async def _find_user(
    console: ConsoleDep, body: NewPasswordRequest | PasswordRemovalRequest, principal: Principal
) -> User:
    async with console.store.read() as session:
        return await users.find_for_password_change(session, body.username or principal.username, principal)


@router.get("/role", summary="Get own role")
async def get_own_role(login: CurrentLogin) -> dict[str, str]:
    """Return the management role of the sender of the request."""
    return {"role": login.principal.role}


@router.get("/{uid}", response_model=UserOut)
async def get_user(uid: int, session: ReadSession, _: UserManager, fields: UserFields) -> JSONResponse:
    """Return a user. Required role: `admin` or `user_manager`."""
    user = await services.get_user(session, uid)
    return JSONResponse(fields.apply(_render(user, await logins.load_login_status(session)).model_dump()))


@router.put("/{uid}")
async def change_user(
    request: Request, console: ConsoleDep, login: CurrentLogin, uid: Uid, body: UserChanges, dry_run: DryRun
) -> UserOut:
    """Change a user. A new password ends the user's tokens, and all sessions except the current one.

    Users can change their own name and password. For other users, requires the role `admin` or `user_manager`.
    """
    principal, password = login.principal, None
    if body.password is not None:
        async with console.store.read() as session:
            user = await services.get_user(session, uid)
        password = await credentials.hash_new_password(
            console.store, body.password, user.email, rejected_hashes=_rejected_hashes(user, principal)
        )
    async with login_change(console.store, dry_run=dry_run, request=request) as session:
        role = await roles_and_acls.requested_role(session, body.role, body.role_uids)
        account_changes = users.AccountChanges(body.email, body.name, password, role, body.auth_method)
        user = await users.change(session, uid, account_changes, principal)
        if password is not None:
            await sessions.revalidate(session, login.session_uid, user)
        return _render(user, await logins.load_login_status(session))


@router.delete("/{uid}")
async def delete_user(
    request: Request, console: ConsoleDep, manager: UserManager, uid: Uid, dry_run: DryRun
) -> dict[str, str]:
    """Delete a user with its sessions and tokens. Required role: `admin` or `user_manager`."""
    async with login_change(console.store, dry_run=dry_run, request=request) as session:
        await users.remove(session, uid, manager)
    return {}


def _render(user: User, login_status: logins.LoginStatus) -> UserOut:
    has_password = user.auth_method == REGULAR
    return UserOut(
        uid=user.uid,
        email="" if user.has_name_only else user.email,
        name=user.name,
        role=user.role,
        role_uids=[uid for uid in user.all_role_uids if uid],
        auth_method=user.auth_method,
        status=login_status.status(user),
        passwords_count=len(user.passwords) if has_password else 0,
        password_issue_date=iso(max(logins.password_set_at(user, each) for each in user.passwords))
        if has_password
        else "",
        second_factor=user.totp_secret is not None,
        last_login=epoch(user.last_login) if user.last_login else None,
    )
