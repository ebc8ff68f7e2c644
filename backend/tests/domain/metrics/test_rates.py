"""Tests of rates.

Restarts, resets and long pauses are gaps. A sum with an unknown part is unknown.
"""

from array import array
from collections.abc import Sequence
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.contract import NODE_FIELDS, SHARD_FIELDS
from shardboard.domain.metrics import rates, shard_rates
from shardboard.domain.metrics.rates import BDB_METRICS, MAX_STEP, NODE_METRICS, SHARD_METRICS, Value
from shardboard.domain.metrics.shard_rates import COUNTERS, GAUGES, ROW, ShardRates

RATES = ShardRates(SHARD_FIELDS)

ONLY_GROW = list(COUNTERS)[:8]
counters = st.none() | st.integers(0, 2**50).map(float)
raws = st.fixed_dictionaries(dict.fromkeys(SHARD_FIELDS, counters)).flatmap(
    lambda fields: st.builds(
        lambda primary, started_at, boot: {**fields, "is_primary": primary, "started_at": started_at, "boot": boot},
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([100.0, 200.0]),
        st.sampled_from([1.0, 2.0]),
    )
)


def raw(**changes: Value) -> dict[str, Value]:
    return {**dict.fromkeys(SHARD_FIELDS, 0.0), "is_primary": 1.0, "started_at": 100.0, "boot": 1.0, **changes}


def pack(values: dict[str, Value]) -> "array[float]":
    return RATES.pack([values[name] for name in SHARD_FIELDS], values["boot"] or 0.0)


def row(now: dict[str, Value], before: dict[str, Value] | None, seconds: float) -> "array[float]":
    return RATES.row(pack(now), None if before is None else pack(before), seconds)


def second(seconds: int = 1, before: dict[str, Value] | None = None, **changes: Value) -> "array[float]":
    return row(raw(**changes), raw() if before is None else before, seconds)


def named(found: Sequence[Value], names: Sequence[str] = ROW) -> dict[str, Value]:
    return {name: None if value is None or isnan(value) else value for name, value in zip(names, found, strict=True)}


@given(raws, st.none() | raws, st.integers(-5, 20))
def test_rates_are_not_negative_and_do_not_span_a_restart_or_reset(
    now: dict[str, Value], before: dict[str, Value] | None, seconds: int
) -> None:
    shard = named(row(now, before, seconds))
    comparable = (
        before is not None
        and (before["started_at"], before["boot"]) == (now["started_at"], now["boot"])
        and 0 < seconds <= MAX_STEP
    )
    increases = {
        metric: None if (a := now[field]) is None or before is None or (b := before[field]) is None else a - b
        for metric, field in COUNTERS.items()
    }
    reset = any((increases[metric] or 0) < 0 for metric in ONLY_GROW)
    for metric, delta in increases.items():
        if not comparable or reset or delta is None or delta < 0:
            assert shard[metric] is None
        else:
            assert shard[metric] == pytest.approx(delta / seconds)
    ratio = shard["hit_ratio"]
    assert ratio is None or 0 <= ratio <= 1
    parts = [shard[name] for name in ("read_req", "write_req", "other_req")]
    assert (shard["total_req"] is None) == (None in parts)
    assert shard["main_thread_cpu_user"] is None or shard["main_thread_cpu_user"] >= 0


@given(raws)
def test_gauges_are_reported_unchanged(now: dict[str, Value]) -> None:
    shard = named(row(now, None, 0))
    for metric, field in GAUGES.items():
        assert shard[metric] == (None if now[field] is None else pytest.approx(now[field]))


histories = st.lists(
    st.tuples(
        st.sampled_from(["continue", "continue", "continue", "restart", "reset", "missing"]),
        st.dictionaries(st.sampled_from(["read_cmds", "write_cmds", "other_cmds", "hits"]), st.integers(0, 1000)),
    ),
    max_size=40,
)


@given(histories)
def test_rates_are_correct_across_restarts_resets_and_gaps(history: list[tuple[str, dict[str, int]]]) -> None:
    """The engine is restarted and reset at random. A rate is exact, unknown, or too low if the counters do not show a reset."""
    counters = dict.fromkeys(("read_cmds", "write_cmds", "other_cmds", "hits"), 0)
    started_at, before, elapsed, expected_increases, interruptions = (
        100.0,
        None,
        0,
        dict.fromkeys(counters, 0),
        set[str](),
    )
    for occurrence, increments in history:
        elapsed += 1
        if occurrence in ("restart", "reset"):
            interruptions.add(occurrence)
            counters = dict.fromkeys(counters, 0)
            started_at += occurrence == "restart"
        for name, count in increments.items():
            counters[name] += count
            expected_increases[name] += count
        if occurrence == "missing":
            continue
        now = raw(started_at=started_at, **{name: float(count) for name, count in counters.items()})
        shard = named(row(now, before, elapsed))
        for metric, name in (("read_req", "read_cmds"), ("write_req", "write_cmds"), ("read_hits", "hits")):
            rate = shard[metric]
            if before is None or "restart" in interruptions or elapsed > MAX_STEP:
                assert rate is None
            elif not interruptions:
                assert rate == pytest.approx(expected_increases[name] / elapsed)
            elif rate is not None:
                assert 0 <= rate * elapsed <= expected_increases[name] * (1 + 1e-6)
        before, elapsed, expected_increases, interruptions = now, 0, dict.fromkeys(counters, 0), set()


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
def test_incomparable_samples_are_a_gap(before: dict[str, Value], seconds: int) -> None:
    shard = named(second(seconds, before, read_cmds=10.0))
    assert shard["read_req"] is None
    assert shard["total_req"] is None


def test_rate_across_a_missing_second_is_averaged() -> None:
    assert named(second(2, raw(read_cmds=10.0), read_cmds=50.0))["read_req"] == 20


def test_hit_ratio_is_unknown_without_reads() -> None:
    assert named(second())["hit_ratio"] is None
    assert named(second(hits=3.0, misses=1.0))["hit_ratio"] == 0.75


@given(st.lists(st.none() | st.floats(0, 1e9), max_size=8))
def test_sum_with_an_unknown_part_is_unknown(values: list[Value]) -> None:
    total = rates.add(values)
    if None in values:
        assert total is None
    else:
        assert total == pytest.approx(sum(value for value in values if value is not None))


@given(
    st.lists(st.tuples(raws, st.none() | raws), min_size=1, max_size=6), st.lists(st.integers(0, 10**6), max_size=30)
)
def test_database_value_is_unknown_if_a_primary_is_unknown(
    samples: list[tuple[dict[str, Value], dict[str, Value] | None]], probes: list[int]
) -> None:
    primaries = [row(now, before, 1) for now, before in samples if now["is_primary"] == 1]
    replicas = [row(now, before, 1) for now, before in samples if now["is_primary"] == 0]
    values = named(shard_rates.database(primaries, replicas, probes), BDB_METRICS)
    for name in ("total_req", "read_req", "ingress_bytes", "no_of_keys", "evicted_objects"):
        parts = [named(shard)[name] for shard in primaries]
        assert (values[name] is None) == (not parts or None in parts)
    memory_values = [named(shard)["used_memory"] for shard in (*primaries, *replicas)]
    assert (values["used_memory"] is None) == (None in memory_values)
    assert values["hit_ratio"] is None or 0 <= values["hit_ratio"] <= 1
    assert all(value is None or value >= 0 for value in values.values())
    p50, p99 = values["p50_responsiveness"], values["p99_responsiveness"]
    if not probes:
        assert (p50, p99) == (None, None)
    else:
        assert p50 is not None
        assert p99 is not None
        assert p50 <= p99 <= max(probes) / 1000
        assert sum(probe / 1000 <= p99 for probe in probes) >= 0.99 * len(probes)


def test_database_has_traffic_of_primaries_and_memory_of_all_shards() -> None:
    primary = second(read_cmds=100.0, keys=7.0, used_memory=1000.0, used_memory_rss=3000.0, clients=4.0, ping_ms=1.0)
    replica = row(
        raw(is_primary=0.0, write_cmds=9.0, keys=7.0, used_memory=500.0, used_memory_rss=1500.0, ping_ms=6.0),
        raw(is_primary=0.0),
        1,
    )
    values = named(shard_rates.database([primary], [replica], [1000] * 99 + [6000]), BDB_METRICS)
    expected = {"total_req": 100.0, "write_req": 0.0, "no_of_keys": 7.0, "used_memory": 1500.0, "conns": 4.0}
    assert {name: values[name] for name in expected} == expected
    assert values["mem_frag_ratio"] == 3.0
    assert (values["responsiveness"], values["p99_responsiveness"], values["p50_responsiveness"]) == (6, 1, 1)


def test_database_without_a_primary_has_no_traffic() -> None:
    values = named(shard_rates.database([], [second(is_primary=0.0, used_memory=5.0)], []), BDB_METRICS)
    assert values["total_req"] is None
    assert values["read_hits"] is None
    assert values["used_memory"] == 5.0


def machine(**changes: float) -> dict[str, Value]:
    return {**dict.fromkeys(NODE_FIELDS, 0.0), **changes}


cpu_times = st.fixed_dictionaries(
    {name: st.floats(0, 1e6) for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")}
)


NO_SHARDS: dict[str, Value] = {"total_req": 0.0, "used_memory": 0.0, "conns": 0.0, "cur_aof_rewrites": 0.0}


@given(cpu_times, cpu_times, st.integers(1, 20))
def test_cpu_shares_add_up_to_one(now: dict[str, Any], before: dict[str, Any], seconds: int) -> None:
    values = named(rates.node(machine(**now), machine(**before), seconds, NO_SHARDS), NODE_METRICS)
    shares = [values[name] for name in ("cpu_user", "cpu_system", "cpu_iowait", "cpu_idle")]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    if None not in shares:
        assert sum(share for share in shares if share is not None) == pytest.approx(1)
    assert seconds <= MAX_STEP or shares == [None] * 4


def test_node_values_combine_machine_and_shards() -> None:
    now = machine(
        net_in=300.0, disk_write=40.0, agent_cpu=1.5, cpu_user=4.0, cpu_idle=4.0, cpu_nice=1.0, pressure_io=0.5
    )
    before = machine(net_in=100.0, agent_cpu=1.0)
    values = named(rates.node(now, before, 2, {**NO_SHARDS, "total_req": 10.0, "conns": 2.0}), NODE_METRICS)
    expected = {"ingress_bytes": 100.0, "disk_write_bytes": 20.0, "agent_cpu": 0.25, "total_req": 10.0, "conns": 2.0}
    expected |= {"cpu_user": 0.5, "cpu_nice": 0.125, "cpu_iowait": 0.0, "io_pressure": 0.25, "cpu_pressure": 0.0}
    assert {name: values[name] for name in expected} == expected


def test_values_missing_from_the_kernel_are_unknown() -> None:
    without_pressure = {**machine(), "pressure_cpu": None}
    assert named(rates.node(without_pressure, without_pressure, 1, NO_SHARDS), NODE_METRICS)["cpu_pressure"] is None


def test_first_sample_of_a_node_has_only_gauges() -> None:
    values = named(rates.node(machine(free_memory=5.0, net_in=9.0), None, 0, NO_SHARDS), NODE_METRICS)
    assert values["free_memory"] == 5.0
    assert values["ingress_bytes"] is None
    assert values["total_req"] == 0


def test_row_starts_with_the_metrics_of_a_shard() -> None:
    assert ROW[: len(SHARD_METRICS)] == SHARD_METRICS
    assert len(second()) == len(ROW)
