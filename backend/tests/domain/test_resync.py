"""Progress of a resync, from what INFO says on both sides: made-up mixes, and sequences as Valkey 8.0.1 gives them."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.resync import PHASES, START, Progress, follow, load_start, look, remaining

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
        "loading_eta_seconds": numbers,
        "loading_total_bytes": numbers,
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
    },
)


@given(replicas, primaries)
def test_a_look_stays_within_its_phase(replica: dict[str, str], primary: dict[str, str]) -> None:
    seen = look(replica, primary)
    following = PHASES[min(PHASES.index(seen.phase) + 1, len(PHASES) - 1)]
    assert START[seen.phase] <= seen.percent <= START[following]
    assert seen.transferred >= 0
    assert (seen.phase in ("catching_up", "in_sync")) == (replica.get("master_link_status") == "up")


@given(st.lists(st.tuples(replicas, primaries), min_size=1, max_size=12))
def test_whatever_comes_nothing_goes_back(looks: list[tuple[dict[str, str], dict[str, str]]]) -> None:
    before = None
    for replica, primary in looks:
        now = follow(before, look(replica, primary))
        assert 0 <= now.percent <= 100
        if before is not None:
            assert now.percent >= before.percent
            assert now.transferred >= before.transferred
            assert PHASES.index(now.phase) >= PHASES.index(before.phase)
        before = now


def test_a_new_attempt_does_not_take_back_what_was_shown() -> None:
    loading = Progress("load", 50.0, 900)
    assert follow(loading, Progress("transfer", 50.0, 10)) == loading, "the same percent, an earlier phase"
    assert follow(loading, Progress("waiting", 0.0, 0)) == loading
    assert follow(None, loading) == loading


phases = st.builds(
    Progress,
    phase=st.sampled_from(PHASES),
    percent=st.floats(0, 100),
    transferred=st.integers(0, 10**12),
    eta_seconds=st.none() | st.floats(0, 10**6),
    share=st.none() | st.floats(0, 1),
    lag=st.none() | st.integers(0, 10**12),
)


@given(phases, st.floats(-10, 10**6), st.none() | st.integers(0, 10**12))
def test_what_remains_is_never_negative(now: Progress, seconds: float, first_lag: int | None) -> None:
    left = remaining(now, max(seconds, 0), first_lag)
    assert left is None or left >= 0


def test_what_remains_is_what_the_engine_tells() -> None:
    assert remaining(Progress("load", 60.0, 9, eta_seconds=7.0), 100.0) == 7.0
    half = Progress("transfer", 26.0, 9, share=0.5)
    assert remaining(half, 4.0) == 4.0 + 8.0, "the other half, and a load as long as the whole transfer"
    assert remaining(Progress("transfer", 2.0, 9, share=0.01), 4.0) is None, "too early to say"
    behind = Progress("catching_up", 98.0, 9, lag=25)
    assert remaining(behind, 3.0, first_lag=100) == 1.0
    assert remaining(behind, 3.0, first_lag=25) is None, "it falls no further behind, and no less"


DOWN = {"master_link_status": "down"}
SYNC = DOWN | {"master_sync_in_progress": "1", "loading": "0"}
SAVING = {"rdb_bgsave_in_progress": "1", "current_save_keys_total": "500000"}
LOADING = SYNC | {"loading": "1"}


def test_a_diskless_sync() -> None:
    """The replica knows no total, its left bytes are negative, and the primary's count lags behind at first."""
    read = SYNC | {"master_sync_total_bytes": "0", "master_sync_perc": "0.00"}
    steps = [
        (DOWN | {"master_sync_in_progress": "0"}, {"rdb_bgsave_in_progress": "0"}, "waiting", 0.0),
        (read | {"master_sync_read_bytes": "0"}, SAVING | {"current_save_keys_processed": "0"}, "transfer", 2.0),
        (
            read | {"master_sync_read_bytes": "80000000", "master_sync_left_bytes": "-80000000"},
            SAVING | {"current_save_keys_processed": "0"},
            "transfer",
            2.48,
        ),
        (
            read | {"master_sync_read_bytes": "240000000", "master_sync_left_bytes": "-240000000"},
            SAVING | {"current_save_keys_processed": "250000"},
            "transfer",
            26.0,
        ),
        (LOADING | {"loading_loaded_perc": "0.00", "loading_eta_seconds": "1"}, {}, "load", 50.0),
        (LOADING | {"loading_loaded_perc": "50.00", "loading_eta_seconds": "3"}, {}, "load", 74.0),
        (DOWN | {"master_sync_in_progress": "0", "loading": "0"}, {}, "load", 74.0),
        ({"master_link_status": "up"}, {}, "in_sync", 100.0),
    ]
    progress = None
    for replica, primary, phase, percent in steps:
        progress = follow(progress, look(replica, primary))
        assert (progress.phase, round(progress.percent, 2)) == (phase, percent)
    assert progress is not None
    assert progress.transferred == 240_000_000


def test_a_sync_from_disk_knows_its_size_once_it_is_sent() -> None:
    saving = SYNC | {"master_sync_total_bytes": "-1", "master_sync_left_bytes": "-1", "master_sync_perc": "-0.00"}
    seen = look(saving, SAVING | {"current_save_keys_processed": "400000"})
    assert (seen.phase, round(seen.percent, 2), seen.transferred) == ("transfer", 40.4, 0)
    sending = SYNC | {"master_sync_total_bytes": "82000000", "master_sync_left_bytes": "20500000"}
    seen = look(sending, {"rdb_bgsave_in_progress": "0"})
    assert (seen.phase, round(seen.percent, 2), seen.transferred) == ("transfer", 38.0, 61_500_000)


def test_online_on_the_primarys_side_means_nothing() -> None:
    """It says so before the replica has loaded a byte."""
    primary = {"slave0": "ip=127.0.0.1,port=20001,state=online,offset=1,lag=0,type=replica"}
    assert look(LOADING | {"loading_loaded_perc": "1.00"}, primary).phase == "load"


def test_the_engines_own_estimate_while_it_loads() -> None:
    assert look(LOADING | {"loading_loaded_perc": "10.00", "loading_eta_seconds": "7"}, {}).eta_seconds == 7


def test_a_link_that_is_up_has_to_catch_up_with_what_was_written_meanwhile() -> None:
    replica = {"master_link_status": "up", "slave_repl_offset": "1000000"}
    assert look(replica, {"master_repl_offset": "90000000"}) == Progress("catching_up", 98.0, 0, lag=89_000_000)
    assert look(replica, {"master_repl_offset": "1500000"}).phase == "in_sync", "what is on its way under load"
    assert look({"master_link_status": "up"}, {"master_repl_offset": "90000000"}).phase == "in_sync"


def test_the_size_once_told_is_kept_and_holds_what_was_read() -> None:
    loading = follow(Progress("transfer", 40.0, 1040), Progress("load", 60.0, 0, 3.0, total=1000))
    assert (loading.total, loading.transferred) == (1040, 1040)
    assert follow(loading, Progress("catching_up", 98.0, 0)).total == 1040


def test_between_two_tellings_the_bytes_tell() -> None:
    """The primary counts keys once a second or two; what arrives meanwhile is measured by what had arrived then."""
    saving = {"rdb_bgsave_in_progress": "1", "current_save_keys_total": "100", "current_save_keys_processed": "25"}

    def arrived(count: int, **changes: str) -> Progress:
        return look(SYNC | {"master_sync_read_bytes": str(count)}, saving | changes)

    first = follow(None, arrived(1000))
    assert (first.share, first.percent) == (0.25, 14.0)
    later = follow(first, arrived(2000))
    assert (later.share, later.percent) == (0.5, 26.0)
    assert follow(later, arrived(9000)).share == 0.99, "never done before the primary says so"
    told = follow(later, arrived(2200, current_save_keys_processed="50"))
    assert told.share == 0.5
    assert told.estimate == 4400


@given(st.floats(0, 10**5), st.floats(0, 10**5))
def test_what_was_learned_leaves_room_for_both_phases(transfer: float, load: float) -> None:
    assert START["transfer"] < load_start(transfer, load) < START["catching_up"]


def test_the_load_begins_where_it_began_the_last_time() -> None:
    assert load_start(1, 1) == 50.0
    assert load_start(3, 1) == 74.0
    assert load_start(0, 0) == 50.0
    assert look(LOADING | {"loading_loaded_perc": "50.00"}, {}, load_at=74.0).percent == 86.0
    quarter = Progress("transfer", 20.0, 9, share=0.25)
    assert remaining(quarter, 3.0, load_at=74.0) == 9.0 + 4.0, "a load takes a third of its transfer"
