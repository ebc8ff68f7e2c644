"""State of logins in memory (caches, throttles, counters), and recording of failed logins."""

from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.api.http.object_versions import require_match
from shardboard.errors import Unauthorized
from shardboard.services.access import logins, passwords
from shardboard.services.access.concurrency_limiter import ConcurrencyLimiter
from shardboard.state.access import audit as trail
from shardboard.state.access.users import Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster
from shardboard.store.db import Store, roll_back

WRONG_CREDENTIALS = (
    "Wrong username or password. After several failed attempts from your address, wait before you try again."
)
_MAX_ALIASES = 10_000


@dataclass(frozen=True)
class VerifiedUser:
    """User whose password was verified, and the password that matched."""

    user: User
    password: Password
    has_failed: bool = False
    """Whether recent logins from the same source address failed."""


class LoginState:
    """State of logins in memory: caches, throttles and counters."""

    def __init__(self) -> None:
        self.verifier = passwords.Verifier()
        self.audit = logins.AuditRateLimit()
        self.sso = ConcurrencyLimiter(8, 4, 64, 16)
        """Limits exchanges with the single sign-on provider. Many users may share one address."""
        self.sso_audit = logins.AuditRateLimit()
        self.directory = ConcurrencyLimiter(8, 4, 64, 16)
        """Limits queries to the directory, which may take seconds."""
        self.unknown_user_throttle = logins.UnknownUserThrottle()
        self.password_throttle = logins.UnknownUserThrottle()
        """Waits after wrong passwords, for `Retry-After`. It treats existing and unknown names alike, so that it reveals none."""
        self.handover_throttle = logins.UnknownUserThrottle()
        """Throttles networks that send wrong tokens of sessions of other consoles."""
        self.aliases: OrderedDict[str, int] = OrderedDict()
        """Uids of users by other usernames that the directory accepts for them, in lower case."""
        self.open_streams: Counter[str] = Counter()
        """Number of open event streams by username."""

    def add_alias(self, username: str, user: User) -> None:
        if username.lower() != user.email.lower():
            self.aliases[username.lower()] = user.uid
            if len(self.aliases) > _MAX_ALIASES:
                self.aliases.popitem(last=False)


_login_states: WeakKeyDictionary[Store, LoginState] = WeakKeyDictionary()


def get_login_state(store: Store) -> LoginState:
    """Return the gate of this store, which all listeners share."""
    return _login_states.setdefault(store, LoginState())


@asynccontextmanager
async def login_change(
    store: Store, *, dry_run: bool = False, request: Request | None = None
) -> AsyncIterator[AsyncSession]:
    """Open a transaction that can change or end logins. Open logins are checked again after the commit.

    In a dry run, the transaction is rolled back instead. An outdated `If-Match` of `request` is rejected.
    """
    async with store.begin() as session:
        if request is not None:
            await require_match(request, session)
        yield session
        if dry_run:
            await roll_back(session)
            return
    recheck_logins(store)


def recheck_logins(store: Store) -> None:
    """Make open event streams check their logins again, because a user was changed or removed."""
    store.bus.publish("logins")


async def wrong_password(store: Store, username: str, source: str) -> Unauthorized:
    """Record a wrong password in memory. Return the error, with the seconds to wait before the next attempt, if any."""
    async with store.read() as session:
        rules = (await cluster.load(session)).rules
    seconds = get_login_state(store).password_throttle.record_attempt(username, source, rules)
    return Unauthorized("invalid_credentials", WRONG_CREDENTIALS, retry_after=seconds)


async def record_failed_login(
    store: Store, login_state: LoginState, username: str, source: str, *, is_counted: bool, is_code: bool = False
) -> None:
    credential = "authentication code" if is_code else "username or password"
    is_recorded, suppressed = login_state.audit.try_record()
    if is_counted or is_recorded:
        async with store.begin() as session:
            trail.without_audit(session)
            await logins.record_failure(
                session,
                username,
                source,
                credential,
                is_counted=is_counted,
                audit=is_recorded,
                suppressed=suppressed,
                is_code=is_code,
            )


async def record_directory_unavailable(store: Store, login_state: LoginState, reason: str) -> None:
    is_recorded, suppressed = login_state.audit.try_record()
    if is_recorded:
        suffix = f" {suppressed} more failures since the last recorded one." if suppressed else ""
        async with store.begin() as session:
            trail.without_audit(session)
            events.record(session, "authentication_err", reason + suffix, source="cluster", severity="WARNING")
