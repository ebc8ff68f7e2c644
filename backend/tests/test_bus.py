"""Topics: who listens gets everything published meanwhile, and nobody is ever held up."""

import asyncio

import pytest
from backend.tests.shards import until

from shardboard.bus import QUEUE_LIMIT, Bus
from shardboard.frames import told


async def test_a_listener_gets_its_topics_in_order() -> None:
    bus = Bus()
    bus.publish("a", "before anybody listened")
    with bus.listen("a", "b") as listener:
        for topic, message in (("a", 1), ("b", 2), ("c", 3), ("a", 4)):
            bus.publish(topic, message)
        assert [await listener.get() for _ in range(3)] == [("a", 1), ("b", 2), ("a", 4)]
    bus.publish("a", "after the block")
    assert listener.drain() == []


async def test_everybody_who_listens_gets_the_message() -> None:
    bus = Bus()
    with bus.listen("a") as one, bus.listen("a") as other:
        bus.publish("a", "news")
        assert one.drain() == other.drain() == [("a", "news")]


def test_heard_tells_whether_a_message_is_worth_making() -> None:
    bus = Bus()
    assert not bus.heard("a")
    with bus.listen("a"), bus.listen("a"):
        assert bus.heard("a")
        assert not bus.heard("b")
    assert not bus.heard("a")


def test_a_block_that_fails_stops_listening() -> None:
    bus = Bus()
    with pytest.raises(RuntimeError), bus.listen("a"):
        raise RuntimeError
    assert not bus.heard("a")


async def test_waiting_ends_with_a_message_or_with_the_time() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        assert await listener.get(timeout=0.01) is None
        waiting = asyncio.create_task(listener.get())
        await asyncio.sleep(0)
        bus.publish("a", "news")
        assert await waiting == ("a", "news")


async def test_who_is_told_to_stop_stops_even_as_a_message_comes() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        waiting = asyncio.create_task(listener.get(timeout=10))
        await until(lambda: listener._queue._getters)  # type: ignore[attr-defined]
        bus.publish("a", "news")
        waiting.cancel()
        await asyncio.wait((waiting,))
        assert waiting.cancelled()
        assert listener.drain() == [("a", "news")]


def test_a_listener_that_sleeps_is_marked_and_holds_nobody_up() -> None:
    bus = Bus()
    with bus.listen("a") as sleeper, bus.listen("a") as awake:
        for number in range(QUEUE_LIMIT + 1):
            bus.publish("a", number)
            awake.drain()
        assert sleeper.overflowed
        assert not awake.overflowed
        assert len(sleeper.drain()) == QUEUE_LIMIT


async def test_until_passes_over_what_is_not_wanted() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        waiting = asyncio.create_task(listener.until(lambda message: message == 2, timeout=10))
        for number in range(2):
            bus.publish("a", number)
            await asyncio.sleep(0)
        assert not waiting.done()
        bus.publish("a", 2)
        await waiting


async def test_many_messages_at_once_end_one_wait_only() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        for _ in range(500):
            bus.publish("a", "it")
        await listener.until(lambda message: message == "it", timeout=10)
        assert listener.drain() == []
        bus.publish("a", "it")  # this one came later: it may tell of something that the look has missed
        async with asyncio.timeout(10):
            await listener.until(lambda message: message == "it", timeout=60)


async def test_until_ends_in_time_however_much_is_published() -> None:
    bus = Bus()
    with bus.listen("a") as listener:

        async def chatter() -> None:
            while True:
                bus.publish("a", "not it")
                await asyncio.sleep(0.01)

        talking = asyncio.create_task(chatter())
        try:
            async with asyncio.timeout(30):
                await listener.until(lambda message: message == "it", timeout=0.1)
        finally:
            talking.cancel()


async def test_until_starts_afresh_after_an_overflow() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        for _ in range(QUEUE_LIMIT + 1):
            bus.publish("a", "it")
        await listener.until(lambda message: message == "it", timeout=10)
        assert not listener.overflowed
        assert listener.drain() == []


async def test_bytes_that_wait_are_bounded_for_who_says_so() -> None:
    bus = Bus()
    frame = told("sample", "x" * 100)
    with bus.listen("a", most_bytes=2 * frame.size) as slow, bus.listen("a") as patient:
        bus.publish("a", frame)
        bus.publish("a", frame)
        assert not slow.overflowed
        assert await slow.get() == ("a", frame)
        bus.publish("a", frame)
        assert not slow.overflowed, "what was taken waits no more"
        bus.publish("a", "no bytes at all")
        bus.publish("a", frame)
        assert (slow.overflowed, patient.overflowed) == (True, False)
        assert [len(slow.drain()), len(patient.drain())] == [3, 5]
