"""Tests of reading the metrics of one shard."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from shardboard.agent.databases.engine_client import EngineError, OwnTraffic
from shardboard.agent.databases.probe_rate import ProbeRate
from shardboard.agent.metrics.info import InfoReader
from shardboard.agent.metrics.pings import PingSampler
from shardboard.agent.metrics.polling import ShardPoller, ShardReading, _ShardPoll
from shardboard.contract import SHARD_FIELDS

INFO = "# Persistence\r\nloading:1\r\n\r\n# Replication\r\nrole:slave\r\nmaster_link_status:down\r\n\r\n"


class Connection:
    """Simulated connection that answers immediately."""

    idle = False
    last_seconds = 0.001

    def __init__(self, pong: object, info: str = INFO, cluster: object = None) -> None:
        self.pong, self.info, self.cluster = pong, info, cluster

    def send_packed(self, _: bytes, name: str, then: Callable[[Any], None]) -> None:
        replies = {"ping": self.pong, "info": self.info, "cluster": self.cluster}
        asyncio.get_running_loop().call_soon(then, replies[name])


def shard(*, cluster: bool = True) -> Any:
    bdb = SimpleNamespace(tier=None, cluster=cluster)
    record = SimpleNamespace(spec=SimpleNamespace(uid=1), bdb=bdb, pid=7, started_at=1.0, engine_version="9.1.2")
    return SimpleNamespace(record=record, own_traffic=OwnTraffic())


async def read_shard(pong: object) -> ShardReading | str:
    poll = _ShardPoll(shard(), InfoReader(), PingSampler(ProbeRate()))
    poll.begin(Connection(pong), {})
    return await poll.outcome


async def test_loading_shard_is_read_although_it_rejects_ping() -> None:
    reading = await read_shard(EngineError("LOADING Valkey is loading the dataset in memory"))
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("loading")] == 1
    assert reading.values[SHARD_FIELDS.index("link_up")] == 0
    assert reading.pings == [], "an error reply is not a latency measurement"


def test_a_transfer_is_not_counted_as_a_replica() -> None:
    replicas = ["slave0:ip=/state/3/valkey.sock:0,port=0,state=online,offset=0,lag=1,type=replica"]
    reader = InfoReader()
    for count in (1, 2):
        text = "\r\n".join(["# Replication", "role:master", f"connected_slaves:{len(replicas)}", *replicas, "", ""])
        assert reader.read(text).fields["connected_slaves"] == str(count - 1)
        replicas.append("slave1:ip=10.0.0.2,port=20001,state=online,offset=9,lag=0,type=replica")


@pytest.mark.parametrize("error_or_reply", ["NOAUTH Authentication required.", "the shard closed the connection"])
async def test_other_error_is_the_reason_of_a_missing_reading(error_or_reply: str) -> None:
    assert await read_shard(EngineError(error_or_reply)) == error_or_reply


async def test_reading_contains_the_ping_duration() -> None:
    reading = await read_shard("PONG")
    assert isinstance(reading, ShardReading)
    assert reading.pings == [1000]


PRIMARY = INFO.replace("slave", "master")


@pytest.mark.parametrize(
    ("error_or_reply", "cluster", "down"),
    [
        ("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n", True, 0.0),
        ("cluster_state:fail\r\ncluster_slots_assigned:16384\r\n", True, 1.0),
        (EngineError("ERR This instance has cluster support disabled"), False, None),
    ],
)
async def test_primary_reports_whether_its_cluster_is_down(
    error_or_reply: object, cluster: bool, down: float | None
) -> None:
    poll = _ShardPoll(shard(cluster=cluster), InfoReader(), PingSampler(ProbeRate()))
    poll.begin(Connection("PONG", PRIMARY, error_or_reply), {})
    reading = await poll.outcome
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("cluster_down")] == down


async def test_last_cluster_state_is_used_between_two_queries() -> None:
    poll = _ShardPoll(shard(), InfoReader(), PingSampler(ProbeRate()), 1.0)
    poll.begin(Connection("PONG", PRIMARY, EngineError("CLUSTER INFO was sent")), {})
    reading = await poll.outcome
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("cluster_down")] == 1.0


@pytest.mark.parametrize(("per_second", "sent"), [(10, 10), (5, 5), (1, 2)])
async def test_cluster_info_is_sent_less_often_on_a_crowded_machine(per_second: int, sent: int) -> None:
    """Each primary is queried in the first sample and then at least every five seconds."""
    rate = ProbeRate()
    rate.per_second = per_second
    readings, watched = ShardPoller(rate), shard()
    counting = CountingConnection("PONG", PRIMARY, "cluster_state:ok\r\n")
    watched.connection, watched.record.run_id = counting, "r"
    readings._classes = SimpleNamespace(cached=lambda _: {})  # type: ignore[assignment]
    for _ in range(10):
        [outcome] = await readings.poll([watched], 5)
        assert isinstance(outcome, ShardReading)
        assert outcome.values[SHARD_FIELDS.index("cluster_down")] == 0.0
    assert counting.cluster_infos in (sent, sent + 1)


class CountingConnection(Connection):
    closed = False
    cluster_infos = 0

    def send_packed(self, data: bytes, name: str, then: Callable[[Any], None]) -> None:
        self.cluster_infos += name == "cluster"
        super().send_packed(data, name, then)
