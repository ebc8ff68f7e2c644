"""Passwords of a database: several for its default user, so that applications can change passwords without downtime, and the
internal password."""

import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.actions import queue
from shardboard.domain.cluster.actions import ActionName
from shardboard.domain.databases import bdb_rules
from shardboard.domain.databases.bdb_status import BdbStatus
from shardboard.domain.databases.shard_status import ShardStatus
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.services.access.authorization import Principal
from shardboard.services.databases import bdbs
from shardboard.services.databases.bdb_creation import raise_validation_error
from shardboard.state.alerting import events
from shardboard.state.databases import shards
from shardboard.state.databases.bdbs import Bdb

MAX_PASSWORDS = 10
DEADLINE = timedelta(minutes=5)


async def replace(
    session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False
) -> Bdb:
    """Replace all passwords of the default user by this one."""
    _check_password(password)
    return await bdbs.set_passwords(session, uid, lambda _: [password], principal, dry_run=dry_run)


async def add(session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Add a password. If the database had none, clients need a password from now on."""
    _check_password(password)

    def choose(current: list[str]) -> list[str]:
        if password not in current and len(current) >= MAX_PASSWORDS:
            message = f"The database already has {MAX_PASSWORDS} passwords; remove one that is no longer used."
            raise Conflict("too_many_passwords", message, field="password")
        return [*current, *({password} - set(current))]

    return await bdbs.set_passwords(session, uid, choose, principal, dry_run=dry_run)


async def remove(session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Remove a password. Clients that authenticated with it stay connected until they reconnect."""

    def choose(current: list[str]) -> list[str]:
        if password not in current:
            raise NotFound("password_not_found", "The database does not have this password.", field="password")
        if len(current) == 1:
            message = (
                "This is the only password; without it, anyone who can reach the port can use the database. To allow that, set "
                "authentication_redis_pass of the database to an empty string."
            )
            raise NotAcceptable("last_password", message, field="password")
        return [each for each in current if each != password]

    return await bdbs.set_passwords(session, uid, choose, principal, dry_run=dry_run)


async def reset_admin_password(session: AsyncSession, uid: int, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Schedule a new internal password.

    Console and agents manage the shards with it, and replicas authenticate to their primaries with it. All shards must be up: a
    shard with only the previous password could not rejoin the database.
    """
    bdb = await queue.load_idle_bdb(session, uid)
    down = [row.uid for row in await shards.list_for_bdb(session, uid) if row.observed_status == ShardStatus.DOWN]
    if down:
        shard_list = ", ".join(f"redis:{each}" for each in down)
        raise Conflict("shards_down", f"All shards of {bdb.name} must be running; {shard_list} is down.")
    if dry_run:
        return bdb
    bdb.next_admin_password = bdb.next_admin_password or secrets.token_urlsafe(32)
    action = queue.enqueue(
        session,
        ActionName.RESET_ADMIN_PASSWORD,
        object_uid=uid,
        description=f"Change the internal password of database {bdb.name}",
        originator=principal.username,
        deadline=DEADLINE,
    )
    bdb.status, bdb.status_detail, bdb.action_uid = BdbStatus.CHANGE_PENDING, "", action.uid
    bdb.changed_at = datetime.now(UTC)
    message = f"A new internal password for database {bdb.name} was requested."
    events.record_for_action(session, action, "bdb_admin_password_request", message, details={"bdb_name": bdb.name})
    await session.flush()
    return bdb


def _check_password(password: str) -> None:
    if not password:
        raise NotAcceptable("invalid_schema", "The password must not be empty.", field="password")
    raise_validation_error(bdb_rules.password_error(password, "password"))
