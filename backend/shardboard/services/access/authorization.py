"""Users: the first administrator, and authorization."""

import logging
import secrets
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import __version__
from shardboard.domain.access.roles import ManagementRole, includes, uid_of
from shardboard.domain.cluster.node_status import BootstrapPhase
from shardboard.errors import Forbidden, NotAcceptable, NotFound
from shardboard.schemas.cluster.bootstrap import is_host_name
from shardboard.services.access import logins, passwords, two_factor
from shardboard.settings import Settings
from shardboard.state.access import acl_users, audit, login_failures, roles_and_acls, users
from shardboard.state.access.users import REGULAR, Password, User
from shardboard.state.alerting import events
from shardboard.state.alerting.events import LOOP_FAILED, Event
from shardboard.state.cluster import cluster
from shardboard.state.cluster.cluster import Cluster

log = logging.getLogger(__name__)

ADMINS = frozenset({ManagementRole.ADMIN})
USER_ADMINS = ADMINS | {ManagementRole.USER_MANAGER}
EDITORS = ADMINS | {ManagementRole.CLUSTER_MEMBER, ManagementRole.DB_MEMBER}
VIEWERS = EDITORS | USER_ADMINS | {ManagementRole.CLUSTER_VIEWER, ManagementRole.DB_VIEWER}
LOG_VIEWERS = VIEWERS - {ManagementRole.DB_VIEWER}
DEBUGGERS = ADMINS | {ManagementRole.CLUSTER_MEMBER}
"""Management roles of the REST reference (2.8); `none` has no permissions."""


@dataclass(frozen=True)
class Principal:
    """The authenticated sender of a request."""

    username: str
    role: str
    bdbs: frozenset[int] | None = None
    """Uids of the databases that the role is limited to; None: all databases and the cluster."""
    role_uid: int | None = None
    """Uid of the custom role; None for a built-in role."""

    def can_access_database(self, bdb_uid: int | None) -> bool:
        """Return whether the role covers the database. None stands for no database, or for several."""
        return self.bdbs is None or bdb_uid in self.bdbs

    def can_access_databases(self, bdb_uids: Collection[int]) -> bool:
        """Return whether the role covers all these databases. An object without databases concerns the cluster."""
        return self.bdbs is None or (bool(bdb_uids) and self.bdbs.issuperset(bdb_uids))

    def can_see_alarm(self, alarm: Event) -> bool:
        """Return whether the user may see the alarm: of an accessible database, or of nodes and the cluster except failed loops."""
        return self.can_access_database(alarm.bdb_uid) or (alarm.bdb_uid is None and alarm.type != LOOP_FAILED)

    def require_database_access(self, bdb_uid: int | None) -> None:
        """Raise Forbidden unless the role covers the database. The error is the same whether or not the database exists."""
        if not self.can_access_database(bdb_uid):
            raise Forbidden("unauthorized_action", f"The role is limited to {self.accessible_databases_text}.")

    def require_cluster_access(self) -> None:
        """Raise Forbidden if the role is limited to some databases, for requests that concern the cluster or several databases."""
        if self.bdbs is not None:
            raise Forbidden(
                "unauthorized_action",
                f"The role is limited to {self.accessible_databases_text}, but this request concerns the whole cluster.",
            )

    @property
    def accessible_databases_text(self) -> str:
        """Description of the databases that the role is limited to."""
        return databases_text(self.bdbs or ())


def databases_text(bdb_uids: Collection[int]) -> str:
    """Return a list of databases for messages."""
    uids = sorted(bdb_uids)
    return f"database {uids[0]}" if len(uids) == 1 else f"databases {', '.join(map(str, uids))}"


async def first_start(session: AsyncSession, settings: Settings) -> str | None:
    """Create the cluster row and the administrator if they are missing. Returns a password if one was generated."""
    password = await _first_admin(session, settings)
    await audit.record_console_start(session, __version__)
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
                bootstrap_state=BootstrapPhase.IDLE,
                jwt_secret=secrets.token_urlsafe(48),
            )
        )
    if await users.count(session):
        await _warn_if_unused(session, settings)
        if _is_configured(settings) or any(user.last_login for user in await list_all(session)):
            await cluster.mark_created(session)
        return None
    try:
        configured = settings.configured_password
    except OSError as error:
        raise NotAcceptable("config_error", f"The administrator's password cannot be read: {error}.") from error
    password = configured or passwords.generate()
    await set_admin(session, settings.admin_user, password)
    if configured:
        await cluster.mark_created(session)
    return None if configured else password


def _is_configured(settings: Settings) -> bool:
    """Return whether the settings contain the administrator's password. Its file may be removed after the first start."""
    try:
        return bool(settings.configured_password)
    except OSError:
        return True


async def set_admin(session: AsyncSession, username: str, password: str, *, originator: str = "system") -> User:
    """Create an administrator with only this password, or turn the existing user into one."""
    if not logins.is_user_name(username):
        raise NotAcceptable("config_error", "The username must have 1 to 254 printable characters.", field="username")
    if ":" in username:
        message = "The username must not contain a colon: HTTP Basic ends the name there, so authentication would be impossible."
        raise NotAcceptable("config_error", message, field="username")
    passwords.check_length(password)
    password_hash = await passwords.hash_password(password)
    user = await users.by_email(session, username)
    if user is None:
        user = User(
            email=username,
            name="Administrator",
            password_hash=password_hash,
            data_hash=acl_users.digest(password),
            password_issued=int(time.time()),
            role=ManagementRole.ADMIN,
            created_at=datetime.now(UTC),
        )
        session.add(user)
        events.record(session, "user_created", f"User {username} was created.", source="cluster", originator=originator)
    else:
        await session.refresh(user, with_for_update=True)
        user.set_passwords([Password(password_hash, acl_users.digest(password), issued=int(time.time()))])
        two_factor.disable(user)
        user.role, user.role_uid, user.role_uids = ManagementRole.ADMIN, None, []
        user.auth_method, user.subject = REGULAR, None
        await login_failures.clear(session, user.uid)
        events.record(session, "user_updated", f"User {username} was changed.", source="cluster", originator=originator)
    await session.flush()
    return user


async def rename_only_admin(session: AsyncSession, username: str) -> None:
    """Rename the only administrator, so that the one of the first start, whose password was printed, does not remain."""
    admins = [user for user in await list_all(session) if user.role in ADMINS]
    if len(admins) == 1 and logins.is_user_name(username) and await users.by_email(session, username) is None:
        admins[0].email = username


async def principal_of(session: AsyncSession, username: str, role: str, role_uid: int | None) -> Principal:
    """Return the principal of a user or service token with that role; `role_uid` names a custom role."""
    if role_uid is None:
        return Principal(username, role)
    custom = await roles_and_acls.get_role(session, role_uid)
    if custom is None:  # cannot happen: roles in use cannot be removed
        return Principal(username, ManagementRole.NONE)
    return Principal(username, custom.management, frozenset(custom.bdb_uids) if custom.bdb_uids else None, role_uid)


async def list_all(session: AsyncSession) -> Sequence[User]:
    """All users by uid."""
    return (await session.execute(select(User).order_by(User.uid))).scalars().all()


async def get_user(session: AsyncSession, uid: int) -> User:
    # PostgreSQL rejects comparisons with numbers of more than 32 bits.
    user = await session.get(User, uid) if 0 < uid < 2**31 else None
    if user is None:
        raise NotFound("user_not_exist", f"User {uid} does not exist.")
    return user


def require_privilege_over(principal: Principal, *roles: str) -> None:
    """Require privileges over users with these roles, to see or remove what they have. Raises Forbidden."""
    if principal.role not in USER_ADMINS:
        raise Forbidden("unauthorized_action", f"The role {principal.role} does not allow this.")
    if principal.role not in ADMINS and not ADMINS.isdisjoint(roles):
        raise Forbidden("unauthorized_action", "Only administrators can create, change or delete administrators.")


def require_grantable_management(principal: Principal, management: str) -> None:
    """Require that a user has all permissions of a management role, to grant it. Raises Forbidden."""
    require_privilege_over(principal, management)
    if not includes(principal.role, management):
        message = (
            f"Users can grant only permissions that they have, and {principal.role} does not include {management}."
        )
        raise Forbidden("unauthorized_action", message)


async def require_grantable(session: AsyncSession, principal: Principal, management: str, role_uid: int | None) -> None:
    """Require that a user has all permissions of a role, to grant it or to take over a user who has it. Raises Forbidden.

    `role_uid` names a custom role. Permissions for data count: databases that name a role give it access to their data, which only
    administrators and users with that role may pass on.
    """
    require_grantable_management(principal, management)
    if principal.role in ADMINS:
        return
    uid = role_uid or uid_of(management)
    if uid != (principal.role_uid or uid_of(principal.role)) and uid in await acl_users.granted_role_uids(session):
        message = (
            f"Users can grant only permissions that they have, and role {uid} has access to the data of a database."
        )
        raise Forbidden("unauthorized_action", message)


async def require_remaining_admin(session: AsyncSession, losing: Sequence[User]) -> None:
    """Require that an administrator with a password remains without `losing`. Without the provider, only passwords work."""
    admins = [user for user in losing if user.role in ADMINS and user.auth_method == REGULAR]
    if admins and await users.count_with_password(session, ManagementRole.ADMIN) <= len(admins):
        message = (
            f"{admins[0].email} is the last administrator with a password; make another user an administrator first."
        )
        raise NotAcceptable("change_last_admin_role_not_allowed", message, field="role")


async def _warn_if_unused(session: AsyncSession, settings: Settings) -> None:
    try:
        password = settings.configured_password
    except OSError:
        return  # the file may be deleted after the first start
    if password is None:
        return
    user = await users.by_email(session, settings.admin_user)
    if user is None or await passwords.find_matching_hash(password, user.password_hashes) is None:
        log.warning("SHARDBOARD_ADMIN_PASSWORD… is used at the first start only; existing passwords were not changed")
