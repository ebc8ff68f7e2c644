"""Sessions: what a browser is given when somebody logs in, and its end.

A session ends with its twelve hours, when it was not used for as long as the cluster's settings allow, by logging out, when its
user or somebody who may change the user ends it, and with the password that it was begun with.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import NotFound, Unauthorized
from shardboard.services import passwords, tokens
from shardboard.services.users import Principal, insist_on_power, one
from shardboard.state import cluster, events, sessions
from shardboard.state.cluster import Cluster
from shardboard.state.sessions import LoginSession
from shardboard.state.users import Password, User

SECONDS = 12 * 3600
MOST = 50
"""Of one user; one more ends the oldest."""
_SEEN_EVERY = timedelta(minutes=1)
_LONGEST_BROWSER = 200


@dataclass(frozen=True)
class Found:
    """A session that holds."""

    uid: int
    user: User
    is_due: bool
    """That it is used is to be noted."""


async def begin(session: AsyncSession, user: User, password: Password, address: str, browser: str) -> str:
    """A new session; what the cookie holds."""
    now, token = datetime.now(UTC), secrets.token_urlsafe(32)
    await sessions.forget_expired(session, now)
    for surplus in (await sessions.of_user(session, user.uid))[MOST - 1 :]:
        await session.delete(surplus)
    session.add(
        LoginSession(
            user_uid=user.uid,
            token_hash=passwords.digest(token),
            password_mark=tokens.password_mark((await cluster.load(session)).jwt_secret, password),
            address=address,
            browser="".join(c if c.isprintable() else "?" for c in browser[:_LONGEST_BROWSER]),
            created_at=now,
            last_seen_at=now,
            expires_at=now + timedelta(seconds=SECONDS),
        )
    )
    await session.flush()
    return token


async def find(session: AsyncSession, token: str) -> Found:
    """The session that a cookie belongs to; raises why it does not hold."""
    row, now = await sessions.by_hash(session, passwords.digest(token)), datetime.now(UTC)
    if row is None:
        raise Unauthorized("token_expired", "The login has ended; log in again.")
    user = await session.get(User, row.user_uid)
    if user is None or not _holds(row, user, await cluster.load(session), now):
        raise Unauthorized("token_expired", "The login has expired; log in again.")
    return Found(row.uid, user, now - row.last_seen_at >= _SEEN_EVERY)


async def note_use(session: AsyncSession, uid: int) -> None:
    row = await session.get(LoginSession, uid)
    if row is not None:
        row.last_seen_at = datetime.now(UTC)


async def keep(session: AsyncSession, uid: int | None, user: User) -> None:
    """Have the session go on with the user's new password, if it is one of that user: whoever changes his own stays logged in."""
    row = await session.get(LoginSession, uid) if uid is not None else None
    if row is not None and row.user_uid == user.uid:
        row.password_mark = tokens.password_mark((await cluster.load(session)).jwt_secret, user.passwords[0])


async def log_out(session: AsyncSession, uid: int, by: Principal) -> None:
    row = await session.get(LoginSession, uid)
    if row is not None:
        await session.delete(row)
    events.record(session, "logout", f"{by.username} logged out.", originator=by.username)


async def of_user(session: AsyncSession, user_uid: int, by: Principal) -> Sequence[LoginSession]:
    """Those that hold, the last begun first: one's own, or those of users whom one may change."""
    user = await _of_whom(session, user_uid, by)
    here, now = await cluster.load(session), datetime.now(UTC)
    return [row for row in await sessions.of_user(session, user.uid) if _holds(row, user, here, now)]


async def end(session: AsyncSession, user_uid: int, uid: int, by: Principal) -> None:
    """One of them, from now on, wherever its cookie is."""
    user = await _of_whom(session, user_uid, by)
    # Beyond 32 bits PostgreSQL refuses the comparison itself.
    row = await session.get(LoginSession, uid) if 0 < uid < 2**31 else None
    if row is None or row.user_uid != user.uid:
        raise NotFound("session_not_exist", f"{user.email} has no session {uid}; it may have ended.")
    await session.delete(row)
    events.record(
        session, "session_ended", f"A session of {user.email} from {row.address} was ended.", originator=by.username
    )


async def end_others(session: AsyncSession, user_uid: int, but: int | None, by: Principal) -> int:
    """All of a user but this one; how many there were."""
    user = await _of_whom(session, user_uid, by)
    ending = [row for row in await sessions.of_user(session, user.uid) if row.uid != but]
    for row in ending:
        await session.delete(row)
    if ending:
        events.record(
            session, "session_ended", f"Sessions of {user.email} were ended: {len(ending)}.", originator=by.username
        )
    return len(ending)


async def _of_whom(session: AsyncSession, user_uid: int, by: Principal) -> User:
    user = await one(session, user_uid)
    if user.email != by.username:
        insist_on_power(by, user.role)
    return user


def _holds(row: LoginSession, user: User, here: Cluster, now: datetime) -> bool:
    # The use is noted once a minute, so a minute more than the settings say may have passed.
    unused = timedelta(minutes=here.settings.cm_session_timeout_minutes) + _SEEN_EVERY
    marks = {tokens.password_mark(here.jwt_secret, each) for each in user.passwords}
    return now < row.expires_at and now - row.last_seen_at < unused and row.password_mark in marks
