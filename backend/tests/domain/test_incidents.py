"""What belongs to one incident, and what it amounts to."""

from dataclasses import replace
from typing import Any

import pytest
from backend.tests.domain.losses import SEEN, STORY, Event, SeenOutage, at, down, drill, failed, failover, ms, resync
from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.incident_begins import beginnings
from shardboard.domain.incident_report import markdown
from shardboard.domain.incident_words import headline, span
from shardboard.domain.incidents import Incident, incident

NOW = ms(3_600)
NAMES = {1: "demo"}


def told(
    events: list[Event], seen: list[SeenOutage] | None = None, now: int = NOW, *, is_down: bool = False
) -> Incident:
    """The first incident of a log."""
    return incident(beginnings(events)[0], events, seen or [], now, is_down=is_down)


def test_a_node_with_all_that_followed() -> None:
    found = told(STORY, SEEN)
    assert (found.beginning.uid, found.beginning.kind, found.state) == (10, "node_down", "over")
    assert (found.returned, found.ended) == (ms(41), ms(53.5))
    assert [event.uid for event in found.timeline] == [9, 10, 11, 12, 13, 14, 15, 16, 17]
    [loss] = found.databases
    assert (loss.uid, loss.slots, loss.promoted_after_ms) == (1, "0-5460,8000", 220)
    assert (loss.account.unserved_ms, loss.account.failed, loss.account.delayed, loss.account.lost) == (600, 2, 6, 1)
    assert found.cause is not None
    assert (found.cause.kind, found.cause.event.uid) == ("drill", 9)


def test_a_single_primary_makes_an_incident_too() -> None:
    story = [
        drill(8, -1, shard=2),
        down(10, 0),
        failover(11, 2, 8, 0.2),
        Event(12, at(3), "shard_up", bdb_uid=1, node_uid=2, shard_uid=2),
        resync(13, 2, 3, 1),
        Event(14, at(5), "replica_revived", bdb_uid=1, node_uid=2, shard_uid=2),
        down(15, 2, shard=5),
        Event(16, at(2), "shard_down", bdb_uid=1, node_uid=2, shard_uid=7, details={"role": "slave"}),
    ]
    assert [each.uid for each in beginnings(story)] == [10, 15]
    found = told(story, [SeenOutage(0, -0.01, 0.4), SeenOutage(0, -5, 9, port=20001, shard_uid=5)])
    assert (found.beginning.kind, found.state, found.returned, found.ended) == ("shard_down", "over", ms(3), ms(4))
    assert [event.uid for event in found.timeline] == [8, 10, 11, 12, 13, 14]
    assert found.databases[0].account.unserved_ms == 410
    assert headline(found, NAMES, NOW) == (
        "Primary redis:2 of demo was down for 3 s; demo was not served for 0.41 s; 1 shard failed over, promoted 0.2 s after "
        "detection; 1 replica resynced in 1 s; no known data loss (replicas had reached the primaries' last reported offset)"
    )


def test_a_primary_of_an_earlier_release_is_known_by_its_failover() -> None:
    assert [each.uid for each in beginnings([down(10, 0, role=None), failover(11, 2, 8)])] == [10]
    assert beginnings([down(10, 0, role=None)]) == []


@pytest.mark.parametrize(("seconds", "uid"), [(-4.9, 9), (-5.1, 10), (0.1, 10), (40, 10)])
def test_a_primary_that_goes_with_its_node_is_part_of_that(seconds: float, uid: int) -> None:
    found = beginnings([down(9, seconds), failed(10)])
    assert [each.uid for each in found if each.kind == "node_down"] == [uid], "the event that began it names it"
    assert len(found) == (2 if seconds < -5 else 1)


def test_a_window_that_ends_loses_nothing() -> None:
    """Hours later, what was promoted was promoted, and what clients noticed they have noticed."""
    story = [
        replace(event, ended_at=None, details={**event.details, "open": True}) if event.uid == 10 else event
        for event in STORY[:4]
    ]
    found = told(story, SEEN, ms(500_000))
    assert found.state == "down"
    assert len(found.failovers) == 2
    assert found.databases[0].account.unserved_ms == 600
    assert "lost" not in headline(found, NAMES, ms(500_000)).replace("lost without a reply", "")


def test_while_it_goes_on() -> None:
    begun = failed(back=None)
    found = told([begun], [SeenOutage(-0.3, -0.31, None)], ms(5))
    assert (found.state, found.ended, found.databases[0].account.unserved_since_ms) == ("down", None, ms(-0.3))
    assert headline(found, NAMES, ms(5)) == "Node 2 has been down for 5 s; demo is not served; 2 primaries lost"
    promoted = told([begun, failover(11, 2, 8)], [SeenOutage(-0.3, -0.31, None)], ms(5))
    assert promoted.databases[0].account.unserved_since_ms is None, "nobody knows what became of who saw it begin"


def test_it_is_not_over_while_a_copy_is_missing() -> None:
    found = told([failed(), resync(14, 2, 42, None)])
    assert (found.state, found.ended, found.percent) == ("resyncing", None, 15)
    assert told([failed()], now=ms(45)).state == "resyncing", "it has just come back"
    assert told([failed()], now=ms(55)).state == "over"


def test_where_no_proxy_saw_a_request_nothing_is_claimed() -> None:
    found = told(STORY)
    assert found.databases[0].account.unserved_ms is None
    assert "; it is unknown how long clients waited; 2 shards failed over" in headline(found, NAMES, NOW)


def test_the_second_worst_is_named_and_all_others_are_bounded() -> None:
    waits = (0.2, 0.9, 0.5, 0.3, 0.7)
    seen = [SeenOutage(0, 0, wait, bdb_uid=uid, port=20_000 + uid) for uid, wait in enumerate(waits, 1)]
    found = told([failed()], seen)
    assert (
        "database 2 was not served for 0.9 s; database 5 was not served for 0.7 s; database 3 was not served for 0.5 s; "
        "2 more databases for 0.3 s at most"
    ) in headline(found, NAMES, NOW)
    assert [loss.account.served_again_ms for loss in found.databases] == [ms(wait) for wait in waits]


def test_when_the_first_request_succeeded_again() -> None:
    seen = [SeenOutage(0, 0, 0.6), SeenOutage(0, 0, 0.9, port=20_001), SeenOutage(0, 0, 4, port=20_002, waited=0)]
    assert told(STORY, seen).databases[0].account.served_again_ms == ms(0.9), "of what clients noticed"
    open_ = [SeenOutage(0, 0, 0.6), SeenOutage(0, 0, None, port=20_001)]
    assert told([failed(back=None)], open_, ms(5), is_down=True).databases[0].account.served_again_ms is None
    assert told(STORY, open_).databases[0].account.served_again_ms == ms(0.6), "nobody knows what became of the other"


@pytest.mark.parametrize(
    "seen",
    [
        SeenOutage(-0.3, -0.31, 0.3, node_uid=3),
        SeenOutage(-0.3, -0.31, 0.3, seen_by=2),
        SeenOutage(-120, -121, -119),
        SeenOutage(60, 59, 61),
    ],
    ids=["of another node", "by the node that was cut off", "long before", "long after"],
)
def test_what_another_loss_cost_is_not_counted(seen: SeenOutage) -> None:
    assert told(STORY, [seen]).databases[0].account.unserved_ms is None


def test_a_console_that_was_away_still_knows_what_clients_saw() -> None:
    story = [failed(detected_ms=None), *STORY[2:]]
    assert told(story, [SeenOutage(-300, -300.1, -291)]).databases[0].account.unserved_ms == 9_100


def test_the_next_loss_of_the_node_ends_it() -> None:
    again = failed(30, 60, back=None)
    story = [*STORY, again, failover(31, 3, 9, 60.3)]
    first, second = (incident(each, story, [], ms(70), is_down=True) for each in beginnings(story))
    assert 31 not in {event.uid for event in first.timeline}
    assert {event.uid for event in second.timeline} == {30, 31}


def test_an_alarm_that_was_raised_before_is_the_cause() -> None:
    full = Event(5, at(-600), "alarm_storage_full", node_uid=2, details={"open": True})
    for alarm, cause in ((full, 5), (replace(full, ended_at=at(-60)), None), (replace(full, node_uid=3), None)):
        found = told([alarm, failed()])
        assert (found.cause and found.cause.event.uid) == cause


def test_a_shard_that_nobody_wants_any_more_is_not_down() -> None:
    gone = Event(11, at(9), "bdb_deleted", source="bdb", bdb_uid=1)
    assert told([down(10, 0), gone]).returned == ms(9)
    assert told([down(10, 0)], is_down=False).state == "over"
    assert told([down(10, 0)], is_down=True).state == "down"


@given(st.permutations(STORY), st.permutations(SEEN))
def test_the_order_of_telling_says_nothing(events: list[Event], seen: list[SeenOutage]) -> None:
    assert told(events, seen) == told(STORY, SEEN)


@given(st.sets(st.sampled_from(range(len(STORY)))))
def test_whatever_the_log_forgot_it_is_told(left: set[int]) -> None:
    story = [event for index, event in enumerate(STORY) if index in left]
    for begin in beginnings(story):
        found = incident(begin, story, SEEN, NOW, is_down=False)
        assert found.ended is None or found.ended >= begin.at
        assert markdown(found, cluster="lab", names=NAMES, url="https://x", now=NOW)


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
def test_durations_are_told_as_people_say_them(milliseconds: int, text: str) -> None:
    assert span(milliseconds) == text


class TestReport:
    def report(self, *more: Any) -> str:
        return markdown(
            told([*STORY, *more], SEEN), cluster="lab", names=NAMES, url="https://x/timeline/incident/10", now=NOW
        )

    def test_it_has_the_headline_all_figures_and_times_in_utc(self) -> None:
        text = self.report()
        assert text.startswith(
            "# Node 2 down, 2026-03-01 04:00:00.000 UTC\n\nNode 2 was down for 41 s; demo was not served for 0.6 s; "
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

    def test_its_tables_stay_whole_whatever_the_log_says(self) -> None:
        assert "| a \\| b c |" in self.report(Event(30, at(1), "node_agent_lost", node_uid=2, description="a | b\nc"))
