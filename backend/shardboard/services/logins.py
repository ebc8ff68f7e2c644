"""Logging in: the account behind a user name, the lockout after repeated failures, and the audit events of both."""

import time
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import Unauthorized
from shardboard.services import events
from shardboard.state import cluster, users
from shardboard.state.users import User

_NEVER = datetime(9999, 12, 31, tzinfo=UTC)
_LONGEST_NAME = 254
_MOST_FAILURES = 1_000_000
"""Counted on for ever where nobody is locked, the number would outgrow its column."""
_EVENT_BURST = 20
_EVENT_EVERY_SECONDS = 30.0


async def account(session: AsyncSession, username: str) -> User | None:
    """The user of that name, if any; a locked one is refused before its password is looked at."""
    if not is_user_name(username):
        return None
    user = await users.by_email(session, username)
    if user is not None and is_locked(user):
        raise Unauthorized("login_locked", "This user is locked after too many failed logins; try again later.")
    return user


def is_locked(user: User) -> bool:
    return user.locked_until is not None and user.locked_until > datetime.now(UTC)


async def failed(session: AsyncSession, username: str, origin: str, *, audit: bool, unlisted: int) -> None:
    """Count a wrong password. `audit` adds the event, which also tells of `unlisted` earlier failures."""
    user = await _for_update(session, username)
    locked = user is not None and await _count_failure(session, user)
    if not (audit or locked):
        return
    description = f'Login as "{_shown(username)}" from {origin} failed: wrong user name or password.'
    if locked:
        description += " The user was locked."
    if unlisted:
        description += f" {unlisted} more failures since the last one listed."
    events.record(session, "authentication_err", description, source="cluster", severity="WARNING")


async def succeeded(session: AsyncSession, username: str, origin: str, *, audit: bool) -> User | None:
    """Forget earlier failures; `audit` (sessions and tokens, not every call) notes the login."""
    user = await _for_update(session, username)
    if user is None:
        return None
    user.failed_logins = 0
    user.last_failed_at = None
    user.locked_until = None
    if audit:
        user.last_login = datetime.now(UTC)
        events.record(
            session, "login", f"Login succeeded ({user.email}, from {origin}).", source="cluster", originator=user.email
        )
    return user


class AuditBudget:
    """A flood of failures must not fill the log: a burst is listed singly, then one in thirty seconds with a count."""

    def __init__(self) -> None:
        self._left = float(_EVENT_BURST)
        self._at = time.monotonic()
        self._unlisted = 0

    def spend(self) -> tuple[bool, int]:
        """Whether this failure is listed, and how many before it were not."""
        now = time.monotonic()
        self._left = min(_EVENT_BURST, self._left + (now - self._at) / _EVENT_EVERY_SECONDS)
        self._at = now
        if self._left < 1:
            self._unlisted += 1
            return False, 0
        self._left -= 1
        unlisted, self._unlisted = self._unlisted, 0
        return True, unlisted


async def _for_update(session: AsyncSession, username: str) -> User | None:
    if not is_user_name(username):
        return None
    user = await users.by_email(session, username)
    if user is not None:
        await session.refresh(user, with_for_update=True)
    return user


async def _count_failure(session: AsyncSession, user: User) -> bool:
    """True when this failure locked the user."""
    rules = (await cluster.load(session)).rules
    now = datetime.now(UTC)
    if user.last_failed_at is None or now - user.last_failed_at > timedelta(
        seconds=rules.login_lockout_counter_reset_after
    ):
        user.failed_logins = 0
    user.failed_logins = min(user.failed_logins + 1, _MOST_FAILURES)
    user.last_failed_at = now
    if not rules.login_lockout_threshold or user.failed_logins < rules.login_lockout_threshold:
        return False
    user.failed_logins = 0
    user.locked_until = (
        now + timedelta(seconds=rules.login_lockout_duration) if rules.login_lockout_duration else _NEVER
    )
    return True


def is_user_name(username: str) -> bool:
    """Printable and of a sane length; PostgreSQL cannot even compare text with a NUL in it."""
    return 0 < len(username) <= _LONGEST_NAME and username.isprintable()


def _shown(username: str) -> str:
    """A name that a stranger typed, made fit for the log."""
    return "".join(c if c.isprintable() else "?" for c in username[:64])
