"""Old events, actions, outages and audit records are deleted within the limits of the policy."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from shardboard.actions import queue
from shardboard.collectors.cluster import housekeeping
from shardboard.collectors.cluster.housekeeping import Housekeeping
from shardboard.queries.access.audit import verify
from shardboard.state.access import audit
from shardboard.state.access.audit import AuditContext, AuditLine
from shardboard.state.alerting import events
from shardboard.state.alerting.events import Event
from shardboard.state.cluster import actions, cluster
from shardboard.state.cluster.actions import Action
from shardboard.state.cluster.cluster import Cluster
from shardboard.state.data.restores import Restore
from shardboard.state.data.transfers import Transfer
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.failures.outages import Outage
from shardboard.store.db import Store

pytestmark = pytest.mark.store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
async def keeper(store: Store) -> Housekeeping:
    async with store.begin() as session:
        session.add(Cluster(uid=1, name="c", created_at=NOW, bootstrap_state="completed", jwt_secret="x"))
    return Housekeeping(store, lambda: NOW)


async def add_event(store: Store, age: timedelta, type_: str = "shard_down", **columns: Any) -> int:
    """Record an event of this age. Return its uid."""
    async with store.begin() as session:
        event = events.record(session, type_, "Something happened.", source="shard")
        event.time = NOW - age
        for name, value in columns.items():
            setattr(event, name, value)
        await session.flush()
        return event.uid


async def event_uids(store: Store) -> list[int]:
    async with store.read() as session:
        return list((await session.execute(select(Event.uid).order_by(Event.uid))).scalars())


async def set_policy(store: Store, **changes: Any) -> None:
    async with store.begin() as session:
        row = await cluster.load_for_update(session)
        row.policy = {**row.policy, **changes}


def days(number: float) -> timedelta:
    return timedelta(days=number)


async def test_old_events_are_deleted_except_open_spans(store: Store, keeper: Housekeeping) -> None:
    old_event, span, open_span, new_event = (
        await add_event(store, days(91)),
        await add_event(store, days(91), "resync", ended_at=NOW - days(90), details={"open": False}),
        await add_event(store, days(400), "node_failed", details={"open": True}),
        await add_event(store, days(89)),
    )
    assert not await keeper.delete_batch()
    assert await event_uids(store) == [open_span, new_event]
    assert old_event < span < open_span


async def test_the_newest_event_is_kept_at_any_age(store: Store, keeper: Housekeeping) -> None:
    await add_event(store, days(500))
    newest = await add_event(store, days(400))
    await keeper.delete_batch()
    assert await event_uids(store) == [newest]
    async with store.read() as session:
        assert await events.newest_uid(session) == newest


async def test_the_number_of_events_per_type_is_limited(store: Store, keeper: Housekeeping) -> None:
    await set_policy(store, max_saved_events_per_type=3)
    many = [await add_event(store, days(30 - number), "shard_up") for number in range(8)]
    events_kept = [await add_event(store, days(40), "shard_down") for _ in range(3)]
    logouts = [await add_event(store, timedelta(hours=number), "logout") for number in range(12)]
    await keeper.delete_batch()
    assert await event_uids(store) == [*many[-3:], *events_kept, *logouts], (
        "events of the last day are kept because sessions may depend on them"
    )


async def test_nothing_is_deleted_without_limits_in_the_policy(store: Store, keeper: Housekeeping) -> None:
    await set_policy(store, events_keep_days=0, max_saved_events_per_type=0, actions_keep_days=0)
    uids = [await add_event(store, days(1000)) for _ in range(3)]
    await add_action(store, days(1000))
    await keeper.delete_batch()
    assert await event_uids(store) == uids
    async with store.read() as session:
        assert await actions.count(session) == 1


@pytest.mark.parametrize("days_kept", [739_000, 999_999_999_999, -1, "x", None])
async def test_invalid_limits_in_the_store_delete_nothing(store: Store, keeper: Housekeeping, days_kept: Any) -> None:
    await set_policy(
        store, events_keep_days=days_kept, max_saved_events_per_type=days_kept, actions_keep_days=days_kept
    )
    await add_event(store, days(10))
    await add_event(store, days(5))
    await keeper.delete_batch()
    assert len(await event_uids(store)) == 2


async def add_action(store: Store, age: timedelta, status: str = "completed") -> str:
    async with store.begin() as session:
        session.info["locked"] = True
        queued = queue.enqueue(
            session, "SMCreateBDB", object_uid=1, description="x", originator="system", deadline=days(1)
        )
        await session.flush()
        finished = NOW - age if status in ("completed", "failed") else None
        changed = update(Action).where(Action.uid == queued.uid)
        await session.execute(changed.values(status=status, finished_at=finished, created_at=NOW - age))
        return queued.uid


async def test_old_actions_are_deleted_except_open_ones(store: Store, keeper: Housekeeping) -> None:
    for status in ("completed", "failed"):
        await add_action(store, days(31), status)
    expected = {
        await add_action(store, days(29)),
        await add_action(store, days(365), "running"),
        await add_action(store, days(365), "queued"),
    }
    await keeper.delete_batch()
    async with store.read() as session:
        assert {row.uid for row in await actions.list_recent(session)} == expected


async def add_outage(store: Store, age: timedelta) -> int:
    async with store.begin() as session:
        row = Outage(
            bdb_uid=1, reported_by=1, address="10.0.0.2", port=20000, slots="0-16383", waited=0, failed=0, lost=0
        )
        row.noticed_at = NOW - age
        row.noticed_ms = round(1000 * row.noticed_at.timestamp())
        session.add(row)
        await session.flush()
        return row.uid


async def test_outages_are_deleted_by_the_limits_for_events(store: Store, keeper: Housekeeping) -> None:
    await add_outage(store, days(91))
    many = [await add_outage(store, days(10 - number)) for number in range(5)]
    new_outage = await add_outage(store, timedelta(hours=23))
    await keeper.delete_batch()
    assert await outage_uids(store) == [*many, new_outage]
    await set_policy(store, max_saved_events_per_type=3)
    await keeper.delete_batch()
    assert await outage_uids(store) == [*many[-2:], new_outage]
    await set_policy(store, max_saved_events_per_type=1, events_keep_days=1)
    await keeper.delete_batch()
    assert await outage_uids(store) == [new_outage]


async def outage_uids(store: Store) -> list[int]:
    async with store.read() as session:
        return list((await session.execute(select(Outage.uid).order_by(Outage.uid))).scalars())


async def test_events_are_deleted_in_batches(
    store: Store, keeper: Housekeeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_ROWS", 4)
    uids = [await add_event(store, days(100)) for _ in range(10)]
    assert await keeper.delete_batch()
    assert await event_uids(store) == uids[4:]
    assert await keeper.delete_batch()
    assert not await keeper.delete_batch()
    assert await event_uids(store) == uids[-1:]


async def add_audit_lines(store: Store, count: int) -> None:
    async with store.begin() as session:
        await audit.record_console_start(session, "1")
        for _ in range(count - 1):
            await audit.add(session, AuditContext(source="x", method="PUT", path="/v1/cluster"), "done")


async def audit_lines(store: Store) -> list[tuple[int, str]]:
    assert (await verify(store)).faults == []
    async with store.read() as session:
        return [(line.uid, line.detail) for line in await audit.list_after(session, 0, 100)]


async def test_removed_audit_lines_are_recorded_in_the_audit_log(store: Store, keeper: Housekeeping) -> None:
    await add_audit_lines(store, 3)
    later = Housekeeping(store, lambda: datetime.now(UTC) + days(402))
    assert not await later.delete_batch()
    # The newest line stays, so that the chain continues from it.
    ((third, _), (fourth, detail)) = await audit_lines(store)
    assert (third, fourth) == (3, 4)
    assert detail.startswith("Records 1 to 2 were removed by the retention policy (older than ")


async def test_the_audit_log_is_trimmed_at_most_once_a_day(store: Store, keeper: Housekeeping) -> None:
    await add_audit_lines(store, 3)
    await Housekeeping(store, lambda: datetime.now(UTC) + days(400.5)).delete_batch()
    assert [uid for uid, _ in await audit_lines(store)] == [1, 2, 3]


async def test_audit_lines_are_deleted_in_batches(
    store: Store, keeper: Housekeeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_ROWS", 2)
    await add_audit_lines(store, 6)
    later = Housekeeping(store, lambda: datetime.now(UTC) + days(402))
    assert await later.delete_batch(), "more lines are left to delete"
    assert [uid for uid, _ in await audit_lines(store)] == [3, 4, 5, 6, 7]
    while await later.delete_batch():
        await audit_lines(store)
    assert len(await audit_lines(store)) <= 2


async def test_the_audit_log_is_kept_without_a_limit_in_the_policy(store: Store, keeper: Housekeeping) -> None:
    await set_policy(store, audit_keep_days=0)
    await add_audit_lines(store, 3)
    await Housekeeping(store, lambda: datetime.now(UTC) + days(4000)).delete_batch()
    assert [uid for uid, _ in await audit_lines(store)] == [1, 2, 3]


async def test_a_line_with_a_wrong_date_does_not_delete_other_lines(store: Store, keeper: Housekeeping) -> None:
    await add_audit_lines(store, 6)
    async with store.begin() as session:
        row = await session.get(AuditLine, 5)
        assert row is not None
        row.time = NOW - days(20_000)
    async with store.begin() as session:
        assert await audit.delete_before(session, NOW - days(400), 1000) == 0
    async with store.read() as session:
        assert len(await audit.list_after(session, 0, 100)) == 6


async def test_old_restores_are_deleted_except_the_newest_of_each_database(store: Store, keeper: Housekeeping) -> None:
    async with store.begin() as session:
        for uid, (bdb_uid, age, kind) in enumerate(
            [
                (1, 50, "restore"),
                (1, 40, "import"),
                (1, 35, "inspection"),
                (2, 60, "restore"),
                (2, 40, "inspection"),
                (2, 1, "inspection"),
                (3, 90, "restore"),
                (3, 1, "restore"),
                (4, 50, "restore"),
            ],
            start=1,
        ):
            session.add(finished_restore(uid, bdb_uid, kind, NOW - days(age)))
        for uid in (1, 2, 3):
            session.add(database(uid))
        session.add(transfer("a" * 32, 1, is_stored=False))
        session.add(transfer("b" * 32, 7, is_stored=True))
    await keeper.delete_batch()
    async with store.read() as session:
        kept = (await session.execute(select(Restore.uid).order_by(Restore.uid))).scalars().all()
        transfers = (await session.execute(select(Transfer.uid))).scalars().all()
    assert kept == [2, 4, 6, 7, 8], "the newest ones of existing databases, recent ones, and those on a node"
    assert transfers == ["b" * 32]


def database(uid: int) -> Bdb:
    return Bdb(
        uid=uid,
        name="shop",
        status="active",
        memory_size=0,
        port=10_000 + uid,
        sharding=False,
        shards_count=1,
        replication=False,
        config={},
        admin_password="",
        created_at=NOW,
        changed_at=NOW,
    )


def finished_restore(uid: int, bdb_uid: int, kind: str, finished_at: datetime) -> Restore:
    return Restore(
        uid=uid,
        bdb_uid=bdb_uid,
        bdb_name="shop",
        kind=kind,
        source="a.rdb",
        sources=[],
        mode="replace",
        status="succeeded",
        created_at=finished_at,
        finished_at=finished_at,
        originator="admin",
        action_uid="",
    )


def transfer(uid: str, restore_uid: int, *, is_stored: bool) -> Transfer:
    return Transfer(
        uid=uid,
        restore_uid=restore_uid,
        node_uid=1,
        kind="restore",
        status="succeeded",
        is_stored_on_node=is_stored,
        created_at=NOW,
        finished_at=NOW,
    )
