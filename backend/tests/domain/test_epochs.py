"""Which rises of configuration epochs were nobody's order."""

from hypothesis import given
from hypothesis import strategies as st

from shardboard.domain.epochs import ABSURD, JUMP, Look, Rise, Watch


def look(*epochs: int, newest: int | None = None, process: str = "1") -> Look:
    """Primaries 1, 2, 3, …"""
    own = {(uid, process): epoch for uid, epoch in enumerate(epochs, 1)}
    return Look(own, max(epochs) if newest is None else newest)


def test_a_rise_is_told_once_when_it_is_still_there_at_the_next_look() -> None:
    watch = Watch()
    assert [watch.see(look(*epochs)) for epochs in [(1, 2, 3), (1, 2, 3), (1, 9, 3), (1, 9, 3), (1, 9, 3)]] == [
        [],
        [],
        [],
        [Rise(2, 2, 9)],
        [],
    ]


def test_what_rises_while_something_changes_is_told_by_nobody() -> None:
    watch = Watch()
    watch.see(look(1, 2, 3))
    watch.see(look(1, 9, 3))
    watch.change()
    assert watch.see(look(1, 9, 3)) == []
    assert watch.see(look(1, 9, 3)) == []


def test_who_leads_anew_or_was_started_again_has_an_epoch_of_its_own() -> None:
    watch = Watch()
    for now in (look(1, 2), look(1, 2, 7), look(1, 2, 7), look(4, 5, 8, process="2"), look(4, 5, 8, process="2")):
        assert watch.see(now) == []


def test_elections_that_nobody_won_are_told_when_there_were_more_than_there_could_be() -> None:
    watch = Watch()
    assert watch.see(look(1, 2, newest=50)) == []
    assert watch.see(look(1, 2, newest=50 + JUMP)) == []
    watch.change()
    assert watch.see(look(1, 2, newest=51 + 2 * JUMP)) == [Rise(None, 50 + JUMP, 51 + 2 * JUMP)]
    assert watch.see(look(1, 2, newest=51 + 2 * JUMP)) == []
    assert Watch().see(look(1, newest=ABSURD + 1)) == [Rise(None, 0, ABSURD + 1)]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_no_rise_is_lost_where_nothing_changes(rises: list[tuple[int, int]]) -> None:
    """What is told adds up to what rose, whenever it rose."""
    watch, own, told = Watch(), [1, 2], [0, 0]
    for step in [(0, 0), *rises, (0, 0), (0, 0)]:
        own = [epoch + more for epoch, more in zip(own, step, strict=True)]
        for rise in watch.see(look(*own)):
            assert rise.shard_uid is not None
            told[rise.shard_uid - 1] += rise.after - rise.before
    assert [1 + told[0], 2 + told[1]] == own
