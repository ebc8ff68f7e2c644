"""Tests of failover decisions: which replica is promoted, and how."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failures.failover import (
    ObservedShard,
    PairWithoutPrimary,
    ShardRoles,
    UnrequestedElection,
    best,
    broken_pairs,
    elected,
    method,
    recoverable_shards,
    replaceable_hung_shards,
)

STATUSES = ("ok", "loading", "timeout", "down", "unknown")

observed_shards = st.lists(
    st.builds(
        ObservedShard,
        uid=st.integers(1, 1000),
        pair=st.integers(0, 3),
        role=st.sampled_from(("master", "slave")),
        status=st.sampled_from(STATUSES),
        link=st.sampled_from(("", "idle", "in_progress", "link_down")),
    ),
    max_size=12,
    unique_by=lambda member: member.uid,
)


@given(observed_shards)
def test_pair_is_broken_when_all_its_primaries_are_down(shards: list[ObservedShard]) -> None:
    broken = {pair.pair: pair for pair in broken_pairs(shards)}
    for pair in {shard.pair for shard in shards}:
        primaries = [shard for shard in shards if shard.pair == pair and shard.role == "master"]
        down = [shard for shard in primaries if shard.status == "down"]
        assert (pair in broken) == (bool(primaries) and down == primaries)
        if pair in broken:
            assert broken[pair].primary in {shard.uid for shard in primaries}


@given(observed_shards)
def test_candidates_are_reachable_replicas_of_the_pair(shards: list[ObservedShard]) -> None:
    for broken in broken_pairs(shards):
        expected = [each for each in shards if (each.pair, each.role, each.status) == (broken.pair, "slave", "ok")]
        assert list(broken.candidates) == [shard.uid for shard in expected]


def test_primary_that_is_only_unreachable_is_not_replaced() -> None:
    for status in ("timeout", "loading", "unknown"):
        assert broken_pairs([ObservedShard(1, 0, "master", status), ObservedShard(2, 0, "slave", "ok")]) == []
    down = [ObservedShard(1, 0, "master", "down"), ObservedShard(2, 0, "slave", "ok")]
    assert broken_pairs(down) == [PairWithoutPrimary(0, 1, (2,))]


@given(st.integers(1, 512), st.data())
def test_vote_is_used_only_with_a_remaining_majority(primaries: int, data: st.DataObject) -> None:
    lost = data.draw(st.integers(1, primaries))
    chosen = method(cluster=True, primaries=primaries, lost=lost)
    assert chosen == ("FORCE" if 2 * (primaries - lost) > primaries else "TAKEOVER")


@given(st.integers(1, 512), st.integers(1, 512))
def test_replicaof_is_used_outside_cluster_mode(primaries: int, lost: int) -> None:
    assert method(cluster=False, primaries=primaries, lost=lost) == "REPLICAOF"


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 2**50)), min_size=1, unique_by=lambda each: each[0]))
def test_best_replica_has_the_highest_offset(offsets: list[tuple[int, int]]) -> None:
    top = max(offset for _, offset in offsets)
    assert best(offsets) == min(uid for uid, offset in offsets if offset == top)


def test_replica_outside_the_lost_zone_is_preferred_among_equals() -> None:
    assert best([(1, 7), (2, 7), (3, 7)], at_risk={1}) == 2
    assert best([(1, 8), (2, 7)], at_risk={1}) == 1, "no acknowledged write is given up"
    assert best([(1, 7), (2, 7)], at_risk={1, 2}) == 1


@given(observed_shards)
def test_dead_shard_is_restarted_only_if_its_pair_has_a_primary(shards: list[ObservedShard]) -> None:
    recoverable = recoverable_shards(shards)
    for shard in shards:
        has_primary = any(each.pair == shard.pair and (each.role, each.status) == ("master", "ok") for each in shards)
        assert (shard.uid in recoverable) == (shard.status == "down" and has_primary)
    assert not {pair.primary for pair in broken_pairs(shards)} & set(recoverable), (
        "a lost primary is never started empty"
    )


shard_roles = st.lists(
    st.builds(
        ShardRoles,
        uid=st.integers(1, 1000),
        pair=st.integers(0, 2),
        desired_role=st.sampled_from(("master", "slave")),
        observed_role=st.sampled_from(("master", "slave")),
        status=st.sampled_from(STATUSES),
    ),
    max_size=9,
    unique_by=lambda shard: shard.uid,
)


@given(shard_roles)
def test_elected_primary_replaces_the_desired_primary(roles: list[ShardRoles]) -> None:
    by_uid = {shard.uid: shard for shard in roles}
    for each in elected(roles):
        promoted, lost = by_uid[each.promoted], by_uid[each.lost]
        assert (promoted.pair, promoted.observed_role, promoted.status) == (lost.pair, "master", "ok")
        assert lost.desired_role == "master"
        assert lost.observed_role == "slave" or lost.status == "down"


def test_election_of_another_primary_is_detected() -> None:
    lost, promoted = ShardRoles(1, 0, "master", "master", "down"), ShardRoles(4, 0, "slave", "master", "ok")
    assert elected([lost, promoted]) == [UnrequestedElection(promoted=4, lost=1)]
    assert elected([ShardRoles(1, 0, "master", "slave", "ok"), promoted]) == [
        UnrequestedElection(promoted=4, lost=1)
    ], "the lost primary returned as a replica"
    assert elected([ShardRoles(1, 0, "master", "master", "ok"), promoted]) == [], "two shards act as primary"
    assert elected([ShardRoles(1, 0, "master", "master", "timeout"), promoted]) == [], (
        "the desired primary might still act as primary"
    )
    assert elected([lost, ShardRoles(4, 0, "slave", "slave", "ok")]) == []
    assert elected([lost, ShardRoles(4, 0, "slave", "master", "timeout")]) == [], (
        "the promoted shard does not answer now"
    )


@given(observed_shards)
def test_hung_shard_is_dispensable_only_beside_a_complete_copy(shards: list[ObservedShard]) -> None:
    replaceable = set(replaceable_hung_shards(shards))
    for shard in shards:
        others = [other for other in shards if other.pair == shard.pair and other.status == "ok"]
        leads = any(other.role == "master" for other in others)
        has_complete_copy = any(other.link == "idle" for other in others)
        expendable = leads or (shard.role == "master" and has_complete_copy)
        assert (shard.uid in replaceable) == (shard.status == "timeout" and expendable)
