"""Shards that are read as plain rows have the values of their ORM objects."""

from datetime import UTC, datetime

from shardboard.domain.databases.shard_status import DesiredState, ShardStatus
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.state.databases import shards
from shardboard.state.databases.shards import Shard, StoredCondition
from shardboard.store.db import Store


async def test_plain_rows(store: Store) -> None:
    async with store.begin() as session:
        for uid in range(1, 6):
            shard = Shard.planned(uid, 1 + uid % 2, 1, uid, ShardRole.REPLICA, "0-9", 20_000 + uid)
            shard.set_role(ShardRole.PRIMARY, datetime.now(UTC))
            shard.observed_started_at, shard.observed_pid = datetime(2026, 1, 2, tzinfo=UTC), uid
            session.add(shard)
        shard.desired = DesiredState.ABSENT
        await session.flush()
        (await shards.list_all(session))[0].observed_status = ShardStatus.TIMEOUT
    async with store.read() as session:
        objects = await shards.list_all(session)
        rows = await shards.list_conditions(session)
        assert [row.uid for row in rows] == [1, 2, 3, 4]
        for name in (*StoredCondition._fields, "current_role"):
            assert [getattr(row, name) for row in rows] == [getattr(each, name) for each in objects], name
        assert [row.uid for row in await shards.list_conditions(session, bdb_uid=2)] == [1, 3]
        assert [row.uid for row in await shards.list_conditions(session, status=ShardStatus.TIMEOUT)] == [1]
        assert [row.uid for row in await shards.list_of_pair(session, 2, 3)] == [3]
