"""Roles of users: the leading one, which defines the permissions in the console, and all roles, to which databases refer."""

from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.roles import uid_of
from shardboard.services.access.authorization import Principal, require_grantable
from shardboard.state.access.users import User


@dataclass(frozen=True)
class RoleAssignment:
    """A management role, and the custom role that assigns it, if any."""

    management: str
    uid: int | None = None
    name: str = field(default="", compare=False)
    """Name of the custom role."""
    by_uid: bool = field(default=False, compare=False)
    """Whether the role was requested by its uid from /v1/roles."""
    uids: tuple[int, ...] = ()
    """Uids of all roles of a user with several; `management` and `uid` are then those of the leading one."""

    def __str__(self) -> str:
        leading = f"{self.name} ({self.management})" if self.name else self.management
        return f"{leading}, with the roles {', '.join(map(str, self.uids))}" if self.uids else leading

    @property
    def all_uids(self) -> tuple[int, ...]:
        """Uids of all roles, built-in ones included."""
        return self.uids or (self.uid or uid_of(self.management),)

    def assign_to(self, user: User) -> None:
        user.role, user.role_uid, user.role_uids = self.management, self.uid, list(self.uids)


def assignment_of(user: User) -> RoleAssignment:
    return RoleAssignment(user.role, user.role_uid, uids=tuple(user.role_uids))


async def require_grantable_roles(session: AsyncSession, principal: Principal, roles: RoleAssignment) -> None:
    """Require that a user has all permissions of these roles, to grant them or to take over a user who has them."""
    for uid in roles.uids or (roles.uid,):
        await require_grantable(session, principal, roles.management, uid)
