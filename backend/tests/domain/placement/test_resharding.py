"""Tests of resharding plans: each slot is assigned once, few slots move, and an interrupted plan continues."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.domain.placement import resharding, slots
from shardboard.domain.placement.resharding import SlotBatch, SlotDistribution, count


def even_spread(pairs: int) -> dict[int, slots.Ranges]:
    return {pair: (slot_range,) for pair, slot_range in enumerate(slots.split(pairs))}


@st.composite
def spreads(draw: st.DrawFn) -> dict[int, slots.Ranges]:
    """Return a random assignment of all slots to a few pairs, in several ranges. Some pairs can be empty."""
    pairs = draw(st.integers(1, 8))
    edges = sorted(draw(st.sets(st.integers(1, slots.SLOTS - 1), max_size=20)))
    owners = draw(st.lists(st.integers(0, pairs - 1), min_size=len(edges) + 1, max_size=len(edges) + 1))
    current: dict[int, list[int]] = {pair: [] for pair in range(pairs)}
    for owner, first, end in zip(owners, [0, *edges], [*edges, slots.SLOTS], strict=True):
        current[owner] += range(first, end)
    return {pair: slots.gather(numbers) for pair, numbers in current.items()}


def minimum_moves(current: SlotDistribution, target_pairs: set[int]) -> int:
    """Return the minimum number of slots to move: those of removed pairs and the surplus of remaining pairs, if the largest
    pairs get the larger shares."""
    size, remainder = divmod(slots.SLOTS, len(target_pairs))
    sizes = sorted((count(current.get(pair, ())) for pair in target_pairs), reverse=True)
    return slots.SLOTS - sum(min(current, size + (index < remainder)) for index, current in enumerate(sizes))


def slot_count(batches: list[SlotBatch]) -> int:
    return sum(batch.size for batch in batches)


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12))
def test_every_slot_is_assigned_once_with_the_fewest_moves(current: SlotDistribution, target_pairs: set[int]) -> None:
    desired = resharding.distribute(current, target_pairs)
    assert set(desired) == target_pairs
    assert sorted(slot for ranges in desired.values() for slot in slots.each(ranges)) == list(range(slots.SLOTS))
    sizes = [count(ranges) for ranges in desired.values()]
    assert max(sizes) - min(sizes) <= 1
    batches = resharding.batches(current, desired)
    assert slot_count(batches) == minimum_moves(current, target_pairs)
    assert resharding.after(current, batches) == {**dict.fromkeys(current, ()), **desired}


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12), st.data())
def test_interrupted_plan_continues_with_the_remaining_slots(
    current: SlotDistribution, target_pairs: set[int], data: st.DataObject
) -> None:
    desired = resharding.distribute(current, target_pairs)
    batches = resharding.batches(current, desired)
    completed = [
        SlotBatch(
            batch.source,
            batch.target,
            slots.gather(list(slots.each(batch.slots))[: data.draw(st.integers(0, batch.size))]),
        )
        for batch in batches
    ]
    halfway = resharding.after(current, completed)
    assert slot_count(resharding.batches(halfway, desired)) == slot_count(batches) - slot_count(completed)
    assert slot_count(resharding.batches(halfway, resharding.distribute(halfway, target_pairs))) == slot_count(
        batches
    ) - slot_count(completed)


@settings(max_examples=40, deadline=None)
@given(spreads(), spreads(), st.integers(0, 7))
def test_only_slots_with_another_owner_move(current: SlotDistribution, desired: SlotDistribution, lost: int) -> None:
    """This holds for all assignments. Slots of an unknown pair stay where they are."""
    known = {pair: ranges for pair, ranges in current.items() if pair != lost}
    owners, target_owners = (
        {slot: pair for pair in ranges_by_pair for slot in slots.each(ranges_by_pair[pair])}
        for ranges_by_pair in (known, desired)
    )
    slots_by_pair = {(batch.source, batch.target): batch.slots for batch in resharding.batches(known, desired)}
    expected_ways = {(owners[slot], target_owners[slot]) for slot in owners if owners[slot] != target_owners[slot]}
    assert slots_by_pair == {
        batch_pair: slots.gather(s for s in owners if (owners[s], target_owners[s]) == batch_pair)
        for batch_pair in expected_ways
    }


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12))
def test_each_pair_is_in_one_batch_at_a_time(current: SlotDistribution, target_pairs: set[int]) -> None:
    remaining_batches = resharding.batches(current, resharding.distribute(current, target_pairs))
    batches = resharding.parallel_batches(remaining_batches)
    pairs = [end for batch in batches for end in (batch.source, batch.target)]
    assert len(pairs) == len(set(pairs))
    assert bool(batches) == bool(remaining_batches)


def test_doubling_the_shards_splits_each_range() -> None:
    desired = resharding.distribute(even_spread(3), range(6))
    assert all(len(ranges) == 1 for ranges in desired.values())
    batches = resharding.batches(even_spread(3), desired)
    assert slot_count(batches) == 8191
    assert len(resharding.parallel_batches(batches)) == 3


def test_new_pair_takes_slots_from_each_pair() -> None:
    desired = resharding.distribute(even_spread(3), range(4))
    assert [len(desired[pair]) for pair in range(4)] == [1, 1, 1, 2]
    assert slot_count(resharding.batches(even_spread(3), desired)) == 4096


def test_removed_pair_returns_slots_to_adjacent_ranges() -> None:
    grown = resharding.distribute(even_spread(3), range(4))
    restored = resharding.distribute(grown, range(3))
    assert sum(len(ranges) for ranges in restored.values()) <= 5


def test_balanced_assignment_is_not_changed() -> None:
    assert resharding.distribute(even_spread(5), range(5)) == even_spread(5)
    assert resharding.batches(even_spread(5), even_spread(5)) == []
