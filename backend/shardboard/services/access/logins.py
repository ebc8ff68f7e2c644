"""Logging in: looking up the account of a username, login throttling, and audit events of logins.

Failures are counted per user and client network, so that an attacker cannot lock a user out from another network. After too many
failures, attempts must wait, each time twice as long. Attempts during the wait get the same response as a wrong password.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.cluster.policy import Policy
from shardboard.net.client_address import source_of
from shardboard.services.access import two_factor
from shardboard.state.access import login_failures, users
from shardboard.state.access.login_failures import LoginFailures
from shardboard.state.access.users import REGULAR, Password, User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

_CODES = "codes"
"""Used in place of a network: wrong authentication codes from all networks. A client that sends codes knows the password."""
_CODES_LIMIT_FACTOR = 4
"""Factor by which the limit for codes from all networks exceeds that of one network."""
_FAR_FUTURE = datetime(9999, 12, 31, tzinfo=UTC)
_MAX_NAME_LENGTH = 254
_MAX_UNKNOWN_NAMES = 10_000
_MAX_FAILURES = 1_000_000
"""Limit of the counter, so that it does not overflow its column where the policy never makes attempts wait."""


@dataclass(frozen=True)
class LoginCandidate:
    """A user whose password may be verified. For clients, None must look the same whether or not the user exists."""

    user: User
    has_failed: bool
    """An attempt from this network has failed recently."""


async def find_candidate(session: AsyncSession, username: str, source: str) -> LoginCandidate | None:
    """Return the user of that name; None if there is none or if attempts from that network must wait."""
    user = await users.by_email(session, username) if is_user_name(username) else None
    if user is None or user.auth_method != REGULAR:  # users without a local password must look as if they did not exist
        return None
    failures = await login_failures.get_failures(session, user.uid, source_of(source))
    return None if _must_wait(failures) else LoginCandidate(user, failures is not None)


async def throttling_state(session: AsyncSession, user: User, source: str) -> tuple[bool, bool]:
    """Return whether attempts for the user from that source must wait, and whether some have failed recently."""
    failures = await login_failures.get_failures(session, user.uid, source_of(source))
    return _must_wait(failures), failures is not None


async def are_codes_throttled(session: AsyncSession, user: User) -> bool:
    """Return whether so many wrong codes came from all networks together that only a recovery code is accepted now."""
    return _must_wait(await login_failures.get_failures(session, user.uid, _CODES))


async def record_failure(
    session: AsyncSession,
    username: str,
    source: str,
    wrong_credential: str,
    *,
    is_counted: bool,
    audit: bool,
    suppressed: int,
    is_code: bool = False,
) -> None:
    """Record a failed login. `wrong` names the wrong credential.

    The failure is counted only if it `counts`, that is, if the credential was verified. `audit` adds an event, which also reports
    the number of `unlisted` earlier failures.
    """
    user = await _for_update(session, username) if is_counted else None
    must_wait = user is not None and await _count_failure(session, user, source_of(source))
    if user is not None and is_code and await _count_failure(session, user, _CODES, _CODES_LIMIT_FACTOR):
        message = (
            f"A client that knows a password of {user.email} is guessing authentication codes, most recently from {source}. "
            "Only recovery codes are accepted for a time that increases with each failure. Change the password."
        )
        events.record(session, "second_factor_guessed", message, source="cluster", severity="ERROR")
    if not (audit or must_wait):
        return
    description = f'Sign-in as "{printable_name(username)}" from {source} failed: wrong {wrong_credential}.'
    if must_wait:
        description += " Further attempts from this network are delayed increasingly."
    if suppressed:
        description += f" {suppressed} more failures since the last recorded one."
    events.record(session, "authentication_err", description, source="cluster", severity="WARNING")


async def record_success(
    session: AsyncSession, username: str, source: str, *, code: str | None = None, audit: bool
) -> User | None:
    """Clear the failures of that network and return the user.

    `audit` records the login (for sessions and tokens, not for each call). A user with two-factor authentication needs a
    `code`, which cannot be used again. Return None if the code was used concurrently or the user was deleted.
    """
    if audit:
        await cluster.mark_created(session)  # before the user: changes of users lock the cluster first
    user = await _for_update(session, username)
    if user is None or (user.totp_secret is not None and not two_factor.consume_code(user, code or "")):
        return None
    for network in (source_of(source), *([_CODES] if code is not None else [])):
        failures = await login_failures.get_failures(session, user.uid, network)
        if failures is not None:
            await session.delete(failures)
    if audit:
        user.last_login = datetime.now(UTC)
        events.record(
            session,
            "login",
            f"Sign-in succeeded ({user.email}, from {source}).",
            source="cluster",
            originator=user.email,
        )
    return user


def password_set_at(user: User, password: Password) -> datetime:
    """Return when the password was set, or when the user was created if that was not stored."""
    return datetime.fromtimestamp(password.issued, UTC) if password.issued else user.created_at


def expiry(user: User, password: Password, rules: ClusterSettings) -> datetime | None:
    """Return when the password expires by the cluster's settings; None if it does not expire."""
    days = rules.password_expiration_duration if user.auth_method == REGULAR else 0
    return password_set_at(user, password) + timedelta(days=days) if days else None


def last_expiry(user: User, rules: ClusterSettings) -> datetime | None:
    """Return when the last of the user's passwords expires; None if no password expires."""
    each = [expiry(user, password, rules) for password in user.passwords]
    return max((expiry_time for expiry_time in each if expiry_time is not None), default=None)


def lacks_second_factor(user: User, rules: Policy) -> bool:
    """Return whether the cluster's policy requires two-factor authentication that the user does not use."""
    return rules.second_factor_required and user.auth_method == REGULAR and user.totp_secret is None


async def locked_user_uids(session: AsyncSession) -> Collection[int]:
    """Return the uids of users for whom attempts from some network must wait."""
    return await login_failures.locked_user_uids(session, datetime.now(UTC))


class UserStatus(StrEnum):
    """Status of a user (REST reference 3.4)."""

    ACTIVE = "active"
    LOCKED = "locked"
    PASSWORD_EXPIRED = "password_expired"  # noqa: S105 - a status


@dataclass(frozen=True)
class LoginStatus:
    """Login status of users at one point in time."""

    locked: Collection[int]
    rules: ClusterSettings

    def status(self, user: User) -> "UserStatus":
        """Return the status as the REST reference defines it: active, locked, or password_expired."""
        if user.uid in self.locked:
            return UserStatus.LOCKED
        expires = last_expiry(user, self.rules)
        is_expired = expires is not None and expires <= datetime.now(UTC)
        return UserStatus.PASSWORD_EXPIRED if is_expired else UserStatus.ACTIVE


async def load_login_status(session: AsyncSession) -> LoginStatus:
    return LoginStatus(await locked_user_uids(session), (await cluster.load(session)).settings)


class AuditRateLimit:
    """Rate limit for audit events of failed logins: a burst is recorded individually, then one per interval with a count."""

    def __init__(self, burst: int = 20, every_seconds: float = 30.0) -> None:
        self._burst = burst
        self._every_seconds = every_seconds
        self._left = float(burst)
        self._at = time.monotonic()
        self.suppressed = 0

    def try_record(self) -> tuple[bool, int]:
        """Return whether this failure is recorded, and how many before it were not."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) / self._every_seconds)
        self._at = now
        if self._left < 1:
            self.suppressed += 1
            return False, 0
        self._left -= 1
        suppressed, self.suppressed = self.suppressed, 0
        return True, suppressed


async def _for_update(session: AsyncSession, username: str) -> User | None:
    """Return the user with a row lock, under which failures are counted."""
    user = await users.by_email(session, username) if is_user_name(username) else None
    if user is not None:
        await session.refresh(user, with_for_update=True)
    return user


def _must_wait(failures: LoginFailures | None) -> bool:
    return failures is not None and failures.locked_until is not None and failures.locked_until > datetime.now(UTC)


async def _count_failure(session: AsyncSession, user: User, network: str, times: int = 1) -> bool:
    """Return True if attempts must wait from this failure on. `times` multiplies the limit."""
    rules = (await cluster.load(session)).rules
    now = datetime.now(UTC)
    await login_failures.clear_old(session, user.uid, now - timedelta(seconds=rules.login_lockout_counter_reset_after))
    failures = await login_failures.get_failures(session, user.uid, network)
    if failures is None:
        failures = LoginFailures(user_uid=user.uid, network=network, count=0)
        session.add(failures)
    failures.count = min(failures.count + 1, _MAX_FAILURES)
    failures.last_at = now
    failures.locked_until = _locked_until(failures.count, rules, now, times) or failures.locked_until
    return failures.count == rules.login_lockout_threshold * times


def _locked_until(count: int, rules: Policy, now: datetime, times: int = 1) -> datetime | None:
    """Return until when attempts must wait after that many failures; None if they need not wait."""
    excess = count - rules.login_lockout_threshold * times
    if not rules.login_lockout_threshold or excess < 0:
        return None
    longest = rules.login_lockout_duration
    return now + timedelta(seconds=min(2 ** min(excess, 30), longest)) if longest else _FAR_FUTURE


class UnknownUserThrottle:
    """Throttling of names that no user has, but that a directory may know, so that the directory is not queried without limit.

    Failures are in memory only and cannot be unlocked, so no wait is longer than failures count.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], _Failures] = OrderedDict()

    def is_throttled(self, username: str, source: str) -> bool:
        failed_login = self._kept.get(self._key(username, source))
        return failed_login is not None and failed_login.until is not None and failed_login.until > datetime.now(UTC)

    def record_attempt(self, username: str, source: str, rules: Policy) -> int | None:
        """Record a failed attempt, unless attempts must wait already. Return the seconds to wait before the next one, if any."""
        if not self.is_throttled(username, source):
            self.record_failure(username, source, rules)
        until = self._kept[self._key(username, source)].until
        return None if until is None else max(1, math.ceil((until - datetime.now(UTC)).total_seconds()))

    def record_failure(self, username: str, source: str, rules: Policy) -> None:
        now, key = datetime.now(UTC), self._key(username, source)
        previous = self._kept.pop(key, None)
        reset_after = timedelta(seconds=rules.login_lockout_counter_reset_after)
        count = 1 if previous is None or previous.at + reset_after < now else min(previous.count + 1, _MAX_FAILURES)
        locked_until = _locked_until(count, rules, now)
        self._kept[key] = _Failures(
            count, now, min(locked_until, now + reset_after) if locked_until is not None else None
        )
        if len(self._kept) > _MAX_UNKNOWN_NAMES:
            self._kept.popitem(last=False)

    def clear(self, username: str, source: str) -> None:
        self._kept.pop(self._key(username, source), None)

    @staticmethod
    def _key(username: str, source: str) -> tuple[str, str]:
        return username.lower(), source_of(source)


@dataclass(frozen=True)
class _Failures:
    count: int
    at: datetime
    until: datetime | None


def is_login_name(username: str) -> bool:
    """Return whether a new user may have the name. HTTP Basic ends a name at a colon, and is reliable for ASCII only."""
    return is_user_name(username) and username.isascii() and ":" not in username


def is_user_name(username: str) -> bool:
    """Return whether the name is printable and of reasonable length. PostgreSQL cannot compare text that contains NUL."""
    return 0 < len(username) <= _MAX_NAME_LENGTH and username.isprintable()


def printable_name(username: str) -> str:
    """Return a name from an unauthenticated client in a form that is safe to log."""
    return "".join(c if c.isprintable() else "?" for c in username[:64])
