"""How a request proves who sends it: HTTP Basic, a token in the header, or the browser's session cookie."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api import audited, directory
from shardboard.api.gate import Gate, Verified, gate, note_failure
from shardboard.console import Console
from shardboard.db import Store
from shardboard.errors import ApiError, Forbidden, NotAcceptable, Unauthorized
from shardboard.origins import place
from shardboard.services import logins, passwords, second_factor, service_tokens, sessions, tokens, user_accounts
from shardboard.services.users import Principal, principal_of
from shardboard.state import audit as trail
from shardboard.state import cluster, data_users, users
from shardboard.state.cluster import Cluster
from shardboard.state.users import Password, User

COOKIE = "shardboard_session"
PAGE_HEADER = "x-requested-with"
REFUSAL = "Wrong user name or password; after several of these from your address, wait a while before the next attempt."
SAME = "The new password is the one that you have; choose another one."


@dataclass(frozen=True)
class Login:
    """A proven identity."""

    principal: Principal
    claims: tokens.Claims | None = None
    """Of the token that proved it."""
    session_uid: int | None = None
    """Of the session that proved it."""
    password: Password | None = None
    """That was sent."""

    @property
    def proof(self) -> str:
        """What proved it, for the audit trail."""
        if self.password is not None:
            return "password"
        if self.session_uid is not None:
            return "session"
        return "token" if self.claims is not None else "service token"


def origin(request: Request) -> str:
    """Where a request came from, for the audit events."""
    return audited.origin(request.scope)


def set_cookie(response: Response, value: str, max_age: int) -> None:
    """Set the session cookie: scripts cannot read it, and other sites cannot send it.

    It is always `Secure`, because a reverse proxy that ends TLS need not say so. Browsers accept such cookies from
    http://localhost, too.
    """
    response.set_cookie(COOKIE, value, max_age=max_age, secure=True, httponly=True, samesite="strict")


def same(given: str, kept: str) -> bool:
    """In a time that tells nothing."""
    return hmac.compare_digest(given.encode(), kept.encode())


def challenge(request: Request) -> dict[str, str]:
    """Headers of a 401 reply. Only scripts are asked for a password this way: in a browser it would pop up a dialog."""
    from_browser = PAGE_HEADER in request.headers or "sec-fetch-mode" in request.headers
    return {} if from_browser else {"WWW-Authenticate": 'Basic realm="shardboard"'}


async def prove(request: Request, console: Console) -> Login:
    """The identity behind a request, by the first credentials it carries; raises what is wrong with them."""
    login = await _prove(request, console)
    audited.proven(login.principal.username, login.proof)
    return login


async def _prove(request: Request, console: Console) -> Login:
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, value = authorization.partition(" ")
        match scheme.lower():
            case "basic":
                try:
                    username, password = audited.split_basic(value)
                except ValueError:
                    raise Unauthorized("unauthorized", "The Basic credentials cannot be read.") from None
                found = await log_in(console, username, password, origin(request))
                return Login(await _principal(console.store, found.user), password=found.password)
            case "jwt" | "bearer":
                token = value.strip()
                if token.startswith(service_tokens.PREFIX):
                    return await _by_service_token(console.store, token)
                return await _by_token(console.store, token)
        raise Unauthorized("unauthorized", "This authorization scheme is unknown; use Basic, JWT or Bearer.")
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        raise Unauthorized("unauthorized", "Log in first: no credentials were sent.")
    if request.method not in trail.SAFE_METHODS and request.headers.get(PAGE_HEADER) != "shardboard":
        # Another site can make a browser send its cookie, but not this header.
        raise Forbidden(
            "missing_header", "Changes made with the session cookie need the header X-Requested-With: shardboard."
        )
    return await _by_session(console.store, cookie)


async def try_prove(request: Request, console: Console) -> Login | ApiError:
    """As `prove`, with the refusal as a value."""
    try:
        return await prove(request, console)
    except ApiError as refusal:
        return refusal


async def insist_on_password(store: Store, password: str, email: str, before: str) -> None:
    """That it may take the place of `before`; raises why not."""
    async with store.read() as session:
        await user_accounts.insist_on_password(session, password, email)
    if password == before:
        raise NotAcceptable("new_password_same_as_current", SAME, field="password")


async def new_password(
    store: Store, password: str, email: str, *, before: Sequence[str] = (), beside: str | None = None
) -> user_accounts.NewPassword:
    """What is kept of a password for that user, which must be another one than those that `before` are the hashes of, and stays
    beside the one of the hash `beside`. Like a verification, one of few at a time and in no transaction."""
    async with store.read() as session:
        await user_accounts.insist_on_password(session, password, email)
    async with gate(store).verifier.turn(f"for {email}"):
        if before and await passwords.matching(password, before) is not None:
            raise NotAcceptable("new_password_same_as_current", SAME, field="password")
        kept = await passwords.hashed(password, beside)
    return user_accounts.NewPassword(kept, data_users.digest(password))


async def log_in(
    console: Console,
    username: str,
    password: str,
    source: str,
    *,
    code: str | None = None,
    audit: bool = False,
) -> Verified:
    """The user whose password this is, and whose second factor `code` is, where there is one. Counts failures in its own
    transaction, for the request's is rolled back."""
    store = console.store
    found, is_new = await _verified(console, username, password, source, code=code, anew=audit)
    if audit:  # it logs in, and its events are noted as such
        audited.proven(found.user.email, "password")
    if not (audit or found.user.totp_secret is not None or (is_new and found.has_failed)):
        return found
    async with store.begin() as session:
        if not audit:
            trail.aside(session)
        return await note_login(session, found, source, code=code, audit=audit)


async def verified(
    console: Console, username: str, password: str, source: str, *, code: str | None, renewing: bool, enrolling: bool
) -> Verified:
    """As `log_in`, for what lasts; `note_login` is to follow, until which the code is not used up. An expired password may be
    about to be replaced (`renewing`), and a second factor that is wanted to be switched on (`enrolling`)."""
    found, _ = await _verified(
        console, username, password, source, code=code, renewing=renewing, enrolling=enrolling, anew=True
    )
    audited.proven(found.user.email, "password")
    return found


async def note_login(
    session: AsyncSession, found: Verified, source: str, *, code: str | None, audit: bool = True
) -> Verified:
    """The login has succeeded; raises when it has not after all, because of what happened at the same time."""
    user = await logins.succeeded(session, found.user.email, source, code=code, audit=audit)
    if user is None or found.password.hash not in user.password_hashes:
        raise Unauthorized("invalid_credentials", REFUSAL)
    return Verified(user, found.password)


async def _verified(
    console: Console,
    username: str,
    password: str,
    source: str,
    *,
    code: str | None,
    renewing: bool = False,
    enrolling: bool = False,
    anew: bool,
) -> tuple[Verified, bool]:
    """Who it is, and whether that was looked at now."""
    audited.claimed(username)
    # What begins with it lasts: it begins with a password that holds now.
    found, is_new = await _look(console, username, password, source, anew=anew)
    if found is None:
        raise Unauthorized("invalid_credentials", REFUSAL)
    if found.user.totp_secret is not None:
        await insist_on_code(console.store, found.user, source, code)
    await _insist_on_rules(console.store, found, renewing=renewing, enrolling=enrolling)
    return found, is_new


async def insist_on_code(store: Store, user: User, source: str, code: str | None) -> None:
    """That it would be accepted now; wrong ones count as failed logins do."""
    if code is None:
        sentence = f"{user.email} logs in with a second factor: send the app's code, too. Programs use a service token instead."
        raise Unauthorized("second_factor_required", sentence)
    async with store.read() as session:
        waits = await logins.codes_wait(session, user)
    if not second_factor.accepts(user, code, recovery_only=waits):
        await note_failure(store, gate(store), user.email, source, counts=True, is_code=True)
        if waits:
            sentence = (
                "Many wrong codes were tried: for the moment only a recovery code counts. Try the app's again later."
            )
            raise Unauthorized("wrong_code", sentence)
        sentence = "This is not a valid code, or it was used before; type the next one that the app shows."
        raise Unauthorized("wrong_code", sentence)


async def _insist_on_rules(store: Store, found: Verified, *, renewing: bool, enrolling: bool) -> None:
    async with store.read() as session:
        here = await cluster.load(session)
    expiry = logins.expiry(found.user, found.password, here.settings)
    if not renewing and expiry is not None and expiry <= datetime.now(UTC):
        sentence = f"The password of {found.user.email} expired on {expiry:%Y-%m-%d}; set a new one as you sign in."
        raise Unauthorized("password_expired", sentence)
    if not enrolling:
        insist_on_second_factor(found.user, here)


def insist_on_second_factor(user: User, here: Cluster) -> None:
    """That there is one, where the policy wants it."""
    if logins.lacks_second_factor(user, here.rules):
        sentence = (
            f"{user.email} needs a second factor here: switch it on as you sign in. Programs use a service token."
        )
        raise Unauthorized("second_factor_missing", sentence)


async def password_of(console: Console, username: str, password: str, source: str) -> Password | None:
    """Which of the user's it is. A wrong one counts as a failed login; a right one logs nobody in, and forgets no failures."""
    found, _ = await _look(console, username, password, source, anew=False)
    return found.password if found is not None else None


async def _look(
    console: Console, username: str, password: str, source: str, *, anew: bool
) -> tuple[Verified | None, bool]:
    """Whose password it is, and whether that was looked at now; a directory is asked `anew`, if that is wanted."""
    store, keeper = console.store, gate(console.store)
    async with store.read() as session:
        candidate = await logins.candidate(session, username, source)
    if candidate is None:
        elsewhere = await directory.log_in(console, username, password, source, anew=anew)
        if elsewhere is not None:
            return elsewhere
    found = _remembered(keeper, candidate, username, password)
    if found is not None:
        return found, False
    attempt = (username, password, place(source))
    return await keeper.verifier.once(attempt, lambda: _verify(store, keeper, username, password, source)), True


def _remembered(keeper: Gate, candidate: logins.Candidate | None, username: str, password: str) -> Verified | None:
    if candidate is None:
        return None
    kept = candidate.user.passwords
    known = next((each for each in kept if keeper.verifier.remembers(username, password, each.hash)), None)
    return Verified(candidate.user, known, candidate.has_failed) if known is not None else None


async def _verify(store: Store, keeper: Gate, username: str, password: str, source: str) -> Verified | None:
    async with keeper.verifier.turn(place(source)):
        # Read again: while this attempt waited for its turn, others may have failed too often.
        async with store.read() as session:
            found = await logins.candidate(session, username, source)
        matched = await passwords.matching(password, found.user.password_hashes if found else ())
        if found is None or matched is None:
            await note_failure(store, keeper, username, source, counts=found is not None)
            return None
    keeper.verifier.remember(username, password, matched)
    kept = next(each for each in found.user.passwords if each.hash == matched)
    if kept.data_hash is None:
        await _note_data_hash(store, found.user, password, matched)
    return Verified(found.user, kept, found.has_failed)


async def _note_data_hash(store: Store, verified: User, password: str, password_hash: str) -> None:
    """A database may have let the user at its data since the password was set."""
    async with store.read() as session:
        if not await data_users.is_wanted(session, verified):
            return
    async with store.begin() as session:
        trail.aside(session)
        await user_accounts.note_data_hash(session, verified.uid, password_hash, data_users.digest(password))


async def _by_token(store: Store, token: str) -> Login:
    async with store.read() as session:
        here = await cluster.load(session)
        secret = here.jwt_secret
        claims = tokens.read(secret, token)
        user = await users.by_email(session, claims.username)
        principal = await _who(session, user) if user is not None else None
    marks = {tokens.password_mark(secret, each) for each in user.passwords} if user is not None else set()
    if principal is None or claims.password_mark not in marks:
        raise Unauthorized("token_expired", "The login has ended; log in again.")
    if user is not None:
        insist_on_second_factor(user, here)
    return Login(principal, claims)


async def _principal(store: Store, user: User) -> Principal:
    if user.role_uid is None:
        return Principal(user.email, user.role)
    async with store.read() as session:
        return await _who(session, user)


async def _who(session: AsyncSession, user: User) -> Principal:
    return await principal_of(session, user.email, user.role, user.role_uid)


async def _by_session(store: Store, cookie: str) -> Login:
    async with store.read() as session:
        found = await sessions.find(session, cookie)
        insist_on_second_factor(found.user, await cluster.load(session))
        principal = await _who(session, found.user)
    if found.is_due:
        async with store.begin() as session:
            trail.aside(session)
            await sessions.note_use(session, found.uid)
    return Login(principal, session_uid=found.uid)


async def _by_service_token(store: Store, token: str) -> Login:
    async with store.read() as session:
        principal, is_due = await service_tokens.who(session, token)
    if is_due:
        async with store.begin() as session:
            trail.aside(session)
            await service_tokens.note_use(session, token)
    return Login(principal)
