"""Sign-in of a program on a machine without a browser, as in RFC 8628.

The program gets a secret code, with which only it can fetch the token, and a short code. The user signs in to the web UI in any
browser, enters the short code, and compares the machine before confirming. The token is created when the program fetches it. It
belongs to the user: it ends with the user, with the password of the confirming session, and when the user's role changes.
"""

import secrets
import string
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.errors import NotFound, Unavailable
from shardboard.net.client_address import source_of
from shardboard.services.access import passwords, service_tokens
from shardboard.services.access.sessions import valid_user
from shardboard.state.access import device_logins
from shardboard.state.access.device_logins import DeviceCodeFailures, DeviceLogin
from shardboard.state.access.service_tokens import ServiceToken
from shardboard.state.access.sessions import LoginSession
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster

LIFETIME_SECONDS = 600
POLL_SECONDS = 5
CODE_ALPHABET = "".join(sorted(set(string.ascii_uppercase) - set("AEIOUY")))
"""Letters of short codes. Without vowels, they are no words."""
CODE_LENGTH = 8
MAX_WAITING = 200
MAX_WAITING_OF_SOURCE = 10
MAX_WRONG_CODES = 10
"""Maximum number of wrong short codes of one user within the lifetime of a code."""


class DeviceLoginStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"


@dataclass(frozen=True)
class DeviceToken:
    """State of a sign-in for its program; with the token after the confirmation."""

    status: DeviceLoginStatus
    token: str | None = None
    row: ServiceToken | None = None


async def require_capacity(session: AsyncSession, address: str) -> None:
    """Raise Unavailable if too many sign-ins wait, in total or from a source."""
    waiting = await device_logins.addresses(session, datetime.now(UTC))
    of_source = [each for each in waiting if source_of(each) == source_of(address)]
    if len(waiting) >= MAX_WAITING or len(of_source) >= MAX_WAITING_OF_SOURCE:
        message = "Too many sign-ins wait for a confirmation. Confirm or deny them, or try again in some minutes."
        raise Unavailable("too_many_device_logins", message, retry_after=LIFETIME_SECONDS)


async def start(
    session: AsyncSession, name: str, username: str | None, token_seconds: int, address: str
) -> tuple[str, str]:
    """Store a sign-in. Return the secret code and the short code. Raises Unavailable if too many sign-ins wait."""
    now = datetime.now(UTC)
    await require_capacity(session, address)
    await device_logins.delete_expired(session, now)
    device_code = secrets.token_urlsafe(32)
    user_code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_LENGTH))
    session.add(
        DeviceLogin(
            device_hash=passwords.digest(device_code),
            code_hash=passwords.digest(user_code),
            name=name,
            username=username,
            token_seconds=token_seconds,
            address=address,
            created_at=now,
            expires_at=now + timedelta(seconds=LIFETIME_SECONDS),
            is_denied=False,
        )
    )
    return device_code, f"{user_code[:4]}-{user_code[4:]}"


async def find(session: AsyncSession, user: User, user_code: str) -> DeviceLogin | None:
    """Return the sign-in that waits for a confirmation with this short code. The caller has to commit: wrong codes are counted.

    Raises Unavailable after too many wrong codes.
    """
    now = datetime.now(UTC)
    failures = await session.get(DeviceCodeFailures, user.uid, with_for_update=True)
    if failures is not None and failures.since + timedelta(seconds=LIFETIME_SECONDS) <= now:
        await session.delete(failures)
        await session.flush()
        failures = None
    if failures is not None and failures.count >= MAX_WRONG_CODES:
        remaining = failures.since + timedelta(seconds=LIFETIME_SECONDS) - now
        message = "You entered too many codes that are not valid. Try again in some minutes."
        raise Unavailable("too_many_codes", message, retry_after=max(1, int(remaining.total_seconds())))
    code = "".join(each for each in user_code.upper() if each in CODE_ALPHABET)
    row = await device_logins.by_code(session, passwords.digest(code))
    is_for_others = row is not None and row.username is not None and row.username.lower() != user.email.lower()
    if row is None or row.expires_at <= now or row.is_denied or row.session_uid is not None or is_for_others:
        if failures is None:
            session.add(DeviceCodeFailures(user_uid=user.uid, count=1, since=now))
        else:
            failures.count += 1
        return None
    return row


def decide(session: AsyncSession, row: DeviceLogin, user: User, session_uid: int, *, is_approved: bool) -> None:
    """Confirm or deny a sign-in that `find` has returned."""
    if is_approved:
        row.session_uid = session_uid
    else:
        row.is_denied = True
    events.record(
        session,
        "device_login_confirmed" if is_approved else "device_login_denied",
        f"{user.email} {'confirmed' if is_approved else 'denied'} the sign-in of the program on {row.name} ({row.address}).",
        originator=user.email,
    )


async def status_of(session: AsyncSession, device_code: str) -> DeviceLoginStatus:
    """Return the state of a sign-in. Raises NotFound if it is unknown, used up, or expired."""
    row = await session.get(DeviceLogin, passwords.digest(device_code))
    return _status(_require_valid(row))


async def redeem(session: AsyncSession, device_code: str) -> DeviceToken:
    """Use up a confirmed or denied sign-in, and return its token. Raises NotFound."""
    await cluster.load_for_update(session)
    row = _require_valid(await device_logins.by_device(session, passwords.digest(device_code)))
    status = _status(row)
    if status is DeviceLoginStatus.PENDING:
        return DeviceToken(status)
    await session.delete(row)
    if status is DeviceLoginStatus.DENIED:
        return DeviceToken(status)
    login = await session.get(LoginSession, row.session_uid)
    user = await valid_user(session, login, datetime.now(UTC)) if login is not None else None
    if login is None or user is None:
        return DeviceToken(DeviceLoginStatus.DENIED)
    created, token = await service_tokens.create_for_user(
        session, user, login.password_fingerprint, row.name, row.token_seconds
    )
    return DeviceToken(status, token, created)


def _require_valid(row: DeviceLogin | None) -> DeviceLogin:
    if row is None or row.expires_at <= datetime.now(UTC):
        raise NotFound("device_login_not_exist", "The sign-in has expired or was completed. Start it again.")
    return row


def _status(row: DeviceLogin) -> DeviceLoginStatus:
    if row.is_denied:
        return DeviceLoginStatus.DENIED
    return DeviceLoginStatus.PENDING if row.session_uid is None else DeviceLoginStatus.APPROVED
