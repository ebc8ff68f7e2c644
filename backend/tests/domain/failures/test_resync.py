"""Tests of the progress of a resync from INFO of both sides, with random values and with sequences of Valkey 8.0.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.resync import (
    PHASES,
    ResyncPoll,
    ResyncProgress,
    advance,
    load_seconds,
    never_behind,
    parse_poll,
    start,
)

numbers = st.integers(-(10**12), 10**12).map(str)
flags = st.sampled_from(("0", "1"))
replicas = st.fixed_dictionaries(
    {},
    optional={
        "master_link_status": st.sampled_from(("up", "down")),
        "master_sync_in_progress": flags,
        "master_sync_read_bytes": numbers,
        "master_sync_left_bytes": numbers,
        "master_sync_total_bytes": numbers,
        "loading": flags,
        "async_loading": flags,
        "loading_loaded_perc": st.floats(0, 200).map("{:.2f}".format),
        "loading_loaded_bytes": numbers,
        "loading_total_bytes": numbers,
        "rdb_last_load_keys_loaded": numbers,
        "slave_repl_offset": numbers,
    },
)
primaries = st.fixed_dictionaries(
    {},
    optional={
        "rdb_bgsave_in_progress": flags,
        "current_save_keys_processed": numbers,
        "current_save_keys_total": numbers,
        "master_repl_offset": numbers,
        "used_memory_dataset": numbers,
    },
)


@given(replicas, primaries)
def test_progress_of_one_poll_is_within_bounds(replica: dict[str, str], primary: dict[str, str]) -> None:
    progress = parse_poll(replica, primary)
    assert progress.share is None or 0 <= progress.share <= 1
    assert progress.transferred >= 0
    assert (progress.phase in ("catching_up", "in_sync")) == (replica.get("master_link_status") == "up")


@given(
    st.lists(st.tuples(replicas, primaries, st.floats(-5, 100)), min_size=1, max_size=12),
    st.none() | st.floats(1, 10**9),
)
def test_progress_never_decreases(
    polls: list[tuple[dict[str, str], dict[str, str], float]], load_rate: float | None
) -> None:
    """Progress does not decrease, even if the clock is set back."""
    previous, moment = ResyncProgress(), 1000.0
    for replica, primary, seconds in polls:
        moment += seconds
        now = advance(previous, parse_poll(replica, primary), moment, load_rate)
        assert previous.percent <= now.percent <= 100
        assert (now.percent == 100) >= (now.poll.phase == "in_sync")
        assert now.poll.share is None or 0 <= now.poll.share <= 1
        assert now.seconds_left is None or now.seconds_left >= 0
        assert now.poll.transferred >= previous.poll.transferred
        assert PHASES.index(now.poll.phase) >= PHASES.index(previous.poll.phase)
        previous = now


@given(st.lists(st.floats(0.1, 3), min_size=8, max_size=40), st.floats(0.001, 0.1))
def test_percent_and_time_left_are_exact_at_constant_speed(pauses: list[float], speed: float) -> None:
    resync_state, moment = ResyncProgress(), 0.0
    for pause in pauses:
        share = moment * speed
        if share >= 1:
            break
        resync_state = advance(resync_state, ResyncPoll("transfer", 1, share=share), moment)
        if resync_state.seconds_left is not None:
            assert resync_state.seconds_left == pytest.approx(1 / speed - moment, rel=1e-6)
            assert resync_state.percent == pytest.approx(min(99, 100 * share), rel=1e-6, abs=1e-6)
        moment += pause


def test_new_attempt_does_not_reduce_reported_progress() -> None:
    loading = ResyncPoll("load", 900)
    assert never_behind(loading, ResyncPoll("transfer", 10)) == loading, (
        "the share is the same but the phase is earlier"
    )
    assert never_behind(loading, ResyncPoll("waiting", 0)) == loading
    assert never_behind(None, loading) == loading


def test_speed_is_based_on_recent_progress() -> None:
    estimate = start(0, 0.0)
    assert estimate.left(0.1, 0.05) is None, "too early for an estimate"
    for moment in range(1, 9):
        estimate = estimate.updated(moment, moment / 80)  # 80 s in total
    assert estimate.left(8, 0.1) == pytest.approx(72)
    for moment in range(9, 25):
        estimate = estimate.updated(moment, 0.1 + (moment - 8) / 20)  # four times as fast
    assert estimate.left(24, 0.9) == pytest.approx(2)
    assert estimate.left(25, 1.0) == 0
    restarted = estimate.updated(26, 0.1)
    assert restarted == start(26, 0.1), "a new attempt resets the speed"


DOWN = {"master_link_status": "down"}
SYNC = DOWN | {"master_sync_in_progress": "1", "loading": "0"}
SAVING = {"rdb_bgsave_in_progress": "1", "current_save_keys_total": "500000", "used_memory_dataset": "800000000"}
LOADING = SYNC | {"loading": "1"}
SENT = LOADING | {"loading_total_bytes": "480000000"}


def processed(count: int) -> dict[str, str]:
    return SAVING | {"current_save_keys_processed": str(count)}


def loaded(keys: int, count: int) -> dict[str, str]:
    """Return INFO of an empty replica that loads directly from the connection."""
    return LOADING | {
        "loading_total_bytes": "0",
        "loading_loaded_perc": "1.25",
        "loading_eta_seconds": "78",
        "rdb_last_load_keys_loaded": str(keys),
        "loading_loaded_bytes": str(count),
    }


def test_empty_replica_loads_from_the_connection() -> None:
    """Percent and time reported by the replica are guesses based on the memory of the primary. Progress is derived from keys."""
    resync_state = ResyncProgress()
    steps = [
        (0.0, DOWN | {"master_sync_in_progress": "0"}, {"rdb_bgsave_in_progress": "0"}, "waiting", 0, None),
        (4.0, loaded(0, 0), processed(0), "transfer", 0, None),
        (6.0, loaded(100000, 90), processed(50000), "transfer", 20, 8),
        (9.0, loaded(250000, 230), processed(200000), "transfer", 50, 5),
        (13.0, loaded(450000, 410), {"rdb_bgsave_in_progress": "0"}, "transfer", 90, 1),
        (14.5, DOWN | {"master_sync_in_progress": "0", "loading": "0"}, {}, "transfer", 90, None),
        (15.0, {"master_link_status": "up"}, {}, "in_sync", 100, None),
    ]
    for moment, replica, primary, phase, percent, seconds_left in steps:
        resync_state = advance(resync_state, parse_poll(replica, primary), moment)
        assert (resync_state.poll.phase, round(resync_state.percent, 3)) == (phase, percent), moment
        assert resync_state.seconds_left == (seconds_left if seconds_left is None else pytest.approx(seconds_left)), (
            moment
        )
    assert resync_state.poll.transferred == 410


def test_non_empty_replica_loads_from_disk() -> None:
    """The replica reports no total and negative remaining bytes, and the count of the primary lags behind at first."""
    sync = SYNC | {"master_sync_total_bytes": "0", "master_sync_perc": "0.00"}

    def received_info(count: int) -> dict[str, str]:
        return sync | {"master_sync_read_bytes": str(count), "master_sync_left_bytes": str(-count)}

    resync_state = ResyncProgress()
    steps = [
        (0.0, sync | {"master_sync_read_bytes": "0"}, processed(0), "transfer", 0, None),
        (1.0, received_info(48_000_000), processed(0), "transfer", 0, None),
        (2.0, received_info(120_000_000), processed(125_000), "transfer", 0, None),
        (4.0, received_info(240_000_000), processed(125_000), "transfer", 40, 4 + 2),
        (8.0, received_info(480_000_000), processed(500_000), "transfer", 80, 0 + 2),
        (8.2, SENT | {"loading_loaded_perc": "0.00"}, SAVING, "load", 80.392, 2),
        (9.0, SENT | {"loading_loaded_perc": "50.00"}, {}, "load", 91.837, 0.8),
        (10.0, DOWN | {"master_sync_in_progress": "0", "loading": "0"}, {}, "load", 91.837, None),
        (10.0, {"master_link_status": "up"}, {}, "in_sync", 100, None),
    ]
    for moment, replica, primary, phase, percent, seconds_left in steps:
        resync_state = advance(resync_state, parse_poll(replica, primary), moment, load_rate=240e6)
        assert (resync_state.poll.phase, round(resync_state.percent, 3)) == (phase, percent), moment
        assert resync_state.seconds_left == (seconds_left if seconds_left is None else pytest.approx(seconds_left)), (
            moment
        )
    assert resync_state.poll.transferred == 480_000_000
    assert resync_state.poll.total == 480_000_000


def test_disk_based_sync_has_a_size_once_it_is_sent() -> None:
    saving = SYNC | {"master_sync_total_bytes": "-1", "master_sync_left_bytes": "-1", "master_sync_perc": "-0.00"}
    progress = parse_poll(saving, processed(400000))
    assert (progress.phase, progress.share, progress.transferred) == ("transfer", 0.8, 0)
    assert never_behind(None, progress).share == 0.8
    sending = SYNC | {"master_sync_total_bytes": "82000000", "master_sync_left_bytes": "20500000"}
    progress = parse_poll(sending, {"rdb_bgsave_in_progress": "0"})
    assert (progress.phase, progress.share, progress.transferred) == ("transfer", 0.75, 61_500_000)


def test_online_state_reported_by_the_primary_is_ignored() -> None:
    """The primary reports `online` before the replica has loaded any data."""
    primary = {"slave0": "ip=127.0.0.1,port=20001,state=online,offset=1,lag=0,type=replica"}
    assert parse_poll(SENT | {"loading_loaded_perc": "1.00"}, primary).phase == "load"


def test_connected_replica_catches_up_with_later_writes() -> None:
    replica = {"master_link_status": "up", "slave_repl_offset": "1000000"}
    assert parse_poll(replica, {"master_repl_offset": "90000000"}) == ResyncPoll("catching_up", 0, lag=89_000_000)
    assert parse_poll(replica, {"master_repl_offset": "1500000"}).phase == "in_sync", "a small lag is normal under load"
    assert parse_poll({"master_link_status": "up"}, {"master_repl_offset": "90000000"}).phase == "in_sync"


def test_lag_determines_the_time_left_while_catching_up() -> None:
    resync_state = advance(ResyncProgress(), ResyncPoll("catching_up", 0, lag=100), 0.0)
    assert resync_state.seconds_left is None
    resync_state = advance(resync_state, ResyncPoll("catching_up", 0, lag=25), 3.0)
    assert resync_state.seconds_left == pytest.approx(1.0)
    assert resync_state.percent == pytest.approx(75)
    resync_state = advance(resync_state, ResyncPoll("catching_up", 0, lag=200), 4.0)
    assert resync_state.seconds_left is None, "the lag increases"
    assert resync_state.percent == pytest.approx(75)


def test_total_size_is_kept_and_at_least_the_received_bytes() -> None:
    loading = never_behind(ResyncPoll("transfer", 1040), ResyncPoll("load", 0, total=1000))
    assert (loading.total, loading.transferred) == (1040, 1040)
    assert never_behind(loading, ResyncPoll("catching_up", 0)).total == 1040


def test_progress_between_key_counts_is_derived_from_bytes() -> None:
    """The primary updates its key count every one or two seconds. Progress between updates is derived from received bytes."""
    saving = {"rdb_bgsave_in_progress": "1", "current_save_keys_total": "100", "current_save_keys_processed": "25"}

    def received_info(count: int, **changes: str) -> ResyncPoll:
        return parse_poll(SYNC | {"master_sync_read_bytes": str(count)}, saving | changes)

    first = never_behind(None, received_info(1000))
    assert first.share == 0.25
    later = never_behind(first, received_info(2000))
    assert later.share == 0.5
    assert never_behind(later, received_info(9000)).share == 0.99, (
        "progress is below 100% until the primary reports completion"
    )
    updated = never_behind(later, received_info(2200, current_save_keys_processed="50"))
    assert (updated.share, updated.phase_bytes) == (0.5, 4400)


@given(st.floats(0, 10**12), st.integers(0, 10**12), st.integers(0, 10**9), st.none() | st.floats(1, 10**9))
def test_more_data_takes_longer_to_load(size: float, memory: int, keys: int, rate: float | None) -> None:
    assert load_seconds(size, memory, keys, rate) >= 0
    assert load_seconds(size, memory, keys + 1, rate) >= load_seconds(size, memory, keys, rate)
    assert load_seconds(size, memory + 1, keys, rate) >= load_seconds(size, memory, keys, rate)


def test_load_time_uses_the_measured_rate() -> None:
    assert load_seconds(340e6, 400_000_000, 0) == 1.0, "the values are not compressed"
    assert load_seconds(34e6, 51_000_000 + 110_000_000, 1_000_000) == pytest.approx(0.1 + 1 + 1)
    assert load_seconds(340e6, 400_000_000, 10**9, rate=170e6) == 2.0
