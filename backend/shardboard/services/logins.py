"""Logging in: the account behind a user name, the waiting after repeated failures, and the audit events of both.

Failures count for a user and a network, so that nobody keeps a user out from elsewhere. Who has failed too often waits before
the next attempt, each time twice as long; what is sent meanwhile is answered as a wrong password is, right or not.
"""

import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.cluster_settings import ClusterSettings
from shardboard.domain.policy import Policy
from shardboard.origins import place
from shardboard.services import second_factor
from shardboard.state import cluster, events, login_failures, users
from shardboard.state.login_failures import LoginFailures
from shardboard.state.users import REGULAR, Password, User

_CODES = "codes"
"""In place of a network: wrong codes of the second factor from everywhere. Who tries them has the password."""
_CODES_FROM_EVERYWHERE = 4
"""Times as many as from one network."""
_NEVER = datetime(9999, 12, 31, tzinfo=UTC)
_LONGEST_NAME = 254
_MOST_STRANGERS = 10_000
_MOST_FAILURES = 1_000_000
"""Counted on for ever where nobody has to wait, the number would outgrow its column."""


@dataclass(frozen=True)
class Candidate:
    """Whose password may be looked at. None is told apart from a user who does not exist to nobody."""

    user: User
    has_failed: bool
    """From there, lately."""


async def candidate(session: AsyncSession, username: str, source: str) -> Candidate | None:
    """The user of that name, unless there is none or attempts from there have to wait."""
    user = await users.by_email(session, username) if is_user_name(username) else None
    if user is None or user.auth_method != REGULAR:  # who has no password here is told apart from nobody, either
        return None
    failures = await login_failures.of(session, user.uid, place(source))
    return None if _has_to_wait(failures) else Candidate(user, failures is not None)


async def standing_from(session: AsyncSession, user: User, source: str) -> tuple[bool, bool]:
    """Whether attempts for the user from there have to wait, and whether some have failed lately."""
    failures = await login_failures.of(session, user.uid, place(source))
    return _has_to_wait(failures), failures is not None


async def codes_wait(session: AsyncSession, user: User) -> bool:
    """Whether so many wrong codes came, from whichever networks, that only a recovery code counts for the moment."""
    return _has_to_wait(await login_failures.of(session, user.uid, _CODES))


async def failed(
    session: AsyncSession,
    username: str,
    source: str,
    wrong: str,
    *,
    counts: bool,
    audit: bool,
    unlisted: int,
    is_code: bool = False,
) -> None:
    """What was `wrong`; it `counts` if it was looked at. `audit` adds the event, which also tells of `unlisted` earlier ones."""
    user = await _for_update(session, username) if counts else None
    waits = user is not None and await _count_failure(session, user, place(source))
    if user is not None and is_code and await _count_failure(session, user, _CODES, _CODES_FROM_EVERYWHERE):
        told = (
            f"Somebody who knows a password of {user.email} guesses codes of the second factor, the last time from {source}. "
            "For the moment only recovery codes count, each time longer. The password should be changed."
        )
        events.record(session, "second_factor_guessed", told, source="cluster", severity="ERROR")
    if not (audit or waits):
        return
    description = f'Login as "{shown(username)}" from {source} failed: wrong {wrong}.'
    if waits:
        description += " Attempts from there have to wait from now on, each time longer."
    if unlisted:
        description += f" {unlisted} more failures since the last one listed."
    events.record(session, "authentication_err", description, source="cluster", severity="WARNING")


async def succeeded(
    session: AsyncSession, username: str, source: str, *, code: str | None = None, audit: bool
) -> User | None:
    """Forget failures from there; `audit` (sessions and tokens, not every call) notes the login. A user with a second factor
    needs a `code`, which is not valid again. None where somebody else has used it or the user has gone meanwhile."""
    if audit:
        await cluster.mark_created(session)  # before the user: changes of users lock the cluster first
    user = await _for_update(session, username)
    if user is None or (user.totp_secret is not None and not second_factor.use(user, code or "")):
        return None
    for network in (place(source), *([_CODES] if code is not None else [])):
        failures = await login_failures.of(session, user.uid, network)
        if failures is not None:
            await session.delete(failures)
    if audit:
        user.last_login = datetime.now(UTC)
        events.record(
            session, "login", f"Login succeeded ({user.email}, from {source}).", source="cluster", originator=user.email
        )
    return user


def issued(user: User, password: Password) -> datetime:
    """When it was set, as far as that was kept."""
    return datetime.fromtimestamp(password.issued, UTC) if password.issued else user.created_at


def expiry(user: User, password: Password, rules: ClusterSettings) -> datetime | None:
    """When the password expires by the cluster's settings; None: it does not."""
    days = rules.password_expiration_duration if user.auth_method == REGULAR else 0
    return issued(user, password) + timedelta(days=days) if days else None


def last_expiry(user: User, rules: ClusterSettings) -> datetime | None:
    """When the last of the user's passwords expires; None: some do not."""
    each = [expiry(user, password, rules) for password in user.passwords]
    return max((one for one in each if one is not None), default=None)


def lacks_second_factor(user: User, rules: Policy) -> bool:
    """Whether the cluster's policy wants one of the user that there is not."""
    return rules.second_factor_required and user.auth_method == REGULAR and user.totp_secret is None


async def locked(session: AsyncSession) -> Collection[int]:
    """Uids of the users for whom somebody has to wait."""
    return await login_failures.waiting(session, datetime.now(UTC))


@dataclass(frozen=True)
class Standing:
    """Who may log in now."""

    locked: Collection[int]
    rules: ClusterSettings

    def status(self, user: User) -> str:
        """As the REST reference has it."""
        if user.uid in self.locked:
            return "locked"
        expires = last_expiry(user, self.rules)
        return "password_expired" if expires is not None and expires <= datetime.now(UTC) else "active"


async def standing(session: AsyncSession) -> Standing:
    return Standing(await locked(session), (await cluster.load(session)).settings)


class AuditBudget:
    """A flood of failures must not fill the log: a burst is listed singly, then one every so often with a count."""

    def __init__(self, burst: int = 20, every_seconds: float = 30.0) -> None:
        self._burst = burst
        self._every_seconds = every_seconds
        self._left = float(burst)
        self._at = time.monotonic()
        self.unlisted = 0

    def spend(self) -> tuple[bool, int]:
        """Whether this failure is listed, and how many before it were not."""
        now = time.monotonic()
        self._left = min(self._burst, self._left + (now - self._at) / self._every_seconds)
        self._at = now
        if self._left < 1:
            self.unlisted += 1
            return False, 0
        self._left -= 1
        unlisted, self.unlisted = self.unlisted, 0
        return True, unlisted


async def _for_update(session: AsyncSession, username: str) -> User | None:
    """With a lock on the user, behind which failures are counted."""
    user = await users.by_email(session, username) if is_user_name(username) else None
    if user is not None:
        await session.refresh(user, with_for_update=True)
    return user


def _has_to_wait(failures: LoginFailures | None) -> bool:
    return failures is not None and failures.waits_until is not None and failures.waits_until > datetime.now(UTC)


async def _count_failure(session: AsyncSession, user: User, network: str, times: int = 1) -> bool:
    """True when this failure is the first after which attempts have to wait; `times` as many may come before."""
    rules = (await cluster.load(session)).rules
    now = datetime.now(UTC)
    await login_failures.forget_old(session, user.uid, now - timedelta(seconds=rules.login_lockout_counter_reset_after))
    failures = await login_failures.of(session, user.uid, network)
    if failures is None:
        failures = LoginFailures(user_uid=user.uid, network=network, count=0)
        session.add(failures)
    failures.count = min(failures.count + 1, _MOST_FAILURES)
    failures.last_at = now
    failures.waits_until = _waits_until(failures.count, rules, now, times) or failures.waits_until
    return failures.count == rules.login_lockout_threshold * times


def _waits_until(count: int, rules: Policy, now: datetime, times: int = 1) -> datetime | None:
    """After so many failures; None: nobody has to wait."""
    excess = count - rules.login_lockout_threshold * times
    if not rules.login_lockout_threshold or excess < 0:
        return None
    longest = rules.login_lockout_duration
    return now + timedelta(seconds=min(2 ** min(excess, 30), longest)) if longest else _NEVER


class Strangers:
    """Failures of names that no user has, but a directory may: it is not to be tried without end. They are in memory only and
    nobody can unlock them, so nobody waits longer than they count."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], _Tried] = OrderedDict()

    def waits(self, username: str, source: str) -> bool:
        tried = self._kept.get(self._key(username, source))
        return tried is not None and tried.until is not None and tried.until > datetime.now(UTC)

    def failed(self, username: str, source: str, rules: Policy) -> None:
        now, key = datetime.now(UTC), self._key(username, source)
        before = self._kept.pop(key, None)
        forgotten = timedelta(seconds=rules.login_lockout_counter_reset_after)
        count = 1 if before is None or before.at + forgotten < now else min(before.count + 1, _MOST_FAILURES)
        until = _waits_until(count, rules, now)
        self._kept[key] = _Tried(count, now, min(until, now + forgotten) if until is not None else None)
        if len(self._kept) > _MOST_STRANGERS:
            self._kept.popitem(last=False)

    def succeeded(self, username: str, source: str) -> None:
        self._kept.pop(self._key(username, source), None)

    @staticmethod
    def _key(username: str, source: str) -> tuple[str, str]:
        return username.lower(), place(source)


@dataclass(frozen=True)
class _Tried:
    count: int
    at: datetime
    until: datetime | None


def is_login_name(username: str) -> bool:
    """Fit for a new user: HTTP Basic ends a name at a colon, and knows ASCII."""
    return is_user_name(username) and username.isascii() and ":" not in username


def is_user_name(username: str) -> bool:
    """Printable and of a sane length; PostgreSQL cannot even compare text with a NUL in it."""
    return 0 < len(username) <= _LONGEST_NAME and username.isprintable()


def shown(username: str) -> str:
    """A name that somebody typed who is not logged in, made fit for the log."""
    return "".join(c if c.isprintable() else "?" for c in username[:64])
