"""Tests of alarm conditions of databases, shards and nodes, and of the board that raises each alarm once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.alerting.alarms import (
    FEW_KEYS,
    RAISE_DELAY,
    Alarm,
    AlarmTracker,
    KeyCount,
    MonitoredShard,
    cut_off_agent,
    database_alarms,
    engine_alarms,
    key_loss_alarms,
    lost_most_keys,
    node_alarms,
    replication_lag_alarms,
    samples_late,
)
from shardboard.domain.placement.zones import zones_of

PARTS = [
    MonitoredShard(uid=1, node_uid=1, pair=0, role="master", status="ok", in_sync=False, slots=8192),
    MonitoredShard(uid=2, node_uid=2, pair=1, role="master", status="ok", in_sync=False, slots=8192),
    MonitoredShard(uid=3, node_uid=2, pair=0, role="slave", status="ok", in_sync=True, slots=8192),
    MonitoredShard(uid=4, node_uid=1, pair=1, role="slave", status="ok", in_sync=True, slots=8192),
]


def alarms_by_type(parts: list[MonitoredShard], *, replicated: bool = True, sharded: bool = True) -> dict[str, Alarm]:
    return {
        alarm.type: alarm
        for alarm in database_alarms(7, "shop", replicated=replicated, sharded=sharded, shard_statuses=parts)
    }


def parts_with(uid: int, **fields: object) -> list[MonitoredShard]:
    return [MonitoredShard(**(vars(part) | fields)) if part.uid == uid else part for part in PARTS]


def test_healthy_database_has_no_alarms() -> None:
    assert alarms_by_type(PARTS) == {}
    assert alarms_by_type(PARTS[:2], replicated=False) == {}


def test_unserved_slots_raise_an_alarm() -> None:
    alarm = alarms_by_type(parts_with(1, status="down"))["alarm_slots_uncovered"]
    assert (alarm.bdb_uid, alarm.severity, alarm.source) == (7, "ERROR", "bdb")
    assert alarm.details == {"pairs": [0], "slots": 8192}
    assert alarm.description == "8,192 of 16,384 hash slots of shop were not served: no primary was up."
    plain = alarms_by_type(parts_with(1, status="down")[:1], replicated=False, sharded=False)["alarm_slots_uncovered"]
    assert plain.description == "shop was not served: no primary was up."
    assert alarms_by_type(parts_with(1, status="timeout")) == {}, "it might still serve requests"


def test_running_primaries_that_reject_requests_raise_an_alarm() -> None:
    alarm = alarms_by_type(parts_with(2, rejects_requests=True))["alarm_shards_refuse"]
    assert (alarm.bdb_uid, alarm.severity, alarm.details) == (7, "ERROR", {"shards": [2]})
    assert alarm.description == (
        "Primaries of shop were up but rejected requests because their cluster state was not ok: redis:2."
    )
    assert "alarm_shards_refuse" not in alarms_by_type(parts_with(2, rejects_requests=True, status="down")), (
        "its slots are not served at all"
    )


def test_primaries_without_replica_raise_an_alarm() -> None:
    alarm = alarms_by_type(parts_with(3, status="down"))["alarm_no_replica"]
    assert (alarm.description, alarm.details) == (
        "1 of 2 primaries of shop had no running replica.",
        {"pairs": [0]},
    )
    assert alarms_by_type(parts_with(3, status="loading")) == {}


@pytest.mark.parametrize("changes", [{"rejects_requests": True}, {"status": "down"}])
def test_new_shards_of_an_operation_raise_no_alarm(changes: dict[str, object]) -> None:
    """New primaries of a resharding reject requests until they know the cluster, and have no slots and no replicas yet."""
    fields = {"uid": 5, "node_uid": 1, "pair": 2, "role": "master", "status": "ok", "in_sync": False, "slots": 0}
    new = MonitoredShard(**(fields | changes))
    assert alarms_by_type([*PARTS, new]) == {}
    with_slots = MonitoredShard(**(fields | changes | {"slots": 1}))
    assert "ERROR" in {alarm.severity for alarm in alarms_by_type([*PARTS, with_slots]).values()}


def test_new_shards_of_a_running_action_raise_no_alarm_after_they_get_slots() -> None:
    """Slots without keys move within milliseconds, before the new primary is observed again."""
    fields = {"uid": 5, "node_uid": 1, "pair": 2, "role": "master", "status": "ok", "in_sync": False, "slots": 1}
    rejecting = MonitoredShard(**fields, rejects_requests=True, is_new=True)
    assert alarms_by_type([*PARTS, rejecting]) == {}
    down = MonitoredShard(**(fields | {"status": "down"}), is_new=True)
    assert "alarm_slots_uncovered" in alarms_by_type([*PARTS, down]), "its slots are not served"


def test_two_primaries_of_one_pair_raise_an_alarm() -> None:
    alarm = alarms_by_type(parts_with(3, role="master"))["alarm_two_primaries"]
    assert alarm.description == (
        "Two shards of shop acted as primary of the same slots: redis:1 on node 1 and redis:3 on node 2."
    )
    assert "alarm_two_primaries" not in alarms_by_type(parts_with(3, role="master", status="down"))


def test_pair_on_one_node_raises_an_alarm() -> None:
    alarm = alarms_by_type(parts_with(3, node_uid=1))["alarm_pair_on_one_node"]
    assert (alarm.node_uid, alarm.shard_uid, alarm.details) == (1, 3, {"pair": 0, "shards": [1, 3]})


def test_pairs_in_one_zone_raise_an_alarm_if_the_database_is_rack_aware() -> None:
    """Pair 0 is on nodes 1 and 2, pair 1 on nodes 2 and 1."""

    def description(first: str, second: str) -> str | None:
        zones = {1: zones_of(first), 2: zones_of(second)}
        alarms = database_alarms(7, "shop", replicated=True, sharded=True, shard_statuses=PARTS, zones=zones)
        return next((each.description for each in alarms if each.type == "alarm_rack_aware_violation"), None)

    assert description("a", "b") is None
    assert description("a", "A") == (
        "shop is rack-aware, but 2 of 2 replication pairs had no copies in different zones."
    )
    assert description("a", "") == (
        "shop is rack-aware, but 2 of 2 replication pairs had no copies in different zones. These nodes had no zone: 2."
    )


def test_lagging_replica_raises_an_alarm() -> None:
    replica = PARTS[2]
    [alarm] = replication_lag_alarms(7, "shop", replica, 101.0, 100)
    assert alarm.description == "Replica redis:3 of shop on node 2 was more than 100 bytes behind its primary."
    assert replication_lag_alarms(7, "shop", replica, 100.0, 100) == []
    assert replication_lag_alarms(7, "shop", replica, None, 100) == []
    assert replication_lag_alarms(7, "shop", PARTS[0], 101.0, 100) == []


def test_keys_lost_in_a_restart_raise_an_alarm() -> None:
    before = KeyCount(started_at=1.0, count=1000)
    assert lost_most_keys(before, KeyCount(2.0, 0))
    assert lost_most_keys(before, KeyCount(2.0, 99))
    assert not lost_most_keys(before, KeyCount(2.0, 100)), "10% of the keys are left"
    assert not lost_most_keys(before, KeyCount(1.0, 0)), "in the same process the keys were deleted"
    assert not lost_most_keys(KeyCount(1.0, FEW_KEYS - 1), KeyCount(2.0, 0))
    assert not lost_most_keys(None, KeyCount(2.0, 0))
    [alarm] = key_loss_alarms(7, "shop", PARTS[0], 1000, KeyCount(2.0, 0))
    assert (
        alarm.description == "Primary redis:1 of shop had 1,000 keys and lost most of them when its process restarted."
    )
    assert key_loss_alarms(7, "shop", PARTS[0], 1000, KeyCount(2.0, 500)) == [], "the keys are loaded again"
    assert key_loss_alarms(7, "shop", PARTS[2], 1000, KeyCount(2.0, 0)) == [], "the shard is now a replica"


def test_node_conditions_raise_alarms() -> None:
    healthy = {"ahead": 0.0, "stalls": 0, "max_stalls": 5, "storage_left": 0.5}

    def types(**changed: object) -> list[str]:
        return [alarm.type for alarm in node_alarms(3, **(healthy | changed))]  # type: ignore[arg-type]

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
    assert "50% of the samples of node 3" in alarm.description
    assert "CPU" in alarm.description
    [alarm] = samples_late(3, 0.74, {"cpu_idle": 0.9})
    assert alarm.details == {"percent": 50, "cpu_busy": False}, "the percentage changes in steps"
    assert "CPU" not in alarm.description
    [alarm] = samples_late(3, 1.0, {})
    assert alarm.details == {"percent": 75, "cpu_busy": None}


def test_a_cut_off_agent_is_reported_with_the_reason() -> None:
    assert cut_off_agent(3, "") == []
    [alarm] = cut_off_agent(3, "it sent a line of more than 1024 KiB")
    assert (alarm.type, alarm.severity, alarm.source, alarm.node_uid) == ("alarm_agent_cut_off", "ERROR", "node", 3)
    assert alarm.description == (
        "The console cut off the agent of node 3, because it sent a line of more than 1024 KiB. Its shards were not monitored."
    )


def test_short_condition_raises_no_alarm() -> None:
    tracker, lag = AlarmTracker(), Alarm("alarm_replication_lag", "behind", shard_uid=3)
    raise_delay = RAISE_DELAY[lag.type]
    assert tracker.update(0, [lag]) == ([], [], [])
    assert tracker.update(raise_delay / 2, []) == ([], [], [])
    assert tracker.update(raise_delay, [lag]) == ([], [], [])
    assert tracker.update(2 * raise_delay, [lag]) == ([lag], [], [])
    assert tracker.update(9 * raise_delay, [lag]) == ([], [], []), "an alarm is raised once"
    assert tracker.update(9 * raise_delay, []) == ([], [], [lag.key])
    assert tracker.update(9 * raise_delay, []) == ([], [], [])


def test_changed_description_updates_the_same_alarm() -> None:
    tracker = AlarmTracker()
    tracker.update(0, [Alarm("alarm_slots_uncovered", "2 slots", bdb_uid=7)])
    more = Alarm("alarm_slots_uncovered", "4 slots", bdb_uid=7)
    assert tracker.update(1, [more]) == ([], [more], [])
    assert tracker.update(2, [more]) == ([], [], [])


@given(st.lists(st.sets(st.tuples(st.sampled_from(sorted(RAISE_DELAY)), st.integers(1, 3))), max_size=30))
def test_every_raised_alarm_ends_once(snapshots: list[set[tuple[str, int]]]) -> None:
    tracker, active = AlarmTracker(), set()
    for now, snapshot in enumerate([*snapshots, *([set()] * 12)]):
        new_alarms, _, ended = tracker.update(now, [Alarm(type_, "", bdb_uid=uid) for type_, uid in snapshot])
        for alarm in new_alarms:
            assert alarm.key not in active
            active.add(alarm.key)
        for key in ended:
            active.remove(key)
    assert not active


def test_engine_with_security_advisories_raises_an_alarm() -> None:
    (alarm,) = engine_alarms(2, "8.0.1")
    assert (alarm.type, alarm.node_uid, alarm.source, alarm.severity) == (
        "alarm_engine_advisories",
        2,
        "node",
        "WARNING",
    )
    assert alarm.description.startswith("Valkey 8.0.1 of node 2 has published vulnerabilities, unless")
    assert "a script can run arbitrary code in the server (CVE-2025-49844" in alarm.description
    assert "CVE-2025-21605" in alarm.details["advisories"]
    assert engine_alarms(2, "9.1.2") == engine_alarms(2, "") == []
