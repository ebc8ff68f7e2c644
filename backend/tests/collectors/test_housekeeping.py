"""What is forgotten of events and actions, and what never is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from shardboard.collectors import housekeeping
from shardboard.collectors.housekeeping import Housekeeping
from shardboard.db import Store
from shardboard.orders import queue
from shardboard.queries.audit import check
from shardboard.state import actions, audit, cluster, events
from shardboard.state.actions import Action
from shardboard.state.audit import AuditLine, Deed
from shardboard.state.cluster import Cluster
from shardboard.state.events import Event
from shardboard.state.outages import Outage

pytestmark = pytest.mark.store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
async def keeper(store: Store) -> Housekeeping:
    async with store.begin() as session:
        session.add(Cluster(uid=1, name="c", created_at=NOW, bootstrap_state="completed", jwt_secret="x"))
    return Housekeeping(store, lambda: NOW)


async def told(store: Store, age: timedelta, type_: str = "shard_down", **columns: Any) -> int:
    """An event of this age; its uid."""
    async with store.begin() as session:
        event = events.record(session, type_, "Something happened.", source="shard")
        event.time = NOW - age
        for name, value in columns.items():
            setattr(event, name, value)
        await session.flush()
        return event.uid


async def kept(store: Store) -> list[int]:
    async with store.read() as session:
        return list((await session.execute(select(Event.uid).order_by(Event.uid))).scalars())


async def policy(store: Store, **changes: Any) -> None:
    async with store.begin() as session:
        row = await cluster.load_for_update(session)
        row.policy = {**row.policy, **changes}


def days(number: float) -> timedelta:
    return timedelta(days=number)


async def test_old_events_go_and_open_spans_stay(store: Store, keeper: Housekeeping) -> None:
    old, span, open_span, young = (
        await told(store, days(91)),
        await told(store, days(91), "resync", ended_at=NOW - days(90), details={"open": False}),
        await told(store, days(400), "node_failed", details={"open": True}),
        await told(store, days(89)),
    )
    assert not await keeper.sweep()
    assert await kept(store) == [open_span, young]
    assert old < span < open_span


async def test_the_newest_event_stays_whatever_its_age(store: Store, keeper: Housekeeping) -> None:
    await told(store, days(500))
    newest = await told(store, days(400))
    await keeper.sweep()
    assert await kept(store) == [newest]
    async with store.read() as session:
        assert await events.newest_uid(session) == newest


async def test_of_each_type_only_so_many_are_kept(store: Store, keeper: Housekeeping) -> None:
    await policy(store, max_saved_events_per_type=3)
    many = [await told(store, days(30 - number), "shard_up") for number in range(8)]
    few = [await told(store, days(40), "shard_down") for _ in range(3)]
    flood = [await told(store, timedelta(hours=number), "logout") for number in range(12)]
    await keeper.sweep()
    assert await kept(store) == [*many[-3:], *few, *flood], (
        "what is younger than a day stays: sessions may depend on it"
    )


async def test_nothing_goes_where_the_policy_says_so(store: Store, keeper: Housekeeping) -> None:
    await policy(store, events_keep_days=0, max_saved_events_per_type=0, actions_keep_days=0)
    uids = [await told(store, days(1000)) for _ in range(3)]
    await action(store, days(1000))
    await keeper.sweep()
    assert await kept(store) == uids
    async with store.read() as session:
        assert await actions.count(session) == 1


@pytest.mark.parametrize("days_kept", [739_000, 999_999_999_999, -1, "x", None])
async def test_whatever_the_store_holds_ends_nothing(store: Store, keeper: Housekeeping, days_kept: Any) -> None:
    await policy(store, events_keep_days=days_kept, max_saved_events_per_type=days_kept, actions_keep_days=days_kept)
    await told(store, days(10))
    await told(store, days(5))
    await keeper.sweep()
    assert len(await kept(store)) == 2


async def action(store: Store, age: timedelta, status: str = "completed") -> str:
    async with store.begin() as session:
        session.info["locked"] = True
        queued = queue.start(
            session, "SMCreateBDB", object_uid=1, description="x", originator="system", deadline=days(1)
        )
        await session.flush()
        finished = NOW - age if status in ("completed", "failed") else None
        changed = update(Action).where(Action.uid == queued.uid)
        await session.execute(changed.values(status=status, finished_at=finished, created_at=NOW - age))
        return queued.uid


async def test_finished_actions_go_and_open_ones_stay(store: Store, keeper: Housekeeping) -> None:
    for status in ("completed", "failed"):
        await action(store, days(31), status)
    stay = {
        await action(store, days(29)),
        await action(store, days(365), "running"),
        await action(store, days(365), "queued"),
    }
    await keeper.sweep()
    async with store.read() as session:
        assert {row.uid for row in await actions.recent(session)} == stay


async def outage(store: Store, age: timedelta) -> int:
    async with store.begin() as session:
        row = Outage(bdb_uid=1, seen_by=1, address="10.0.0.2", port=20000, slots="0-16383", waited=0, failed=0, lost=0)
        row.noticed_at = NOW - age
        row.noticed_ms = round(1000 * row.noticed_at.timestamp())
        session.add(row)
        await session.flush()
        return row.uid


async def test_outages_go_as_events_do(store: Store, keeper: Housekeeping) -> None:
    await outage(store, days(91))
    many = [await outage(store, days(10 - number)) for number in range(5)]
    young = await outage(store, timedelta(hours=23))
    await keeper.sweep()
    assert await outages_kept(store) == [*many, young]
    await policy(store, max_saved_events_per_type=3)
    await keeper.sweep()
    assert await outages_kept(store) == [*many[-2:], young]
    await policy(store, max_saved_events_per_type=1, events_keep_days=1)
    await keeper.sweep()
    assert await outages_kept(store) == [young]


async def outages_kept(store: Store) -> list[int]:
    async with store.read() as session:
        return list((await session.execute(select(Outage.uid).order_by(Outage.uid))).scalars())


async def test_much_goes_little_by_little(store: Store, keeper: Housekeeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "ROWS", 4)
    uids = [await told(store, days(100)) for _ in range(10)]
    assert await keeper.sweep()
    assert await kept(store) == uids[4:]
    assert await keeper.sweep()
    assert not await keeper.sweep()
    assert await kept(store) == uids[-1:]


async def lines(store: Store, count: int) -> None:
    async with store.begin() as session:
        await audit.begin(session, "1")
        for _ in range(count - 1):
            await audit.add(session, Deed(source="x", method="PUT", path="/v1/cluster"), "done")


async def trail(store: Store) -> list[tuple[int, str]]:
    assert (await check(store)).faults == []
    async with store.read() as session:
        return [(line.uid, line.detail) for line in await audit.after(session, 0, 100)]


async def test_old_lines_of_the_audit_trail_go_and_the_trail_says_so(store: Store, keeper: Housekeeping) -> None:
    await lines(store, 3)
    later = Housekeeping(store, lambda: datetime.now(UTC) + days(402))
    assert not await later.sweep()
    # The newest line stays: the chain goes on behind it.
    ((third, _), (fourth, said)) = await trail(store)
    assert (third, fourth) == (3, 4)
    assert said.startswith("Lines 1 to 2 were removed by the retention policy (older than ")


async def test_the_trail_is_cut_once_a_day_and_not_for_every_line(store: Store, keeper: Housekeeping) -> None:
    await lines(store, 3)
    await Housekeeping(store, lambda: datetime.now(UTC) + days(400.5)).sweep()
    assert [uid for uid, _ in await trail(store)] == [1, 2, 3]


async def test_lines_go_little_by_little(store: Store, keeper: Housekeeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "ROWS", 2)
    await lines(store, 6)
    later = Housekeeping(store, lambda: datetime.now(UTC) + days(402))
    assert await later.sweep(), "there is more"
    assert [uid for uid, _ in await trail(store)] == [3, 4, 5, 6, 7]
    while await later.sweep():
        await trail(store)
    assert len(await trail(store)) <= 2


async def test_the_trail_is_kept_for_ever_where_the_policy_says_so(store: Store, keeper: Housekeeping) -> None:
    await policy(store, audit_keep_days=0)
    await lines(store, 3)
    await Housekeeping(store, lambda: datetime.now(UTC) + days(4000)).sweep()
    assert [uid for uid, _ in await trail(store)] == [1, 2, 3]


async def test_a_line_that_a_wrong_clock_dated_takes_no_others_along(store: Store, keeper: Housekeeping) -> None:
    await lines(store, 6)
    async with store.begin() as session:
        row = await session.get(AuditLine, 5)
        assert row is not None
        row.time = NOW - days(20_000)
    async with store.begin() as session:
        assert await audit.forget_before(session, NOW - days(400), 1000) == 0
    async with store.read() as session:
        assert len(await audit.after(session, 0, 100)) == 6
