"""Passwords of a database: several for its default user, so that applications change from one to the next without a break, and the
internal one."""

import secrets
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain import bdb_rules
from shardboard.errors import Conflict, NotAcceptable, NotFound
from shardboard.orders import queue
from shardboard.services import bdbs
from shardboard.services.bdb_creation import insist
from shardboard.services.users import Principal
from shardboard.state import events, shards
from shardboard.state.bdbs import Bdb

MOST = 10
DEADLINE = timedelta(minutes=5)


async def replace(
    session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False
) -> Bdb:
    """From now on only this one."""
    _insist_on_one(password)
    return await bdbs.set_passwords(session, uid, lambda _: [password], principal, dry_run=dry_run)


async def add(session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """This one, too; where there was none, from now on one is needed."""
    _insist_on_one(password)

    def choose(present: list[str]) -> list[str]:
        if password not in present and len(present) >= MOST:
            sentence = f"The database has {MOST} passwords already; remove one that is not used any more."
            raise Conflict("too_many_passwords", sentence, field="password")
        return [*present, *({password} - set(present))]

    return await bdbs.set_passwords(session, uid, choose, principal, dry_run=dry_run)


async def remove(session: AsyncSession, uid: int, password: str, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Not this one any more. Clients that are logged in by it stay so, until they connect again."""

    def choose(present: list[str]) -> list[str]:
        if password not in present:
            raise NotFound("password_not_found", "The database has no such password.", field="password")
        if len(present) == 1:
            sentence = (
                "It is the only password, and without one everybody gets in. If that is meant, set "
                "authentication_redis_pass of the database to nothing."
            )
            raise NotAcceptable("last_password", sentence, field="password")
        return [each for each in present if each != password]

    return await bdbs.set_passwords(session, uid, choose, principal, dry_run=dry_run)


async def reset_admin(session: AsyncSession, uid: int, principal: Principal, *, dry_run: bool = False) -> Bdb:
    """Order another password, which nobody knows, for the user as which console and agents command the shards, and as which
    replicas copy. All of them have to be there: one that had only the one before could not come back."""
    bdb = await queue.idle_bdb(session, uid)
    down = [row.uid for row in await shards.of_bdb(session, uid) if row.observed_status == "down"]
    if down:
        which = ", ".join(f"redis:{each}" for each in down)
        raise Conflict("shards_down", f"All shards of {bdb.name} have to run for this; {which} is down.")
    if dry_run:
        return bdb
    bdb.next_admin_password = bdb.next_admin_password or secrets.token_urlsafe(32)
    action = queue.start(
        session,
        "SMResetAdminPassword",
        object_uid=uid,
        description=f"Change the internal password of database {bdb.name}",
        originator=principal.username,
        deadline=DEADLINE,
    )
    bdb.status, bdb.status_detail, bdb.action_uid = "active-change-pending", "", action.uid
    bdb.changed_at = datetime.now(UTC)
    told = f"Another internal password for database {bdb.name} was ordered."
    events.record_of_action(session, action, "bdb_admin_password_request", told, details={"bdb_name": bdb.name})
    await session.flush()
    return bdb


def _insist_on_one(password: str) -> None:
    if not password:
        raise NotAcceptable("invalid_schema", "A password has at least one character.", field="password")
    insist(bdb_rules.password(password, "password"))
