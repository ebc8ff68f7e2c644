"""A console with a value for every metric."""

import time
from datetime import UTC, datetime

import pytest
from backend.tests.collectors.samples import BOOT, shard

from shardboard.collectors.metrics import endpoint_samples, live_metrics
from shardboard.collectors.metrics.live_metrics import ShardPlace
from shardboard.console import Console
from shardboard.contract import (
    ENDPOINT_FIELDS,
    NODE_FIELDS,
    SHARD_FIELDS,
    TIER_FIELDS,
    EndpointReading,
    ProxyReading,
    Sample,
)
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.databases.shards import Shard


@pytest.fixture
async def busy(console: Console, nodes: list[Node], monkeypatch: pytest.MonkeyPatch) -> Console:
    """Two seconds of a primary on flash, its machine and its endpoint, with a value for every metric."""
    for module in (live_metrics, endpoint_samples):
        monkeypatch.setattr(module, "MAX_AGE_SECONDS", 3600)  # the data must not become stale before the test reads it
    now, stamp = int(time.time()), datetime.now(UTC)
    async with console.store.begin() as session:
        session.add(
            Bdb(
                uid=1, name="x", status="active", memory_size=10**9, port=12000, sharding=True, shards_count=1,
                replication=False, config={}, admin_password="", endpoint_nodes=[1], created_at=stamp, changed_at=stamp,
            )
        )  # fmt: skip
        ports = {"port": 20011, "bus_port": 25011, "engine_id": "1" * 40}
        session.add(Shard(uid=11, bdb_uid=1, node_uid=1, pair=0, role="master", slots="0-1", **ports))
        node = await session.get_one(Node, nodes[0].uid)
        node.facts = {**node.facts, "flash_size": 10**9}
        for node in nodes[1:]:
            await session.delete(await session.get_one(Node, node.uid))
    console.live.set_members({11: ShardPlace(1, 0, 1)})
    for t in (now - 1, now):
        counter = float(t - now + 100)
        fields = dict.fromkeys(shard_fields(), counter)
        endpoint = EndpointReading(
            values=[float(index + 5) for index in range(len(ENDPOINT_FIELDS))],
            errors={"wrongtype": 1},
            latency={"read": [(300, 5)], "write": [(400, 6)], "other": [(500, 7)]},
        )
        console.live.ingest(
            1,
            Sample(
                seq=t, boot=BOOT, t=t, at=t + 0.1, node=[counter] * len(NODE_FIELDS), missing={}, died={}, pings={1: [90, 200]},
                shards={11: shard(**fields)}, tiers={11: [counter] * len(TIER_FIELDS)},
                proxy=ProxyReading(seconds=1.0, pid=7, started_ms=5000, threads=1, cpu=1.0, rss=1, databases={1: endpoint}),
            ),
        )  # fmt: skip
        console.live._publish(t, console.live._seconds[t])
    return console


def shard_fields() -> list[str]:
    return [name for name in SHARD_FIELDS if name not in ("pid", "started_at", "is_primary", "loading", "link_up")]
