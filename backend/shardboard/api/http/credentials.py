"""Authentication of requests: HTTP Basic, a token in the `Authorization` header, or the session cookie of the web UI."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http import audit_middleware, ldap_login
from shardboard.api.http.login_throttle import (
    WRONG_CREDENTIALS,
    LoginState,
    VerifiedUser,
    get_login_state,
    record_failed_login,
    wrong_password,
)
from shardboard.console import Console
from shardboard.errors import ApiError, Forbidden, NotAcceptable, Unauthorized
from shardboard.net.client_address import source_of
from shardboard.services.access import logins, passwords, service_tokens, sessions, tokens, two_factor
from shardboard.services.access import users as user_accounts
from shardboard.services.access.authorization import Principal, principal_of
from shardboard.state.access import acl_users, users
from shardboard.state.access import audit as trail
from shardboard.state.access.users import Password, User
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster
from shardboard.store.db import Store

COOKIE = "shardboard_session"
CSRF_HEADER = "x-requested-with"
UNCHANGED_MESSAGE = "The new password must differ from the current one."


@dataclass(frozen=True)
class Login:
    """Authenticated identity of a request."""

    principal: Principal
    claims: tokens.Claims | None = None
    """Claims of the token, if a token was sent."""
    session_uid: int | None = None
    """Uid of the session, if a session cookie was sent."""
    password: Password | None = None
    """Password that matched, if a password was sent."""

    @property
    def credential_type(self) -> str:
        """Return the type of credential for the audit log."""
        if self.password is not None:
            return "password"
        if self.session_uid is not None:
            return "session"
        return "token" if self.claims is not None else "service token"


def source_address_of(request: Request) -> str:
    """Return the source address of a request, for audit events."""
    return audit_middleware.source_address(request.scope)


def set_cookie(response: Response, value: str, max_age: int) -> None:
    """Set the session cookie. Scripts cannot read it, and other sites cannot send it.

    It is always `Secure`: a reverse proxy that terminates TLS does not necessarily report that. Browsers also accept such cookies
    from http://localhost.
    """
    response.set_cookie(COOKIE, value, max_age=max_age, secure=True, httponly=True, samesite="strict")


def equal_in_constant_time(actual: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(actual.encode(), expected.encode())


def challenge_headers(request: Request) -> dict[str, str]:
    """Return the headers of a 401 reply. Browsers get no challenge, because they would open a password dialog."""
    from_browser = CSRF_HEADER in request.headers or "sec-fetch-mode" in request.headers
    return {} if from_browser else {"WWW-Authenticate": 'Basic realm="shardboard"'}


async def authenticate(request: Request, console: Console) -> Login:
    """Return the identity of a request, from the first credentials that it contains. Raises ApiError if they are invalid."""
    login = await _authenticate_request(request, console)
    audit_middleware.record_authenticated_user(login.principal.username, login.credential_type)
    return login


async def _authenticate_request(request: Request, console: Console) -> Login:
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                try:
                    username, password = audit_middleware.parse_basic_credentials(value)
                except ValueError:
                    raise Unauthorized("unauthorized", "The HTTP Basic credentials are malformed.") from None
                login = await verify_login(console, username, password, source_address_of(request))
                return Login(await _principal(console.store, login.user), password=login.password)
            case "jwt" | "bearer":
                token = value.strip()
                if token.startswith(service_tokens.PREFIX):
                    return await _by_service_token(console.store, token)
                return await _by_token(console.store, token)
        raise Unauthorized("unauthorized", "The authorization scheme is not supported. Use Basic, JWT or Bearer.")
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        raise Unauthorized("unauthorized", "The request has no credentials. Sign in first.")
    if request.method not in trail.SAFE_METHODS and request.headers.get(CSRF_HEADER) != "shardboard":
        # Another site can make a browser send the cookie, but not this header.
        raise Forbidden(
            "missing_header",
            "Requests that change data with the session cookie require the header X-Requested-With: shardboard.",
        )
    return await _by_session(console.store, cookie)


async def try_authenticate(request: Request, console: Console) -> Login | ApiError:
    """Return the result of `authenticate`, or the error as a value."""
    try:
        return await authenticate(request, console)
    except ApiError as refusal:
        return refusal


async def check_new_password(store: Store, password: str, email: str, current_password: str) -> None:
    """Check that the password may replace `before`. Raises ApiError otherwise."""
    async with store.read() as session:
        await user_accounts.check_password(session, password, email)
    if password == current_password:
        raise NotAcceptable("new_password_same_as_current", UNCHANGED_MESSAGE, field="password")


async def hash_new_password(
    store: Store, password: str, email: str, *, rejected_hashes: Sequence[str] = (), salt_of: str | None = None
) -> user_accounts.PasswordHashes:
    """Return the hashes to store for a new password of a user.

    The password must not match one of the hashes in `before`. `beside` is the hash of a password that stays valid. Hashing runs
    under the same concurrency limit as a verification, and in no transaction.
    """
    async with store.read() as session:
        await user_accounts.check_password(session, password, email)
    async with get_login_state(store).verifier.slot(f"for {email}"):
        if rejected_hashes and await passwords.find_matching_hash(password, rejected_hashes) is not None:
            raise NotAcceptable("new_password_same_as_current", UNCHANGED_MESSAGE, field="password")
        password_hash = await passwords.hash_password(password, salt_of)
    return user_accounts.PasswordHashes(password_hash, acl_users.digest(password))


async def verify_login(
    console: Console,
    username: str,
    password: str,
    source: str,
    *,
    code: str | None = None,
    audit: bool = False,
) -> VerifiedUser:
    """Return the user with this password, and check `code` if the user uses two-factor authentication.

    Failures are counted in a separate transaction, because the transaction of the request is rolled back.
    """
    store = console.store
    login, is_new = await _authenticate(console, username, password, source, code=code, bypass_cache=audit)
    if audit:  # a login, with login events in the audit log
        audit_middleware.record_authenticated_user(login.user.email, "password")
    if not (audit or login.user.totp_secret is not None or (is_new and login.has_failed)):
        return login
    async with store.begin() as session:
        if not audit:
            trail.without_audit(session)
        return await record_login(session, login, source, code=code, audit=audit)


async def verify_lasting_login(
    console: Console,
    username: str,
    password: str,
    source: str,
    *,
    code: str | None,
    allow_expired: bool,
    allow_missing_second_factor: bool,
) -> VerifiedUser:
    """Verify credentials like `verify_login`, for a session or token that lasts. The caller has to call `record_login`.

    The code is not used up until then. `allow_expired` accepts an expired password that is about to be replaced.
    `allow_missing_second_factor` accepts missing two-factor authentication that is about to be turned on.
    """
    login, _ = await _authenticate(
        console,
        username,
        password,
        source,
        code=code,
        allow_expired=allow_expired,
        allow_missing_second_factor=allow_missing_second_factor,
        bypass_cache=True,
    )
    audit_middleware.record_authenticated_user(login.user.email, "password")
    return login


async def record_login(
    session: AsyncSession, found: VerifiedUser, source: str, *, code: str | None, audit: bool = True
) -> VerifiedUser:
    """Record a successful login. Raises Unauthorized if a concurrent change has made it invalid."""
    user = await logins.record_success(session, found.user.email, source, code=code, audit=audit)
    if user is None or found.password.hash not in user.password_hashes:
        raise Unauthorized("invalid_credentials", WRONG_CREDENTIALS)
    return VerifiedUser(user, found.password)


async def _authenticate(
    console: Console,
    username: str,
    password: str,
    source: str,
    *,
    code: str | None,
    allow_expired: bool = False,
    allow_missing_second_factor: bool = False,
    bypass_cache: bool,
) -> tuple[VerifiedUser, bool]:
    """Return the verified user, and whether the password was verified now rather than taken from the cache."""
    audit_middleware.record_claimed_user(username)
    # A session or token lasts, so it requires a password that is valid now, not one from the cache.
    user, is_new = await _check_password(console, username, password, source, bypass_cache=bypass_cache)
    if user is None:
        raise await wrong_password(console.store, username, source)
    get_login_state(console.store).password_throttle.clear(username, source)
    if user.user.totp_secret is not None:
        await require_second_factor_code(console.store, user.user, source, code)
    await _check_rules(
        console.store, user, allow_expired=allow_expired, allow_missing_second_factor=allow_missing_second_factor
    )
    return user, is_new


async def require_second_factor_code(store: Store, user: User, source: str, code: str | None) -> None:
    """Check an authentication code without using it up. A wrong code counts as a failed sign-in."""
    if code is None:
        message = (
            f"{user.email} uses two-factor authentication: also send a code from the authenticator app. For programs, use a "
            "service token."
        )
        raise Unauthorized("second_factor_required", message)
    async with store.read() as session:
        must_wait = await logins.are_codes_throttled(session, user)
    if not two_factor.is_code_valid(user, code, recovery_only=must_wait):
        await record_failed_login(store, get_login_state(store), user.email, source, is_counted=True, is_code=True)
        if must_wait:
            message = "Too many wrong codes. Use a recovery code, or try a code of the authenticator app again later."
            raise Unauthorized("wrong_code", message)
        message = "The code is not valid or was used before. Enter the next code that the authenticator app shows."
        raise Unauthorized("wrong_code", message)


async def _check_rules(
    store: Store, found: VerifiedUser, *, allow_expired: bool, allow_missing_second_factor: bool
) -> None:
    async with store.read() as session:
        cluster_row = await cluster.load(session)
    expiry = logins.expiry(found.user, found.password, cluster_row.settings)
    if not allow_expired and expiry is not None and expiry <= datetime.now(UTC):
        message = f"The password of {found.user.email} expired on {expiry:%Y-%m-%d}. Set a new one when you sign in."
        raise Unauthorized("password_expired", message)
    if not allow_missing_second_factor:
        require_second_factor(found.user, cluster_row)


def require_second_factor(user: User, cluster_row: Cluster) -> None:
    """Check that the user uses two-factor authentication if the policy requires one."""
    if logins.lacks_second_factor(user, cluster_row.rules):
        message = (
            f"{user.email} must use two-factor authentication. Turn it on when you sign in. For programs, use a service "
            "token."
        )
        raise Unauthorized("second_factor_missing", message)


async def match_password(console: Console, username: str, password: str, source: str) -> Password | None:
    """Return which of the user's passwords this is. A wrong one counts as a failed sign-in; a correct one resets no counters."""
    user, _ = await _check_password(console, username, password, source, bypass_cache=False)
    return user.password if user is not None else None


async def _check_password(
    console: Console, username: str, password: str, source: str, *, bypass_cache: bool
) -> tuple[VerifiedUser | None, bool]:
    """Verify a password.

    Returns the verified user, and whether the password was verified now rather than taken from the cache. `bypass_cache` bypasses
    the cache of passwords that a directory has confirmed.
    """
    store, login_state = console.store, get_login_state(console.store)
    async with store.read() as session:
        candidate = await logins.find_candidate(session, username, source)
    if candidate is None:
        directory_result = await ldap_login.verify_directory_login(
            console, username, password, source, bypass_cache=bypass_cache
        )
        if directory_result is not None:
            return directory_result
    cached = _cached(login_state, candidate, username, password)
    if cached is not None:
        return cached, False
    attempt = (username, password, source_of(source))
    return await login_state.verifier.share_concurrent(
        attempt, lambda: _verify(store, login_state, username, password, source)
    ), True


def _cached(
    login_state: LoginState, candidate: logins.LoginCandidate | None, username: str, password: str
) -> VerifiedUser | None:
    if candidate is None:
        return None
    stored_passwords = candidate.user.passwords
    cached = next(
        (each for each in stored_passwords if login_state.verifier.is_cached(username, password, each.hash)), None
    )
    return VerifiedUser(candidate.user, cached, candidate.has_failed) if cached is not None else None


async def _verify(
    store: Store, login_state: LoginState, username: str, password: str, source: str
) -> VerifiedUser | None:
    async with login_state.verifier.slot(source_of(source)):
        # Read again: while this attempt was queued, other attempts may have exceeded the limit of failures.
        async with store.read() as session:
            candidate = await logins.find_candidate(session, username, source)
        matching_hash = await passwords.find_matching_hash(
            password, candidate.user.password_hashes if candidate else ()
        )
        if candidate is None or matching_hash is None:
            await record_failed_login(store, login_state, username, source, is_counted=candidate is not None)
            return None
    login_state.verifier.cache_success(username, password, matching_hash)
    stored_password = next(each for each in candidate.user.passwords if each.hash == matching_hash)
    if stored_password.data_hash is None:
        await _store_data_hash(store, candidate.user, password, matching_hash)
    return VerifiedUser(candidate.user, stored_password, candidate.has_failed)


async def _store_data_hash(store: Store, verified: User, password: str, password_hash: str) -> None:
    """Store the hash for databases. Passwords of earlier releases do not have one."""
    async with store.begin() as session:
        trail.without_audit(session)
        await user_accounts.save_data_hash(session, verified.uid, password_hash, acl_users.digest(password))


async def _by_token(store: Store, token: str) -> Login:
    async with store.read() as session:
        cluster_row = await cluster.load(session)
        secret = cluster_row.jwt_secret
        claims = tokens.read(secret, token)
        user = await users.by_email(session, claims.username)
        principal = await _principal_of(session, user) if user is not None else None
    valid = {tokens.password_fingerprint(secret, each) for each in user.passwords} if user is not None else set()
    if principal is None or claims.password_fingerprint not in valid:
        raise Unauthorized("token_expired", "The token is no longer valid. Sign in again.")
    if user is not None:
        require_second_factor(user, cluster_row)
    return Login(principal, claims)


async def _principal(store: Store, user: User) -> Principal:
    if user.role_uid is None:
        return Principal(user.email, user.role)
    async with store.read() as session:
        return await _principal_of(session, user)


async def _principal_of(session: AsyncSession, user: User) -> Principal:
    return await principal_of(session, user.email, user.role, user.role_uid)


async def _by_session(store: Store, cookie: str) -> Login:
    async with store.read() as session:
        session_row = await sessions.get_session(session, cookie)
        require_second_factor(session_row.user, await cluster.load(session))
        principal = await _principal_of(session, session_row.user)
    if session_row.use_needs_recording:
        async with store.begin() as session:
            trail.without_audit(session)
            await sessions.record_use(session, session_row.uid)
    return Login(principal, session_uid=session_row.uid)


async def _by_service_token(store: Store, token: str) -> Login:
    async with store.read() as session:
        principal, is_due = await service_tokens.authenticate(session, token)
    if is_due:
        async with store.begin() as session:
            trail.without_audit(session)
            await service_tokens.record_use(session, token)
    return Login(principal)
