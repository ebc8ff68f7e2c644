"""Users: the first administrator, and who may do what."""

import logging
import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.errors import Forbidden, NotAcceptable, NotFound
from shardboard.schemas.bootstrap import is_host_name
from shardboard.services import logins, passwords, second_factor
from shardboard.settings import Settings
from shardboard.state import access, audit, cluster, events, login_failures, users
from shardboard.state.cluster import Cluster
from shardboard.state.events import LOOP_FAILED, Event
from shardboard.state.users import REGULAR, Password, User

log = logging.getLogger(__name__)

ADMINS = frozenset({"admin"})
USER_ADMINS = ADMINS | {"user_manager"}
EDITORS = ADMINS | {"cluster_member", "db_member"}
VIEWERS = EDITORS | USER_ADMINS | {"cluster_viewer", "db_viewer"}
LOG_VIEWERS = VIEWERS - {"db_viewer"}
DEBUGGERS = ADMINS | {"cluster_member"}
"""Management roles of the REST reference (2.8); `none` may do nothing here."""


@dataclass(frozen=True)
class Principal:
    """Who sent a request."""

    username: str
    role: str
    bdbs: frozenset[int] | None = None
    """Uids of the databases that the role reaches; None: all, and the cluster as a whole."""

    def reaches(self, bdb_uid: int | None) -> bool:
        """None is no database, or more than one."""
        return self.bdbs is None or bdb_uid in self.bdbs

    def reaches_all_of(self, bdb_uids: Collection[int]) -> bool:
        """Of what is about these databases; about none is about the cluster."""
        return self.bdbs is None or (bool(bdb_uids) and self.bdbs.issuperset(bdb_uids))

    def hears(self, alarm: Event) -> bool:
        """An alarm of a database that is reached, or of a node or the cluster, which names none; loops may."""
        return self.reaches(alarm.bdb_uid) or (alarm.bdb_uid is None and alarm.type != LOOP_FAILED)

    def insist_on_reaching(self, bdb_uid: int | None) -> None:
        """Whether such a database exists is told to nobody who may not see it."""
        if not self.reaches(bdb_uid):
            raise Forbidden("unauthorized_action", f"The role reaches {self.reach} only.")

    def insist_on_reaching_all(self) -> None:
        """For what concerns the cluster as a whole, or more than one database."""
        if self.bdbs is not None:
            raise Forbidden(
                "unauthorized_action", f"The role reaches {self.reach} only, and this concerns more than that."
            )

    @property
    def reach(self) -> str:
        """In words."""
        return said(self.bdbs or ())


def said(bdb_uids: Collection[int]) -> str:
    """Databases in words."""
    uids = sorted(bdb_uids)
    return f"database {uids[0]}" if len(uids) == 1 else f"databases {', '.join(map(str, uids))}"


async def first_start(session: AsyncSession, settings: Settings) -> str | None:
    """Create the cluster row and the administrator where they are missing; returns a password if one was generated."""
    password = await _first_admin(session, settings)
    await audit.begin(session, __version__)
    return password


async def _first_admin(session: AsyncSession, settings: Settings) -> str | None:
    if (await session.execute(select(Cluster.uid))).first() is None:
        if not is_host_name(settings.cluster_name):
            message = "SHARDBOARD_CLUSTER_NAME must be a host name (letters, digits, hyphens and dots) of at most 64 characters."
            raise NotAcceptable("config_error", message)
        session.add(
            Cluster(
                name=settings.cluster_name,
                created_at=datetime.now(UTC),
                bootstrap_state="idle",
                jwt_secret=secrets.token_urlsafe(48),
            )
        )
    if await users.count(session):
        await _mention_unused(session, settings)
        if _is_configured(settings) or any(user.last_login for user in await every(session)):
            await cluster.mark_created(session)
        return None
    try:
        given = settings.given_password
    except OSError as error:
        raise NotAcceptable("config_error", f"The administrator's password cannot be read: {error}.") from error
    password = given or passwords.generate()
    await set_admin(session, settings.admin_user, password)
    if given:
        await cluster.mark_created(session)
    return None if given else password


def _is_configured(settings: Settings) -> bool:
    """Return whether the settings have the administrator's password; its file may be removed after the first start."""
    try:
        return bool(settings.given_password)
    except OSError:
        return True


async def set_admin(session: AsyncSession, username: str, password: str, *, originator: str = "system") -> User:
    """Make `username` an administrator who logs in with this password and nothing else, whether it exists or not."""
    if not logins.is_user_name(username):
        raise NotAcceptable("config_error", "A user name is 1 to 254 printable characters.", field="username")
    if ":" in username:
        sentence = "A user name has no colon: HTTP Basic ends it there, and nobody could log in."
        raise NotAcceptable("config_error", sentence, field="username")
    passwords.check_length(password)
    password_hash = await passwords.hashed(password)
    user = await users.by_email(session, username)
    if user is None:
        user = User(
            email=username,
            name="Administrator",
            password_hash=password_hash,
            password_issued=int(time.time()),
            role="admin",
            created_at=datetime.now(UTC),
        )
        session.add(user)
        events.record(session, "user_created", f"User {username} was created.", source="cluster", originator=originator)
    else:
        await session.refresh(user, with_for_update=True)
        user.keep([Password(password_hash, issued=int(time.time()))])
        second_factor.forget(user)
        user.role, user.role_uid = "admin", None
        user.auth_method, user.subject = REGULAR, None
        await login_failures.forget(session, user.uid)
        events.record(session, "user_updated", f"User {username} was changed.", source="cluster", originator=originator)
    await session.flush()
    return user


async def rename_only_admin(session: AsyncSession, username: str) -> None:
    """The one of the first start, whose password was printed, does not stay beside another."""
    admins = [user for user in await every(session) if user.role in ADMINS]
    if len(admins) == 1 and logins.is_user_name(username) and await users.by_email(session, username) is None:
        admins[0].email = username


async def principal_of(session: AsyncSession, username: str, role: str, role_uid: int | None) -> Principal:
    """A user or a service token with that role, of the cluster's own where `role_uid` says so."""
    if role_uid is None:
        return Principal(username, role)
    own = await access.role(session, role_uid)
    if own is None:  # nobody can remove it while it is in use
        return Principal(username, "none")
    return Principal(username, own.management, frozenset(own.bdb_uids) if own.bdb_uids else None)


async def every(session: AsyncSession) -> Sequence[User]:
    """All users by uid."""
    return (await session.execute(select(User).order_by(User.uid))).scalars().all()


async def one(session: AsyncSession, uid: int) -> User:
    # Beyond 32 bits PostgreSQL refuses the comparison itself.
    user = await session.get(User, uid) if 0 < uid < 2**31 else None
    if user is None:
        raise NotFound("user_not_exist", f"There is no user {uid}.")
    return user


def insist_on_power(by: Principal, *roles: str) -> None:
    """Over users who have, or shall have, these roles, and over the roles themselves."""
    if by.role not in USER_ADMINS:
        raise Forbidden("unauthorized_action", f"The role {by.role} does not allow this.")
    if by.role not in ADMINS and not ADMINS.isdisjoint(roles):
        raise Forbidden("unauthorized_action", "Only an administrator makes, changes or removes administrators.")


async def insist_on_another_admin(session: AsyncSession, losing: Sequence[User]) -> None:
    """That one with a password is left when these are none any more: who signs in elsewhere is locked out with the provider."""
    admins = [user for user in losing if user.role in ADMINS and user.auth_method == REGULAR]
    if admins and await users.count_with_password(session, "admin") <= len(admins):
        sentence = f"{admins[0].email} is the last administrator with a password; make another user one first."
        raise NotAcceptable("change_last_admin_role_not_allowed", sentence, field="role")


async def _mention_unused(session: AsyncSession, settings: Settings) -> None:
    try:
        given = settings.given_password
    except OSError:
        return  # the file may go once it was used
    if given is None:
        return
    user = await users.by_email(session, settings.admin_user)
    if user is None or await passwords.matching(given, user.password_hashes) is None:
        log.warning("SHARDBOARD_ADMIN_PASSWORD… is used at the first start only; the passwords stay as they are")
