"""Rebuilds the rows of a lost store from the copies that agents keep (`state/data/recovery_copies.py`)."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.access.roles import ManagementRole
from shardboard.domain.cluster.node_status import BootstrapPhase
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.text import plural
from shardboard.pki.certificate_state import CertificateState
from shardboard.services.access import passwords
from shardboard.services.access.authorization import set_admin
from shardboard.state.access import users
from shardboard.state.access.roles_and_acls import RedisAcl, Role
from shardboard.state.alerting import events
from shardboard.state.cluster import console_certificates
from shardboard.state.cluster.agent_certificates import IssuedCertificate
from shardboard.state.cluster.nodes import Node
from shardboard.state.data import recovery_copies as copies
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard
from shardboard.store.db import newest_revision

RECOVERED = "console_recovered"
"""Type of the event."""
LOST = (
    "passwords and two-factor authentication of users, and users without access to data",
    "service tokens, sessions, and join tokens",
    "single sign-on and LDAP settings",
    "webhooks and other receivers of notifications, mutes of alarms, and open alarms",
    "storage locations, backup schedules, and the lists of backups and restores",
    "events, the audit log, metrics, actions, and benchmark runs",
)
"""Everything that agents do not have."""

Content = Mapping[str, Any]


class UnusableCopy(ValueError):
    """A copy was written by another release. The message is a sentence."""


def require_release(cluster: Content) -> None:
    """Require copies with the schema of this release. Raises UnusableCopy."""
    if cluster.get("revision") != newest_revision():
        raise UnusableCopy(
            f"The copies were written by the release {cluster.get('release', 'unknown')} with another schema of the store. Use "
            "that release for the recovery, and upgrade afterwards."
        )


def certificates_of(cluster: Content) -> CertificateState:
    """Return the certificates of the lost store. Raises ValueError."""
    return CertificateState.read(cluster["certificates"])


async def rebuild(
    session: AsyncSession, cluster: Content, databases: Sequence[Content], admin: str, password: str, originator: str
) -> None:
    """Add all rows to an empty store. `admin` becomes an administrator with this password. Raises ValueError, and ApiError if the
    name or the password is invalid.
    """
    row = copies.load_cluster(cluster["cluster"], secrets.token_urlsafe(48))
    row.bootstrap_state = BootstrapPhase.COMPLETED
    session.add(row)
    await console_certificates.save(session, certificates_of(cluster).renewed())
    for cls, name in (
        (Node, "nodes"),
        (IssuedCertificate, "issued_certificates"),
        (Role, "roles"),
        (RedisAcl, "redis_acls"),
    ):
        session.add_all(copies.load_row(cls, each) for each in cluster[name])
    session.add_all(copies.load_user(each) for each in cluster["users"])
    for database in databases:
        _add_database(session, database)
    await session.flush()
    await _add_admin(session, admin, password)
    message = (
        f"The store was rebuilt from the copies of agents: {plural(len(cluster['nodes']), 'node')}, "
        f"{plural(len(databases), 'database')}. Lost: {'; '.join(LOST)}."
    )
    events.record(session, RECOVERED, message, source="cluster", severity="WARNING", originator=originator)


def interrupted(databases: Sequence[Content]) -> list[str]:
    """Return the names of databases whose running operation was lost."""
    return [each["bdb"]["name"] for each in databases if each["bdb"]["status"] != BdbStatus.ACTIVE]


def _add_database(session: AsyncSession, database: Content) -> None:
    bdb = copies.load_row(Bdb, database["bdb"])
    bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.ACTIVE, "", None
    if bdb.config.get("backup_location_uid"):  # the next location that is created may get the uid of a lost one
        bdb.config = {**bdb.config, "backup": False, "backup_location_uid": 0}
    session.add(bdb)
    session.add_all(copies.load_row(Shard, each) for each in database["shards"])


async def _add_admin(session: AsyncSession, name: str, password: str) -> None:
    """Add the administrator. A user with access to data keeps it, with previous passwords that the console does not accept."""
    existing = await users.by_email(session, name)
    if existing is not None and (existing.role != ManagementRole.ADMIN or existing.role_uid is not None):
        raise ValueError(
            f"{existing.email} is a user with access to data and another role than admin. Set SHARDBOARD_ADMIN_USER to another "
            "name."
        )
    previous = [each for each in existing.passwords if each.data_hash] if existing is not None else []
    passwords.check_length(password)
    admin = await set_admin(session, name, password)
    admin.set_passwords([*admin.passwords, *previous])
