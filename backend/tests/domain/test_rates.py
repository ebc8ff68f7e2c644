"""Rates: a restart, a reset and a missing second are gaps; a sum with an unknown part is unknown."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shardboard.agent.contract import NODE_FIELDS, SHARD_FIELDS
from shardboard.domain import rates
from shardboard.domain.rates import BDB_METRICS, MAX_STEP, NODE_METRICS, SHARD_METRICS, ShardSecond, Value

RATED = {
    "read_req": "read_cmds",
    "write_req": "write_cmds",
    "other_req": "other_cmds",
    "ingress_bytes": "net_in",
    "egress_bytes": "net_out",
    "evicted_objects": "evicted",
    "expired_objects": "expired",
    "main_thread_cpu": "cpu",
}
counters = st.none() | st.integers(0, 2**50).map(float)
raws = st.fixed_dictionaries(dict.fromkeys(SHARD_FIELDS, counters)).flatmap(
    lambda fields: st.builds(
        lambda primary, started, boot: {**fields, "is_primary": primary, "started_at": started, "boot": boot},
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([100.0, 200.0]),
        st.sampled_from([1.0, 2.0]),
    )
)


def raw(**changes: Value) -> dict[str, Value]:
    return {**dict.fromkeys(SHARD_FIELDS, 0.0), "is_primary": 1.0, "started_at": 100.0, "boot": 1.0, **changes}


def second(seconds: int = 1, before: dict[str, Value] | None = None, **changes: Value) -> ShardSecond:
    return ShardSecond(raw(**changes), raw() if before is None else before, seconds)


def named(row: list[Value], names: tuple[str, ...]) -> dict[str, Value]:
    return dict(zip(names, row, strict=True))


@given(raws, st.none() | raws, st.integers(-5, 20))
def test_no_rate_is_ever_negative_and_none_crosses_a_restart(
    now: dict[str, Value], before: dict[str, Value] | None, seconds: int
) -> None:
    shard = ShardSecond(now, before, seconds)
    comparable = (
        before is not None
        and (before["started_at"], before["boot"]) == (now["started_at"], now["boot"])
        and 0 < seconds <= MAX_STEP
    )
    for metric, counter in RATED.items():
        value = shard.metrics[metric]
        assert value is None or value >= 0
        if not comparable:
            assert value is None
        elif value is not None and before is not None:
            assert value == pytest.approx(((now[counter] or 0) - (before[counter] or 0)) / seconds)
    ratio = shard.metrics["hit_ratio"]
    assert ratio is None or 0 <= ratio <= 1
    parts = [shard.metrics[name] for name in ("read_req", "write_req", "other_req")]
    assert (shard.metrics["total_req"] is None) == (None in parts)


@pytest.mark.parametrize(
    ("before", "seconds"),
    [
        (raw(read_cmds=5.0, started_at=90.0), 1),
        (raw(read_cmds=5.0, boot=2.0), 1),
        (raw(read_cmds=50.0), 1),
        (raw(read_cmds=None), 1),
        (raw(read_cmds=5.0), MAX_STEP + 1),
        (raw(read_cmds=5.0), 0),
    ],
    ids=["restarted", "another agent process", "reset", "unknown before", "too long ago", "same second"],
)
def test_what_cannot_be_compared_is_a_gap(before: dict[str, Value], seconds: int) -> None:
    shard = second(seconds, before, read_cmds=10.0)
    assert shard.metrics["read_req"] is None
    assert shard.metrics["total_req"] is None


def test_a_missing_second_is_bridged_not_doubled() -> None:
    assert second(2, raw(read_cmds=10.0), read_cmds=50.0).metrics["read_req"] == 20


def test_without_reads_there_is_no_hit_ratio() -> None:
    assert second().metrics["hit_ratio"] is None
    assert second(hits=3.0, misses=1.0).metrics["hit_ratio"] == 0.75


@given(st.lists(st.none() | st.floats(0, 1e9), max_size=8))
def test_a_sum_is_unknown_as_soon_as_a_part_is(values: list[Value]) -> None:
    total = rates.add(values)
    if None in values:
        assert total is None
    else:
        assert total == pytest.approx(sum(value for value in values if value is not None))


@given(st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
def test_shares_stay_between_0_and_1(part: Value, rest: Value) -> None:
    value = rates.share(part, rest)
    assert value is None or 0 <= value <= 1


@given(st.lists(st.tuples(raws, st.none() | raws), min_size=1, max_size=6))
def test_a_database_is_unknown_where_one_of_its_primaries_is(
    samples: list[tuple[dict[str, Value], dict[str, Value] | None]],
) -> None:
    shards = [ShardSecond(now, before, 1) for now, before in samples]
    row = named(rates.database(shards), BDB_METRICS)
    primaries = [shard for shard in shards if shard.is_primary]
    for name in ("total_req", "read_req", "ingress_bytes", "no_of_keys", "evicted_objects"):
        parts = [shard.metrics[name] for shard in primaries]
        assert (row[name] is None) == (not parts or None in parts)
    assert (row["used_memory"] is None) == any(shard.metrics["used_memory"] is None for shard in shards)
    assert row["hit_ratio"] is None or 0 <= row["hit_ratio"] <= 1
    assert all(value is None or value >= 0 for value in row.values())


def test_traffic_is_that_of_the_primaries_and_memory_that_of_all() -> None:
    primary = second(read_cmds=100.0, keys=7.0, used_memory=1000.0, used_memory_rss=3000.0, clients=4.0, ping_ms=1.0)
    replica = ShardSecond(
        raw(is_primary=0.0, write_cmds=9.0, keys=7.0, used_memory=500.0, used_memory_rss=1500.0, ping_ms=6.0),
        raw(is_primary=0.0),
        1,
    )
    row = named(rates.database([primary, replica]), BDB_METRICS)
    expected = {"total_req": 100.0, "write_req": 0.0, "no_of_keys": 7.0, "used_memory": 1500.0, "conns": 4.0}
    assert {name: row[name] for name in expected} == expected
    assert row["mem_frag_ratio"] == 3.0
    assert row["responsiveness"] == 6.0


def test_a_database_without_a_living_primary_has_no_traffic_at_all() -> None:
    row = named(rates.database([second(is_primary=0.0, used_memory=5.0)]), BDB_METRICS)
    assert row["total_req"] is None
    assert row["read_hits"] is None
    assert row["used_memory"] == 5.0


def machine(**changes: float) -> dict[str, Value]:
    return {**dict.fromkeys(NODE_FIELDS, 0.0), **changes}


cpu_times = st.fixed_dictionaries(
    {name: st.floats(0, 1e6) for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")}
)


@given(cpu_times, cpu_times, st.integers(1, 20))
def test_processor_shares_are_shares(now: dict[str, Any], before: dict[str, Any], seconds: int) -> None:
    row = named(rates.node(machine(**now), machine(**before), seconds, []), NODE_METRICS)
    shares = [row[name] for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    if None not in shares:
        assert sum(share for share in shares if share is not None) == pytest.approx(1)
    assert seconds <= MAX_STEP or shares == [None] * 4


def test_a_node_adds_up_its_own_shards() -> None:
    shards = [
        second(read_cmds=10.0, used_memory=100.0, clients=2.0),
        second(is_primary=0.0, write_cmds=5.0, used_memory=50.0, clients=1.0, before=raw(is_primary=0.0)),
    ]
    now, before = machine(net_in=300.0, disk_write=40.0, agent_cpu=1.5), machine(net_in=100.0, agent_cpu=1.0)
    row = named(rates.node(now, before, 2, shards), NODE_METRICS)
    expected = {"ingress_bytes": 100.0, "disk_write_bytes": 20.0, "agent_cpu": 0.25, "total_req": 10.0}
    assert {name: row[name] for name in expected} == expected
    assert (row["used_memory"], row["conns"]) == (150.0, 2.0)


def test_the_first_sample_of_a_node_has_gauges_only() -> None:
    row = named(rates.node(machine(free_memory=5.0, net_in=9.0), None, 0, []), NODE_METRICS)
    assert row["free_memory"] == 5.0
    assert row["ingress_bytes"] is None
    assert row["total_req"] == 0


@given(raws)
def test_a_row_has_the_order_of_its_metrics(now: dict[str, Value]) -> None:
    assume(now["keys"] is not None)
    row = ShardSecond(now, None, 0).row()
    assert len(row) == len(SHARD_METRICS)
    assert named(row, SHARD_METRICS)["no_of_keys"] == now["keys"]
