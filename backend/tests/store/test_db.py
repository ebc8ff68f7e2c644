"""Tests of the store: notifications, concurrent writers, and migrations that match the declared tables."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta, timezone

import pytest
from alembic import command
from backend.tests.support.speedups import sqlite_with_threads
from sqlalchemy import event, inspect, select, text
from sqlalchemy.exc import IntegrityError

from shardboard import state  # noqa: F401 - declares every table
from shardboard.driver.fake_agents import FACTS
from shardboard.kit.bus import Bus
from shardboard.state.access.roles_and_acls import Role
from shardboard.state.access.service_tokens import ServiceToken
from shardboard.state.access.sessions import LoginSession
from shardboard.state.access.users import User
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event, record
from shardboard.state.cluster import nodes
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Base, Store, alembic_config

pytestmark = pytest.mark.store


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    with sqlite_with_threads():
        yield


def node(uid: int = 1, addr: str = "", seen: datetime | None = None) -> Node:
    now = seen or datetime.now(UTC)
    return Node(
        uid=uid,
        addr=addr or f"10.0.0.{uid}",
        agent_port=9700,
        agent_status="connected",
        last_seen=now,
        joined_at=now,
        facts=FACTS.model_dump(),
        config={},
    )


async def write_and_fail(store: Store) -> None:
    async with store.begin() as session:
        session.add(node())
        record(session, "node_joined", "Node 1 joined.", source="node")
        await session.flush()
        raise ZeroDivisionError


async def test_changes_are_published_only_after_the_commit(store: Store, bus: Bus) -> None:
    with bus.listen("change") as changes:
        async with store.begin() as session:
            session.add(node())
            record(session, "node_joined", "Node 1 joined.", source="node")
            await session.flush()
            assert changes.drain() == []
        published = changes.drain()
    assert published == [("change", ("event", 1)), ("change", ("node", 1))]


async def test_published_changes_can_be_read(store: Store, bus: Bus) -> None:
    async def reader() -> str:
        with bus.listen("change") as changes:
            listening.set()
            await changes.get(timeout=10)
            async with store.read() as session:
                row = await nodes.by_uid(session, 1)
        return row.addr if row is not None else "not there yet"

    listening = asyncio.Event()
    reading = asyncio.create_task(reader())
    await listening.wait()
    async with store.begin() as session:
        session.add(node())
    assert await reading == "10.0.0.1"


async def test_rollback_publishes_nothing(store: Store, bus: Bus) -> None:
    with bus.listen("change") as changes:
        with pytest.raises(ZeroDivisionError):
            await write_and_fail(store)
        assert changes.drain() == []
    async with store.read() as session:
        assert await nodes.list_all(session) == []


async def test_failed_commit_publishes_nothing(store: Store, bus: Bus) -> None:
    with bus.listen("change") as changes:
        with pytest.raises(IntegrityError):
            async with store.begin() as session:
                session.add_all([node(1, "10.0.0.1"), node(2, "10.0.0.1")])
        assert changes.drain() == []


async def test_only_actual_changes_are_published(store: Store, bus: Bus) -> None:
    async with store.begin() as session:
        session.add_all([node(1), node(2), node(3)])
    with bus.listen("change") as changes:
        async with store.begin() as session:
            unchanged, changed, deleted = await nodes.list_all(session)
            unchanged.agent_status = "connected"
            changed.agent_status = "lost"
            await session.delete(deleted)
        assert changes.drain() == [("change", ("node", 2)), ("change", ("node", 3))]


async def test_read_session_never_writes(store: Store, bus: Bus) -> None:
    with bus.listen("change") as changes:
        async with store.read() as session:
            session.add(node())
            await session.flush()
        assert changes.drain() == []
    async with store.read() as session:
        assert await nodes.list_all(session) == []


async def test_concurrent_writers_all_succeed(store: Store) -> None:
    async with store.begin() as session:
        row = node()
        row.config = {"count": 0}
        session.add(row)

    async def add_one() -> None:
        async with store.begin() as session:
            row = (await session.execute(select(Node).with_for_update())).scalar_one()
            await asyncio.sleep(0)
            row.config = {"count": row.config["count"] + 1}

    await asyncio.gather(*(add_one() for _ in range(50)))
    async with store.read() as session:
        assert (await nodes.list_all(session))[0].config == {"count": 50}


async def test_writer_cancelled_at_any_step_releases_its_lock(store: Store) -> None:
    async with store.begin() as session:
        session.add(node())

    async def write() -> None:
        async with store.begin() as session:
            [row] = await nodes.list_all(session)
            row.config = {"count": row.config.get("count", 0) + 1}
            await session.flush()

    def step(*_: object, **__: object) -> None:
        nonlocal steps_left
        steps_left -= 1
        if (
            steps_left == 0 and asyncio.current_task() is victim
        ):  # the step has started, and its end is no longer awaited
            asyncio.get_running_loop().call_soon(victim.cancel)

    for name in ("before_cursor_execute", "commit", "rollback"):
        event.listen(store.engine.sync_engine, name, step)
    for last in range(1, 20):
        steps_left = last
        victim = asyncio.create_task(write())
        await asyncio.wait((victim,))
        skipped, steps_left = steps_left, 0
        await write()
        if skipped > 0:
            break
    assert last >= 4  # select, update and commit at least


@pytest.mark.parametrize("seed", range(3))
async def test_cancelled_writers_release_their_locks(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    async with store.begin() as session:
        row = node()
        row.config = {"count": 0}
        session.add(row)

    async def add_one() -> None:
        async with store.begin() as session:
            row = (await session.execute(select(Node).with_for_update())).scalar_one()
            row.config = {"count": row.config["count"] + 1}
            await session.flush()
            await asyncio.sleep(0)

    async def give_up() -> bool:
        write_task = asyncio.create_task(add_one())
        await asyncio.sleep(rng.random() * 0.01)  # at any point: while it waits, starts, writes or commits
        write_task.cancel()
        await asyncio.wait((write_task,))
        return write_task.cancelled()

    cancelled = 0
    for _ in range(30):
        cancelled += sum((await asyncio.gather(*(give_up() for _ in range(8)), *(add_one() for _ in range(4))))[:8])
    assert cancelled > 0
    async with store.read() as session:
        [stored_row] = await nodes.list_all(session)
    # Some were cancelled during the commit and have written nevertheless.
    assert 120 + 240 - cancelled <= stored_row.config["count"] <= 120 + 240


async def test_readers_do_not_wait_for_a_writer(store: Store) -> None:
    async with store.begin() as session:
        session.add(node())
        await session.flush()
        async with asyncio.timeout(30), store.read() as reader:
            assert await nodes.list_all(reader) == []


async def test_writer_gets_a_connection_despite_many_readers(store: Store) -> None:
    async with AsyncExitStack() as readers:
        for _ in range(40):
            session = await readers.enter_async_context(store.read())
            await nodes.list_all(session)
        async with asyncio.timeout(60), store.begin() as writer:
            writer.add(node())
    async with store.read() as session:
        assert len(await nodes.list_all(session)) == 1


async def test_times_are_stored_in_utc(store: Store) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678900, timezone(timedelta(hours=5, minutes=30)))
    async with store.begin() as session:
        session.add(node(seen=moment))
    async with store.read() as session:
        [row] = await nodes.list_all(session)
    assert row.last_seen == moment
    assert row.last_seen.utcoffset() == timedelta(0)


async def test_migrations_create_every_table_and_column(store: Store) -> None:
    def columns(connection: object) -> dict[str, set[str]]:
        inspector = inspect(connection)
        return {
            name: {column["name"] for column in inspector.get_columns(name)} for name in inspector.get_table_names()
        }

    async with store.engine.connect() as connection:
        existing = await connection.run_sync(columns)
    assert existing.pop("alembic_version") == {"version_num"}
    assert existing == {table.name: {column.name for column in table.columns} for table in Base.metadata.sorted_tables}


async def test_migration_reduces_webhook_urls_in_events_to_hosts(store: Store) -> None:
    expected = {
        "Webhook b to https://hooks.example.org/T0/SECRET was created.": "Webhook b to hooks.example.org was created.",
        "Webhook a to http://ann:SECRET@[2001:db8::1]:80/x was created.": "Webhook a to [2001:db8::1] was created.",
        "Webhook mail to mailto:ann@example.org was created.": "Webhook mail to mailto:ann@example.org was created.",
    }
    async with store.begin() as session:
        for description in expected:
            record(session, "webhook_created", description)
        record(session, "other", "See https://example.org/x.")
    async with store.engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(store.url, sync), "0027"))
        await connection.commit()
    await store.migrate()
    async with store.read() as session:
        messages = [event.description for event in await events.page(session, newest_first=False)]
    assert messages == [*expected.values(), "See https://example.org/x."]


async def test_downgrade_does_not_extend_access(store: Store) -> None:
    now = datetime.now(UTC)
    async with store.begin() as session:
        for uid, bdb_uids in ((17, [4]), (18, [])):
            session.add(Role(uid=uid, name=f"role {uid}", management="db_member", bdb_uids=bdb_uids))
            user = {"email": f"user {uid}", "name": "", "password_hash": "", "created_at": now}
            session.add(User(**user, role="db_member", role_uid=uid))
        for role_uid in (17, 18, None):
            token = {
                "name": f"token {role_uid}",
                "token_hash": f"hash {role_uid}",
                "created_by": "x",
                "created_at": now,
            }
            session.add(ServiceToken(**token, role="db_member", role_uid=role_uid))
        await session.flush()
        token = {"name": "of a user", "token_hash": "hash", "created_by": "user 18", "created_at": now}
        user_uid = await session.scalar(text("SELECT uid FROM users WHERE email = 'user 18'"))
        session.add(ServiceToken(**token, role="db_member", user_uid=user_uid, password_fingerprint="x"))
    async with store.engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(store.url, sync), "0030"))
        await connection.commit()
        remaining_rows = [
            [tuple(row) for row in await connection.execute(text(query))]
            for query in (
                "SELECT uid, management FROM roles ORDER BY uid",
                "SELECT email, role FROM users ORDER BY email",
                "SELECT name, role FROM service_tokens",
            )
        ]
    assert remaining_rows == [
        [(17, "none"), (18, "db_member")],
        [("user 17", "none"), ("user 18", "db_member")],
        [("token None", "db_member")],
    ]
    await store.migrate()


async def test_downgrade_removes_users_who_could_no_longer_sign_in(store: Store) -> None:
    now = datetime.now(UTC)
    async with store.begin() as session:
        for uid, auth_method in ((1, "regular"), (2, "sso"), (3, "ldap")):
            user = {"email": f"user {uid}", "name": "", "password_hash": "", "role": "admin", "created_at": now}
            session.add(User(uid=uid, **user, auth_method=auth_method, subject=f"subject {uid}"))
    async with store.begin() as session:
        for uid in (1, 2, 3):
            fields = {"password_fingerprint": "", "address": "", "browser": "", "created_at": now, "last_seen_at": now}
            session.add(LoginSession(user_uid=uid, token_hash=f"hash {uid}", **fields, expires_at=now))
    async with store.engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(store.url, sync), "0031"))
        await connection.commit()
        remaining_rows = [
            (await connection.execute(text(f"SELECT {selection}"))).scalars().all()
            for selection in ("email FROM users", "user_uid FROM sessions")
        ]
    assert remaining_rows == [["user 1"], [1]]
    await store.migrate()


async def test_policy_that_had_no_effect_is_reset(store: Store) -> None:
    policy = {"rack_aware": True, "slave_ha": False}
    async with store.begin() as session:
        fields = {"name": "c", "created_at": datetime.now(UTC), "bootstrap_state": "idle", "jwt_secret": ""}
        session.add(Cluster(uid=1, **fields, policy=policy))
    async with store.engine.connect() as connection:
        await connection.run_sync(lambda sync: command.downgrade(alembic_config(store.url, sync), "0040"))
        await connection.commit()
    await store.migrate()
    async with store.read() as session:
        assert (await session.get_one(Cluster, 1)).policy == {"slave_ha": False}


async def test_second_migration_changes_nothing(store: Store) -> None:
    async with store.begin() as session:
        session.add(node())
    await store.migrate()
    async with store.read() as session:
        assert len(await nodes.list_all(session)) == 1


async def test_state_id_is_the_newest_event(store: Store) -> None:
    async with store.read() as session:
        assert await events.newest_uid(session) == 0
    async with store.begin() as session:
        for number in range(3):
            record(session, "anything", f"Thing {number} happened.", source="cluster")
    async with store.read() as session:
        newest = await events.newest_uid(session)
        assert (await session.get(Event, newest)).description == "Thing 2 happened."  # type: ignore[union-attr]
    assert store.state_id == newest
    with pytest.raises(ZeroDivisionError):
        await write_and_fail(store)
    assert store.state_id == newest


async def test_sqlite_pragmas_are_set(store: Store) -> None:
    if not store.url.startswith("sqlite"):
        pytest.skip("this store is not SQLite")
    async with store.engine.connect() as connection:
        for pragma, value in (("journal_mode", "wal"), ("foreign_keys", 1), ("busy_timeout", 10000)):
            assert (await connection.execute(text(f"PRAGMA {pragma}"))).scalar_one() == value
