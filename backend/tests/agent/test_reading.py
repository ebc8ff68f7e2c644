"""One look at a shard, as its connection answers it."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from shardboard.agent.contract import SHARD_FIELDS
from shardboard.agent.info import InfoReader
from shardboard.agent.pings import Pings
from shardboard.agent.probe_rate import ProbeRate
from shardboard.agent.reading import Readings, ShardReading, _Look
from shardboard.agent.resp import EngineError, OwnTraffic

INFO = "# Persistence\r\nloading:1\r\n\r\n# Replication\r\nrole:slave\r\nmaster_link_status:down\r\n\r\n"


class Connection:
    """Answers at once."""

    idle = False
    last_seconds = 0.001

    def __init__(self, pong: object, info: str = INFO, cluster: object = None) -> None:
        self.pong, self.info, self.cluster = pong, info, cluster

    def ask(self, _: bytes, name: str, then: Callable[[Any], None]) -> None:
        replies = {"ping": self.pong, "info": self.info, "cluster": self.cluster}
        asyncio.get_running_loop().call_soon(then, replies[name])


def shard(*, cluster: bool = True) -> Any:
    bdb = SimpleNamespace(tier=None, cluster=cluster)
    record = SimpleNamespace(spec=SimpleNamespace(uid=1), bdb=bdb, pid=7, started_at=1.0, engine_version="9.1.2")
    return SimpleNamespace(record=record, own=OwnTraffic())


async def look(pong: object) -> ShardReading | str:
    made = _Look(shard(), InfoReader(), Pings(ProbeRate()))
    made.begin(Connection(pong), {})
    return await made.outcome


async def test_a_shard_that_loads_refuses_ping_and_is_read_all_the_same() -> None:
    reading = await look(EngineError("LOADING Valkey is loading the dataset in memory"))
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("loading")] == 1
    assert reading.values[SHARD_FIELDS.index("link_up")] == 0
    assert reading.pings == [], "a refusal says nothing of responsiveness"


@pytest.mark.parametrize("said", ["NOAUTH Authentication required.", "the shard closed the connection"])
async def test_any_other_refusal_is_the_reason_why_there_is_no_reading(said: str) -> None:
    assert await look(EngineError(said)) == said


async def test_what_a_ping_took_is_part_of_the_reading() -> None:
    reading = await look("PONG")
    assert isinstance(reading, ShardReading)
    assert reading.pings == [1000]


PRIMARY = INFO.replace("slave", "master")


@pytest.mark.parametrize(
    ("said", "cluster", "down"),
    [
        ("cluster_state:ok\r\ncluster_slots_assigned:16384\r\n", True, 0.0),
        ("cluster_state:fail\r\ncluster_slots_assigned:16384\r\n", True, 1.0),
        (EngineError("ERR This instance has cluster support disabled"), False, None),
    ],
)
async def test_a_primary_is_asked_whether_it_believes_its_cluster_to_be_whole(
    said: object, cluster: bool, down: float | None
) -> None:
    made = _Look(shard(cluster=cluster), InfoReader(), Pings(ProbeRate()))
    made.begin(Connection("PONG", PRIMARY, said), {})
    reading = await made.outcome
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("cluster_down")] == down


async def test_between_two_cluster_infos_the_last_state_is_used() -> None:
    made = _Look(shard(), InfoReader(), Pings(ProbeRate()), 1.0)
    made.begin(Connection("PONG", PRIMARY, EngineError("CLUSTER INFO was sent")), {})
    reading = await made.outcome
    assert isinstance(reading, ShardReading)
    assert reading.values[SHARD_FIELDS.index("cluster_down")] == 1.0


@pytest.mark.parametrize(("per_second", "sent"), [(10, 10), (5, 5), (1, 2)])
async def test_cluster_info_is_sent_less_often_on_a_crowded_machine(per_second: int, sent: int) -> None:
    """Each primary is asked at once, and again at the latest after five seconds."""
    rate = ProbeRate()
    rate.per_second = per_second
    readings, watched = Readings(rate), shard()
    counted = Counted("PONG", PRIMARY, "cluster_state:ok\r\n")
    watched.connection, watched.record.run_id = counted, "r"
    readings._classes = SimpleNamespace(known=lambda _: {})  # type: ignore[assignment]
    for _ in range(10):
        [outcome] = await readings.take([watched], 5)
        assert isinstance(outcome, ShardReading)
        assert outcome.values[SHARD_FIELDS.index("cluster_down")] == 0.0
    assert counted.cluster_infos in (sent, sent + 1)


class Counted(Connection):
    closed = False
    cluster_infos = 0

    def ask(self, data: bytes, name: str, then: Callable[[Any], None]) -> None:
        self.cluster_infos += name == "cluster"
        super().ask(data, name, then)
