"""Conditions of databases, shards and nodes, and the board that raises each alarm once."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.alarms import (
    FEW_KEYS,
    WAIT,
    Alarm,
    Board,
    Keys,
    Part,
    collapse,
    collapsed,
    lagging,
    of_database,
    of_engine,
    of_node,
    samples_late,
)

PARTS = [
    Part(uid=1, node_uid=1, pair=0, role="master", status="ok", in_sync=False, slots=8192),
    Part(uid=2, node_uid=2, pair=1, role="master", status="ok", in_sync=False, slots=8192),
    Part(uid=3, node_uid=2, pair=0, role="slave", status="ok", in_sync=True, slots=8192),
    Part(uid=4, node_uid=1, pair=1, role="slave", status="ok", in_sync=True, slots=8192),
]


def found(parts: list[Part], *, replicated: bool = True, sharded: bool = True) -> dict[str, Alarm]:
    return {alarm.type: alarm for alarm in of_database(7, "shop", replicated=replicated, sharded=sharded, parts=parts)}


def changed(uid: int, **fields: object) -> list[Part]:
    return [Part(**(vars(part) | fields)) if part.uid == uid else part for part in PARTS]


def test_nothing_is_wrong() -> None:
    assert found(PARTS) == {}
    assert found(PARTS[:2], replicated=False) == {}


def test_slots_that_nobody_serves() -> None:
    alarm = found(changed(1, status="down"))["alarm_slots_uncovered"]
    assert (alarm.bdb_uid, alarm.severity, alarm.source) == (7, "ERROR", "bdb")
    assert alarm.details == {"pairs": [0], "slots": 8192}
    assert alarm.description == "8,192 of 16,384 hash slots of shop were not served: no primary was up."
    plain = found(changed(1, status="down")[:1], replicated=False, sharded=False)["alarm_slots_uncovered"]
    assert plain.description == "shop was not served: no primary was up."
    assert found(changed(1, status="timeout")) == {}, "it may well serve"


def test_primaries_that_live_and_refuse() -> None:
    alarm = found(changed(2, refuses=True))["alarm_shards_refuse"]
    assert (alarm.bdb_uid, alarm.severity, alarm.details) == (7, "ERROR", {"shards": [2]})
    assert alarm.description == (
        "Primaries of shop were up but rejected requests because their cluster state was not ok: redis:2."
    )
    assert "alarm_shards_refuse" not in found(changed(2, refuses=True, status="down")), "it is not served at all"


def test_primaries_without_a_copy() -> None:
    alarm = found(changed(3, status="down"))["alarm_no_replica"]
    assert (alarm.description, alarm.details) == (
        "1 of 2 primaries of shop had no running replica.",
        {"pairs": [0]},
    )
    assert found(changed(3, status="loading")) == {}


def test_two_primaries_of_one_pair() -> None:
    alarm = found(changed(3, role="master"))["alarm_two_primaries"]
    assert alarm.description == (
        "Two shards of shop acted as primary of the same slots: redis:1 on node 1 and redis:3 on node 2."
    )
    assert "alarm_two_primaries" not in found(changed(3, role="master", status="down"))


def test_both_copies_on_one_node() -> None:
    alarm = found(changed(3, node_uid=1))["alarm_pair_on_one_node"]
    assert (alarm.node_uid, alarm.shard_uid, alarm.details) == (1, 3, {"pair": 0, "shards": [1, 3]})


def test_a_replica_that_is_behind() -> None:
    replica = PARTS[2]
    [alarm] = lagging(7, "shop", replica, 101.0, 100)
    assert alarm.description == "Replica redis:3 of shop on node 2 was more than 100 bytes behind its primary."
    assert lagging(7, "shop", replica, 100.0, 100) == []
    assert lagging(7, "shop", replica, None, 100) == []
    assert lagging(7, "shop", PARTS[0], 101.0, 100) == []


def test_keys_that_are_gone_after_a_restart() -> None:
    before = Keys(started_at=1.0, count=1000)
    assert collapsed(before, Keys(2.0, 0))
    assert collapsed(before, Keys(2.0, 99))
    assert not collapsed(before, Keys(2.0, 100)), "a tenth is left"
    assert not collapsed(before, Keys(1.0, 0)), "the same process: somebody deleted them"
    assert not collapsed(Keys(1.0, FEW_KEYS - 1), Keys(2.0, 0))
    assert not collapsed(None, Keys(2.0, 0))
    [alarm] = collapse(7, "shop", PARTS[0], 1000, Keys(2.0, 0))
    assert (
        alarm.description == "Primary redis:1 of shop had 1,000 keys and lost most of them when its process restarted."
    )
    assert collapse(7, "shop", PARTS[0], 1000, Keys(2.0, 500)) == [], "they are back"
    assert collapse(7, "shop", PARTS[2], 1000, Keys(2.0, 0)) == [], "it is a replica by now"


def test_of_nodes() -> None:
    well = {"ahead": 0.0, "stalls": 0, "most_stalls": 5, "storage_left": 0.5}

    def types(**given: object) -> list[str]:
        return [alarm.type for alarm in of_node(3, **(well | given))]  # type: ignore[arg-type]

    assert types() == []
    assert types(ahead=3600.0) == ["alarm_clock"]
    assert types(ahead=-3600.0) == []
    assert types(stalls=5) == ["alarm_node_flapping"]
    assert types(storage_left=0.01) == ["alarm_storage_full"]
    assert types(storage_left=None) == []


def test_late_samples_are_reported_with_the_state_of_the_cpu() -> None:
    assert samples_late(3, 0.1, {}) == []
    [alarm] = samples_late(3, 0.6, {"cpu_idle": 0.05, "cpu_iowait": 0.05})
    assert (alarm.type, alarm.node_uid, alarm.details) == ("alarm_samples_late", 3, {"percent": 50, "cpu_busy": True})
    assert "50 % of the samples of node 3" in alarm.description
    assert "CPU" in alarm.description
    [alarm] = samples_late(3, 0.74, {"cpu_idle": 0.9})
    assert alarm.details == {"percent": 50, "cpu_busy": False}, "it changes in steps"
    assert "CPU" not in alarm.description
    [alarm] = samples_late(3, 1.0, {})
    assert alarm.details == {"percent": 75, "cpu_busy": None}


def test_one_that_comes_and_goes_is_no_alarm() -> None:
    board, lag = Board(), Alarm("alarm_replication_lag", "behind", shard_uid=3)
    wait = WAIT[lag.type]
    assert board.update(0, [lag]) == ([], [], [])
    assert board.update(wait / 2, []) == ([], [], [])
    assert board.update(wait, [lag]) == ([], [], [])
    assert board.update(2 * wait, [lag]) == ([lag], [], [])
    assert board.update(9 * wait, [lag]) == ([], [], []), "raised once"
    assert board.update(9 * wait, []) == ([], [], [lag.key])
    assert board.update(9 * wait, []) == ([], [], [])


def test_one_that_reads_differently_is_the_same_alarm() -> None:
    board = Board()
    board.update(0, [Alarm("alarm_slots_uncovered", "2 slots", bdb_uid=7)])
    more = Alarm("alarm_slots_uncovered", "4 slots", bdb_uid=7)
    assert board.update(1, [more]) == ([], [more], [])
    assert board.update(2, [more]) == ([], [], [])


@given(st.lists(st.sets(st.tuples(st.sampled_from(sorted(WAIT)), st.integers(1, 3))), max_size=30))
def test_whatever_comes_each_is_ended_as_often_as_it_is_raised(looks: list[set[tuple[str, int]]]) -> None:
    board, up = Board(), set()
    for now, look in enumerate([*looks, *([set()] * 12)]):
        fresh, _, over = board.update(now, [Alarm(type_, "", bdb_uid=uid) for type_, uid in look])
        for alarm in fresh:
            assert alarm.key not in up
            up.add(alarm.key)
        for key in over:
            up.remove(key)
    assert not up


def test_an_engine_with_published_weaknesses_is_named() -> None:
    (alarm,) = of_engine(2, "8.0.1")
    assert (alarm.type, alarm.node_uid, alarm.source, alarm.severity) == (
        "alarm_engine_advisories",
        2,
        "node",
        "WARNING",
    )
    assert alarm.description.startswith("Valkey 8.0.1 of node 2 has published vulnerabilities, unless")
    assert "a script can run arbitrary code in the server (CVE-2025-49844" in alarm.description
    assert "CVE-2025-21605" in alarm.details["advisories"]
    assert of_engine(2, "9.1.2") == of_engine(2, "") == []
