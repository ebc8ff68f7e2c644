"""Who is promoted and how, for whatever mix of shards."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.failover import (
    Broken,
    Elected,
    ObservedShard,
    ShardRoles,
    best,
    broken_pairs,
    dispensable,
    elected,
    method,
    revivable,
)

STATUSES = ("ok", "loading", "timeout", "down", "unknown")

members = st.lists(
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


@given(members)
def test_a_pair_is_broken_when_all_its_primaries_are_known_to_be_down(shards: list[ObservedShard]) -> None:
    broken = {pair.pair: pair for pair in broken_pairs(shards)}
    for pair in {shard.pair for shard in shards}:
        primaries = [shard for shard in shards if shard.pair == pair and shard.role == "master"]
        down = [shard for shard in primaries if shard.status == "down"]
        assert (pair in broken) == (bool(primaries) and down == primaries)
        if pair in broken:
            assert broken[pair].primary in {shard.uid for shard in primaries}


@given(members)
def test_candidates_are_replicas_of_the_pair_that_answer(shards: list[ObservedShard]) -> None:
    for broken in broken_pairs(shards):
        fit = [each for each in shards if (each.pair, each.role, each.status) == (broken.pair, "slave", "ok")]
        assert list(broken.candidates) == [shard.uid for shard in fit]


def test_a_primary_that_merely_was_not_seen_is_left_alone() -> None:
    for status in ("timeout", "loading", "unknown"):
        assert broken_pairs([ObservedShard(1, 0, "master", status), ObservedShard(2, 0, "slave", "ok")]) == []
    down = [ObservedShard(1, 0, "master", "down"), ObservedShard(2, 0, "slave", "ok")]
    assert broken_pairs(down) == [Broken(0, 1, (2,))]


@given(st.integers(1, 512), st.data())
def test_a_vote_is_asked_for_only_where_a_majority_is_left(primaries: int, data: st.DataObject) -> None:
    lost = data.draw(st.integers(1, primaries))
    chosen = method(cluster=True, primaries=primaries, lost=lost)
    assert chosen == ("FORCE" if 2 * (primaries - lost) > primaries else "TAKEOVER")


@given(st.integers(1, 512), st.integers(1, 512))
def test_outside_cluster_mode_nobody_votes(primaries: int, lost: int) -> None:
    assert method(cluster=False, primaries=primaries, lost=lost) == "REPLICAOF"


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 2**50)), min_size=1, unique_by=lambda each: each[0]))
def test_the_best_has_received_most(offsets: list[tuple[int, int]]) -> None:
    top = max(offset for _, offset in offsets)
    assert best(offsets) == min(uid for uid, offset in offsets if offset == top)


@given(members)
def test_only_dead_shards_beside_a_living_primary_come_back(shards: list[ObservedShard]) -> None:
    found = revivable(shards)
    for shard in shards:
        led = any(each.pair == shard.pair and (each.role, each.status) == ("master", "ok") for each in shards)
        assert (shard.uid in found) == (shard.status == "down" and led)
    assert not {pair.primary for pair in broken_pairs(shards)} & set(found), "a lost primary is never started empty"


shard_roles = st.lists(
    st.builds(
        ShardRoles,
        uid=st.integers(1, 1000),
        pair=st.integers(0, 2),
        wanted=st.sampled_from(("master", "slave")),
        seen=st.sampled_from(("master", "slave")),
        status=st.sampled_from(STATUSES),
    ),
    max_size=9,
    unique_by=lambda shard: shard.uid,
)


@given(shard_roles)
def test_an_election_has_one_acting_primary_and_it_is_not_who_was_wanted(held: list[ShardRoles]) -> None:
    by_uid = {shard.uid: shard for shard in held}
    for each in elected(held):
        promoted, lost = by_uid[each.promoted], by_uid[each.lost]
        assert (promoted.pair, promoted.seen, promoted.status) == (lost.pair, "master", "ok")
        assert lost.wanted == "master"
        assert lost.seen == "slave" or lost.status == "down"


def test_who_was_elected() -> None:
    lost, promoted = ShardRoles(1, 0, "master", "master", "down"), ShardRoles(4, 0, "slave", "master", "ok")
    assert elected([lost, promoted]) == [Elected(promoted=4, lost=1)]
    assert elected([ShardRoles(1, 0, "master", "slave", "ok"), promoted]) == [Elected(promoted=4, lost=1)], (
        "it is back and follows"
    )
    assert elected([ShardRoles(1, 0, "master", "master", "ok"), promoted]) == [], "two act as primary"
    assert elected([ShardRoles(1, 0, "master", "master", "timeout"), promoted]) == [], "it may still act as primary"
    assert elected([lost, ShardRoles(4, 0, "slave", "slave", "ok")]) == []
    assert elected([lost, ShardRoles(4, 0, "slave", "master", "timeout")]) == [], "it was seen so, and says nothing now"


@given(members)
def test_what_hangs_is_dispensable_only_beside_one_that_leads_or_has_all_data(shards: list[ObservedShard]) -> None:
    chosen = set(dispensable(shards))
    for shard in shards:
        others = [other for other in shards if other.pair == shard.pair and other.status == "ok"]
        leads = any(other.role == "master" for other in others)
        has_all = any(other.link == "idle" for other in others)
        spared = leads or (shard.role == "master" and has_all)
        assert (shard.uid in chosen) == (shard.status == "timeout" and spared)
