"""Tests of which events belong to an incident, and of its summary."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from backend.tests.domain.failures.outage_events import (
    NODE_FAILURE_EVENTS,
    NODE_FAILURE_OUTAGES,
    Event,
    OutageReport,
    at,
    drill_event,
    failover_event,
    ms,
    node_failed_event,
    resync_event,
    shard_down_event,
)
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.incident_pairs import pairs_out_of_sync
from shardboard.domain.failures.incident_report import markdown
from shardboard.domain.failures.incident_start import incident_starts
from shardboard.domain.failures.incident_summary import MAX_TITLE, account, figures, span, title
from shardboard.domain.failures.incidents import Incident, incident

NOW = ms(3_600)
NAMES = {1: "demo"}


def first_incident(
    events: list[Event], seen: list[OutageReport] | None = None, now: int = NOW, *, is_down: bool = False
) -> Incident:
    """Return the first incident of the events."""
    return incident(incident_starts(events)[0], events, seen or [], now, is_down=is_down)


def test_node_failure_includes_all_consequences() -> None:
    result = first_incident(NODE_FAILURE_EVENTS, NODE_FAILURE_OUTAGES)
    assert (result.start.uid, result.start.kind, result.state) == (10, "node_down", "over")
    assert (result.returned, result.ended) == (ms(41), ms(53.5))
    assert [event.uid for event in result.timeline] == [9, 10, 11, 12, 13, 14, 15, 16, 17]
    [bdb_impact] = result.databases
    assert (bdb_impact.uid, bdb_impact.slots, bdb_impact.promoted_after_ms) == (1, "0-5460,8000", 220)
    assert (
        bdb_impact.outage_summary.unserved_ms,
        bdb_impact.outage_summary.failed,
        bdb_impact.outage_summary.delayed,
        bdb_impact.outage_summary.lost,
    ) == (
        600,
        2,
        6,
        1,
    )
    assert result.cause is not None
    assert (result.cause.kind, result.cause.event.uid) == ("drill", 9)


def test_failure_of_a_single_primary_is_an_incident() -> None:
    events = [
        drill_event(8, -1, shard=2),
        shard_down_event(10, 0),
        failover_event(11, 2, 8, 0.2),
        Event(12, at(3), "shard_up", bdb_uid=1, node_uid=2, shard_uid=2),
        resync_event(13, 2, 3, 1),
        Event(14, at(5), "replica_revived", bdb_uid=1, node_uid=2, shard_uid=2),
        shard_down_event(15, 2, shard=5),
        Event(16, at(2), "shard_down", bdb_uid=1, node_uid=2, shard_uid=7, details={"role": "slave"}),
    ]
    assert [each.uid for each in incident_starts(events)] == [10, 15]
    result = first_incident(events, [OutageReport(0, -0.01, 0.4), OutageReport(0, -5, 9, port=20001, shard_uid=5)])
    assert (result.start.kind, result.state, result.returned, result.ended) == ("shard_down", "over", ms(3), ms(4))
    assert [event.uid for event in result.timeline] == [8, 10, 11, 12, 13, 14]
    assert result.databases[0].outage_summary.unserved_ms == 410
    assert title(result, NAMES, NOW) == "Primary redis:2 of demo was down for 3 s"
    assert account(result, NAMES) == (
        "demo was not served for 0.41 s; 1 shard failed over, promoted 0.2 s after "
        "detection; 1 replica resynced in 1 s; no known data loss (replicas had reached the primaries' last reported offset)"
    )


def test_event_without_role_is_an_incident_if_followed_by_failover() -> None:
    assert [each.uid for each in incident_starts([shard_down_event(10, 0, role=None), failover_event(11, 2, 8)])] == [
        10
    ]
    assert incident_starts([shard_down_event(10, 0, role=None)]) == []


@pytest.mark.parametrize(("seconds", "uid"), [(-4.9, 9), (-5.1, 10), (0.1, 10), (40, 10)])
def test_primary_that_fails_with_its_node_belongs_to_that_incident(seconds: float, uid: int) -> None:
    starts = incident_starts([shard_down_event(9, seconds), node_failed_event(10)])
    assert [each.uid for each in starts if each.kind == "node_down"] == [uid], (
        "the incident has the uid of its first event"
    )
    assert len(starts) == (2 if seconds < -5 else 1)


def test_open_incident_keeps_its_failovers_and_outages() -> None:
    """Failovers and outages of an incident are kept, even hours later."""
    events = [
        replace(event, ended_at=None, details={**event.details, "open": True}) if event.uid == 10 else event
        for event in NODE_FAILURE_EVENTS[:4]
    ]
    result = first_incident(events, NODE_FAILURE_OUTAGES, ms(500_000))
    assert result.state == "down"
    assert len(result.failovers) == 2
    assert result.databases[0].outage_summary.unserved_ms == 600
    assert "lost" not in account(result, NAMES).replace("lost without a reply", "")


def test_ongoing_incident_is_described_in_the_present() -> None:
    open_failure = node_failed_event(back=None)
    result = first_incident([open_failure], [OutageReport(-0.3, -0.31, None)], ms(5))
    assert (result.state, result.ended, result.databases[0].outage_summary.unserved_since_ms) == (
        "down",
        None,
        ms(-0.3),
    )
    assert title(result, NAMES, ms(5)) == "Node 2 has been down for 5 s"
    assert account(result, NAMES) == "demo is not served; 2 primaries lost"
    promoted = first_incident([open_failure, failover_event(11, 2, 8)], [OutageReport(-0.3, -0.31, None)], ms(5))
    assert promoted.databases[0].outage_summary.unserved_since_ms is None, (
        "the end of the outage for this proxy is unknown"
    )


def test_incident_is_not_over_while_a_copy_is_missing() -> None:
    result = first_incident([node_failed_event(), resync_event(14, 2, 42, None)])
    assert (result.state, result.ended, result.percent) == ("resyncing", None, 15)
    assert first_incident([node_failed_event()], now=ms(45)).state == "resyncing", "the node has just returned"
    assert first_incident([node_failed_event()], now=ms(55)).state == "over"


def test_without_requests_the_outage_duration_is_unknown() -> None:
    result = first_incident(NODE_FAILURE_EVENTS)
    assert result.databases[0].outage_summary.unserved_ms is None
    assert "it is unknown how long clients waited; 2 shards failed over" in account(result, NAMES)


def test_headline_lists_the_worst_databases_and_limits_the_others() -> None:
    waits = (0.2, 0.9, 0.5, 0.3, 0.7)
    reports = [OutageReport(0, 0, wait, bdb_uid=uid, port=20_000 + uid) for uid, wait in enumerate(waits, 1)]
    result = first_incident([node_failed_event()], reports)
    assert (
        "database 2 was not served for 0.9 s; database 5 was not served for 0.7 s; database 3 was not served for 0.5 s; "
        "2 more databases for 0.3 s at most"
    ) in account(result, NAMES)
    assert [impact.outage_summary.served_again_ms for impact in result.databases] == [ms(wait) for wait in waits]


def test_time_of_first_successful_request_is_reported() -> None:
    reports = [
        OutageReport(0, 0, 0.6),
        OutageReport(0, 0, 0.9, port=20_001),
        OutageReport(0, 0, 4, port=20_002, waited=0),
    ]
    assert first_incident(NODE_FAILURE_EVENTS, reports).databases[0].outage_summary.served_again_ms == ms(0.9), (
        "only outages with waiting clients are used"
    )
    open_ = [OutageReport(0, 0, 0.6), OutageReport(0, 0, None, port=20_001)]
    assert (
        first_incident([node_failed_event(back=None)], open_, ms(5), is_down=True)
        .databases[0]
        .outage_summary.served_again_ms
        is None
    )
    assert first_incident(NODE_FAILURE_EVENTS, open_).databases[0].outage_summary.served_again_ms == ms(0.6), (
        "the end of the other outage is unknown"
    )


@pytest.mark.parametrize(
    "seen",
    [
        OutageReport(-0.3, -0.31, 0.3, node_uid=3),
        OutageReport(-0.3, -0.31, 0.3, reported_by=2),
        OutageReport(-120, -121, -119),
        OutageReport(60, 59, 61),
    ],
    ids=["of another node", "by the failed node", "long before", "long after"],
)
def test_outages_of_other_failures_are_not_counted(seen: OutageReport) -> None:
    assert first_incident(NODE_FAILURE_EVENTS, [seen]).databases[0].outage_summary.unserved_ms is None


def test_outage_is_assigned_if_the_console_was_unavailable() -> None:
    events = [node_failed_event(detected_ms=None), *NODE_FAILURE_EVENTS[2:]]
    assert first_incident(events, [OutageReport(-300, -300.1, -291)]).databases[0].outage_summary.unserved_ms == 9_100


def test_next_failure_of_the_node_ends_the_incident() -> None:
    second_failure = node_failed_event(30, 60, back=None)
    events = [*NODE_FAILURE_EVENTS, second_failure, failover_event(31, 3, 9, 60.3)]
    first, second = (incident(each, events, [], ms(70), is_down=True) for each in incident_starts(events))
    assert 31 not in {event.uid for event in first.timeline}
    assert {event.uid for event in second.timeline} == {30, 31}


def test_earlier_active_alarm_is_the_cause() -> None:
    full = Event(5, at(-600), "alarm_storage_full", node_uid=2, details={"open": True})
    for alarm, cause in ((full, 5), (replace(full, ended_at=at(-60)), None), (replace(full, node_uid=3), None)):
        result = first_incident([alarm, node_failed_event()])
        assert (result.cause and result.cause.event.uid) == cause


def test_shard_of_a_deleted_database_is_not_down() -> None:
    deletion = Event(11, at(9), "bdb_deleted", source="bdb", bdb_uid=1)
    assert first_incident([shard_down_event(10, 0), deletion]).returned == ms(9)
    assert first_incident([shard_down_event(10, 0)], is_down=False).state == "over"
    assert first_incident([shard_down_event(10, 0)], is_down=True).state == "down"


@given(st.permutations(NODE_FAILURE_EVENTS), st.permutations(NODE_FAILURE_OUTAGES))
def test_incident_does_not_depend_on_the_order_of_events(events: list[Event], seen: list[OutageReport]) -> None:
    assert first_incident(events, seen) == first_incident(NODE_FAILURE_EVENTS, NODE_FAILURE_OUTAGES)


@given(st.sets(st.sampled_from(range(len(NODE_FAILURE_EVENTS)))))
def test_incident_is_reported_with_missing_events(kept_indexes: set[int]) -> None:
    events = [event for index, event in enumerate(NODE_FAILURE_EVENTS) if index in kept_indexes]
    for start in incident_starts(events):
        result = incident(start, events, NODE_FAILURE_OUTAGES, NOW, is_down=False)
        assert result.ended is None or result.ended >= start.at
        assert markdown(result, cluster="lab", names=NAMES, url="https://x", now=NOW)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (220, "0.22 s"),
        (994, "0.99 s"),
        (4_240, "4.2 s"),
        (41_000, "41 s"),
        (123_000, "2 min 3 s"),
        (3_840_000, "1 h 4 min"),
    ],
)
def test_durations_are_formatted(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text


class TestTwoDatabases:
    """Node 2 lost the primaries 2 and 5 of demo and 20 of orders. Orders failed over 13 minutes after the node had returned."""

    LOST = (
        *({"uid": uid, "bdb_uid": 1, "pair": uid - 1, "role": "master"} for uid in (2, 5)),
        {"uid": 20, "bdb_uid": 2, "pair": 0, "role": "master"},
    )
    FAILED = node_failed_event(primaries=3, replicas=0, lost_shards=LOST)
    EARLY = (
        FAILED,
        failover_event(11, 2, 8),
        failover_event(12, 5, 11),
        Event(13, at(41), "node_up", node_uid=2),
        resync_event(14, 2, 42),
        resync_event(15, 5, 42),
    )
    LATE = (
        replace(failover_event(30, 20, 26, 41 + 780), bdb_uid=2, details={"pair": 0, "lost": 20, "promoted": 26}),
        replace(
            resync_event(31, 20, 830), bdb_uid=2, details={"pair": 0, "primary": 26, "open": False, "percent": 100}
        ),
    )

    def test_incident_continues_until_the_last_pair_is_in_sync(self) -> None:
        [start] = incident_starts(self.EARLY)
        found = incident(start, list(self.EARLY), [], ms(600), is_down=False, out_of_sync={(2, 0)})
        assert (found.state, found.ended) == ("resyncing", None)
        assert "2 of 3 lost primaries failed over, promoted 0.22 s after detection" in account(found, NAMES)
        unrelated = incident(start, list(self.EARLY), [], ms(600), is_down=False, out_of_sync={(1, 7), (1, 1)})
        assert unrelated.state == "over", "redis:2 was in sync; its pair is out of sync for another reason"
        again = [*self.EARLY, node_failed_event(40, 500)]
        assert incident(start, again, [], ms(600), is_down=False, out_of_sync={(2, 0)}).state == "over"

    def test_late_promotions_count_and_determine_the_end(self) -> None:
        found = first_incident([*self.EARLY, *self.LATE], now=ms(3_600))
        assert (found.state, found.ended) == ("over", ms(840))
        assert [event.uid for event in found.failovers] == [11, 12, 30]
        assert [(each.uid, each.promoted_after_ms) for each in found.databases] == [(1, 220), (2, 821_000)]

    def test_second_promotion_of_a_pair_is_another_matter(self) -> None:
        back = failover_event(21, 8, 2, 23)
        back = replace(back, details={**back.details, "pair": 1})
        again = failover_event(22, 2, 8, 30)
        for failed in (self.FAILED, node_failed_event()):  # with and without a list of the lost shards
            story = [failed, *self.EARLY[1:], back, again]
            found = first_incident(story)
            assert [event.uid for event in found.failovers] == [11, 12]
            assert found.databases[0].promoted_after_ms == 220
            assert "promoted 0.22 s after detection" in account(found, NAMES)
            assert {21, 22} <= {event.uid for event in found.timeline}

    def test_figures_are_computed_from_events_of_the_timeline(self) -> None:
        found = first_incident([*self.EARLY, *self.LATE])
        down, unserved, promoted, in_sync = figures(found)
        assert (down.ms, unserved.ms, promoted.ms, in_sync.ms) == (41_000, None, 821_000, 840_000)
        assert (promoted.count, promoted.total, promoted.events) == (3, 3, [11, 12, 30])
        assert in_sync.events == [14, 15, 31]
        timeline = {event.uid for event in found.timeline}
        assert all(set(figure.events) <= timeline for figure in figures(found))

    def test_figures_do_not_refer_to_resyncs_without_a_result(self) -> None:
        started = Event(50, at(41.5), "resync", details={"open": True}, bdb_uid=1, node_uid=2, shard_uid=4)
        interrupted = replace(started, uid=51, ended_at=at(42), details={"outcome": "lost"})
        found = first_incident([*self.EARLY, started, interrupted])
        assert {50, 51} <= {event.uid for event in found.timeline}
        assert figures(found)[3].events == [14, 15]


@pytest.mark.parametrize("back", [3, None])
def test_titles_are_short(back: float | None) -> None:
    name = "a database with a name that is too long for a title of an incident"
    up = [] if back is None else [Event(12, at(back), "shard_up", bdb_uid=1, node_uid=2, shard_uid=2)]
    found = first_incident([shard_down_event(10, 0), *up], is_down=back is None)
    text = title(found, {1: name}, ms(754_000))
    assert len(text) <= MAX_TITLE
    assert text.startswith("Primary redis:2 of a database")


@dataclass(frozen=True)
class Condition:
    """State of a shard of pair 0 of database 1."""

    current_role: str
    observed_status: str = "ok"
    observed_link: str = "idle"
    bdb_uid: int = 1
    pair: int = 0


@pytest.mark.parametrize(
    ("rows", "is_in_sync"),
    [
        ([Condition("master"), Condition("slave")], True),
        ([Condition("master", observed_link="none")], True),
        ([Condition("master"), Condition("slave", observed_link="in-progress")], False),
        ([Condition("master"), Condition("slave", "down")], False),
        ([Condition("master", "down"), Condition("slave")], False),
        ([Condition("slave")], False),
    ],
)
def test_pair_is_in_sync_with_a_running_primary_and_replicas_that_follow_it(
    rows: list[Condition], is_in_sync: bool
) -> None:
    assert pairs_out_of_sync(rows) == (frozenset() if is_in_sync else {(1, 0)})


class TestReport:
    def report(self, *more: Any) -> str:
        return markdown(
            first_incident([*NODE_FAILURE_EVENTS, *more], NODE_FAILURE_OUTAGES),
            cluster="lab",
            names=NAMES,
            url="https://x/activity/incidents/10",
            now=NOW,
        )

    def test_report_has_headline_figures_and_utc_times(self) -> None:
        text = self.report()
        assert text.startswith(
            "# Node 2 was down for 41 s\n\n"
            "| Down for | Not served for | Promoted after detection | In sync after detection |\n| --- | --- | --- | --- |\n"
            "| 41 s | 0.6 s | 0.22 s (2 of 2) | 54 s |\n\ndemo was not served for 0.6 s; "
        )
        assert "| Cause | drill requested by ann |" in text
        assert "| Seen by | agents on nodes 1 and 3 reached none of its shards |" in text
        assert "| demo | 0-5460,8000 | 0.6 s | 2026-03-01 04:00:00.300 UTC | 0.22 s | 2 | 6 | 1 |" in text
        assert "| Received in resyncs | 4 MiB |" in text
        assert (
            "| 2026-03-01 04:00:00.220 UTC | demo | redis:2 → redis:8 | 0.22 s | 0.2 s | none (by last reported offset) | FORCE |"
            in text
        )
        assert (
            "| redis:2 | redis:8 | 2026-03-01 04:00:42.000 UTC | 2026-03-01 04:00:52.000 UTC | 10 s | 1 MiB |" in text
        )

    def test_tables_stay_valid_with_special_characters(self) -> None:
        assert "| a \\| b c |" in self.report(Event(30, at(1), "node_agent_lost", node_uid=2, description="a | b\nc"))


def zone_failure(uid: int, node: int, start: float, end: float | None) -> Event:
    details = {"rack_id": "east", "zone_nodes": [2, 5, 6], "primaries": 1, "replicas": 2}
    return Event(
        uid, at(start), "node_failed", ended_at=None if end is None else at(end), node_uid=node, details=details
    )


def test_loss_of_a_zone_is_part_of_the_incident_of_each_node() -> None:
    events = [
        zone_failure(10, 2, 0, 40),
        zone_failure(11, 5, 0.3, None),
        zone_failure(12, 6, 41, 60),
        node_failed_event(13, 5, node=7),
    ]
    result = first_incident(events)
    assert result.zone is not None
    assert ([event.uid for event in result.zone.failures], result.zone.nodes) == ([10, 11], 3)
    assert account(result, NAMES).startswith("2 of 3 nodes of zone east were down at the same time")
    report = markdown(result, cluster="", names=NAMES, url="", now=NOW)
    assert "## Zone east" in report
    assert "| 5 | 2026-03-01 04:00:00.300 UTC | not yet | – | 1 | 2 |" in report
    complete = first_incident([*events[:2], zone_failure(12, 6, 1, 60)])
    assert complete.zone is not None
    assert complete.zone.text == "All 3 nodes of zone east were down at the same time"
    assert first_incident([events[0], events[2]]).zone is None, "node 6 went down after node 2 had returned"
