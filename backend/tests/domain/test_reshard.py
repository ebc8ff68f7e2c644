"""Sharing slots out anew: every slot once, as few moved as possible, the same work when asked on the way."""

from hypothesis import given, settings
from hypothesis import strategies as st

from shardboard.domain import reshard, slots
from shardboard.domain.reshard import SlotBatch, Spread, count


def even(pairs: int) -> dict[int, slots.Ranges]:
    return {pair: (whole,) for pair, whole in enumerate(slots.split(pairs))}


@st.composite
def spreads(draw: st.DrawFn) -> dict[int, slots.Ranges]:
    """Any sharing out of all slots among a few pairs, in several ranges; some may hold nothing."""
    pairs = draw(st.integers(1, 8))
    edges = sorted(draw(st.sets(st.integers(1, slots.SLOTS - 1), max_size=20)))
    owners = draw(st.lists(st.integers(0, pairs - 1), min_size=len(edges) + 1, max_size=len(edges) + 1))
    held: dict[int, list[int]] = {pair: [] for pair in range(pairs)}
    for owner, first, after in zip(owners, [0, *edges], [*edges, slots.SLOTS], strict=True):
        held[owner] += range(first, after)
    return {pair: slots.gather(numbers) for pair, numbers in held.items()}


def least(held: Spread, staying: set[int]) -> int:
    """How many slots have to move whatever one does: what the leaving hold, and what the staying have too much of, when the
    larger shares go to those with most."""
    size, odd = divmod(slots.SLOTS, len(staying))
    sizes = sorted((count(held.get(pair, ())) for pair in staying), reverse=True)
    return slots.SLOTS - sum(min(have, size + (place < odd)) for place, have in enumerate(sizes))


def moved(batches: list[SlotBatch]) -> int:
    return sum(batch.size for batch in batches)


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12))
def test_every_slot_once_balanced_and_with_the_fewest_moved(held: Spread, staying: set[int]) -> None:
    wanted = reshard.spread(held, staying)
    assert set(wanted) == staying
    assert sorted(slot for ranges in wanted.values() for slot in slots.each(ranges)) == list(range(slots.SLOTS))
    sizes = [count(ranges) for ranges in wanted.values()]
    assert max(sizes) - min(sizes) <= 1
    batches = reshard.batches(held, wanted)
    assert moved(batches) == least(held, staying)
    assert reshard.after(held, batches) == {**dict.fromkeys(held, ()), **wanted}


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12), st.data())
def test_on_the_way_what_is_left_is_what_has_not_moved(held: Spread, staying: set[int], data: st.DataObject) -> None:
    wanted = reshard.spread(held, staying)
    batches = reshard.batches(held, wanted)
    part = [
        SlotBatch(
            batch.source,
            batch.target,
            slots.gather(list(slots.each(batch.slots))[: data.draw(st.integers(0, batch.size))]),
        )
        for batch in batches
    ]
    halfway = reshard.after(held, part)
    assert moved(reshard.batches(halfway, wanted)) == moved(batches) - moved(part)
    assert moved(reshard.batches(halfway, reshard.spread(halfway, staying))) == moved(batches) - moved(part)


@settings(max_examples=40, deadline=None)
@given(spreads(), spreads(), st.integers(0, 7))
def test_what_has_to_move_is_what_has_another_owner(held: Spread, wanted: Spread, lost: int) -> None:
    """Whatever the two are; slots of a pair that nobody knows any more stay where they are."""
    known = {pair: ranges for pair, ranges in held.items() if pair != lost}
    owners, goals = ({slot: pair for pair in of for slot in slots.each(of[pair])} for of in (known, wanted))
    ways = {(batch.source, batch.target): batch.slots for batch in reshard.batches(known, wanted)}
    there = {(owners[slot], goals[slot]) for slot in owners if owners[slot] != goals[slot]}
    assert ways == {way: slots.gather(s for s in owners if (owners[s], goals[s]) == way) for way in there}


@settings(max_examples=40, deadline=None)
@given(spreads(), st.sets(st.integers(0, 11), min_size=1, max_size=12))
def test_a_pair_takes_part_in_one_batch_at_a_time(held: Spread, staying: set[int]) -> None:
    waiting = reshard.batches(held, reshard.spread(held, staying))
    chosen = reshard.at_once(waiting)
    ends = [end for batch in chosen for end in (batch.source, batch.target)]
    assert len(ends) == len(set(ends))
    assert bool(chosen) == bool(waiting)


def test_doubling_cuts_each_range_in_two() -> None:
    wanted = reshard.spread(even(3), range(6))
    assert all(len(ranges) == 1 for ranges in wanted.values())
    batches = reshard.batches(even(3), wanted)
    assert moved(batches) == 8191
    assert len(reshard.at_once(batches)) == 3


def test_one_more_pair_takes_a_part_of_each() -> None:
    wanted = reshard.spread(even(3), range(4))
    assert [len(wanted[pair]) for pair in range(4)] == [1, 1, 1, 2]
    assert moved(reshard.batches(even(3), wanted)) == 4096


def test_what_was_taken_is_given_back_where_it_came_from() -> None:
    grown = reshard.spread(even(3), range(4))
    back = reshard.spread(grown, range(3))
    assert sum(len(ranges) for ranges in back.values()) <= 5


def test_nothing_moves_when_all_is_even() -> None:
    assert reshard.spread(even(5), range(5)) == even(5)
    assert reshard.batches(even(5), even(5)) == []
