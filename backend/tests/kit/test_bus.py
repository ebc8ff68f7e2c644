"""Tests of the bus: a listener receives all messages published while it listens, and never delays the publisher."""

import asyncio

import pytest
from backend.tests.support.real_shards import wait_until

from shardboard.kit import bus as bus_module
from shardboard.kit.bus import QUEUE_LIMIT, Bus
from shardboard.kit.sse_frames import make_frame


async def test_listener_receives_its_topics_in_order() -> None:
    bus = Bus()
    bus.publish("a", "before the listener started")
    with bus.listen("a", "b") as listener:
        for topic, message in (("a", 1), ("b", 2), ("c", 3), ("a", 4)):
            bus.publish(topic, message)
        assert [await listener.get() for _ in range(3)] == [("a", 1), ("b", 2), ("a", 4)]
    bus.publish("a", "after the block")
    assert listener.drain() == []


async def test_every_listener_receives_the_message() -> None:
    bus = Bus()
    with bus.listen("a") as one, bus.listen("a") as other:
        bus.publish("a", "news")
        assert one.drain() == other.drain() == [("a", "news")]


def test_heard_returns_whether_a_topic_has_listeners() -> None:
    bus = Bus()
    assert not bus.has_listeners("a")
    with bus.listen("a"), bus.listen("a"):
        assert bus.has_listeners("a")
        assert not bus.has_listeners("b")
    assert not bus.has_listeners("a")


def test_failed_block_stops_listening() -> None:
    bus = Bus()
    with pytest.raises(RuntimeError), bus.listen("a"):
        raise RuntimeError
    assert not bus.has_listeners("a")


async def test_get_returns_on_a_message_or_on_timeout() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        assert await listener.get(timeout=0.01) is None
        task = asyncio.create_task(listener.get())
        await asyncio.sleep(0)
        bus.publish("a", "news")
        assert await task == ("a", "news")


async def test_cancelled_get_keeps_a_message_that_arrives_at_the_same_time() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        task = asyncio.create_task(listener.get(timeout=10))
        await wait_until(lambda: listener._queue._getters)  # type: ignore[attr-defined]
        bus.publish("a", "news")
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        assert listener.drain() == [("a", "news")]


def test_slow_listener_overflows_without_delaying_others() -> None:
    bus = Bus()
    with bus.listen("a") as slow, bus.listen("a") as fast:
        for number in range(QUEUE_LIMIT + 1):
            bus.publish("a", number)
            fast.drain()
        assert slow.overflowed
        assert not fast.overflowed
        assert len(slow.drain()) == QUEUE_LIMIT


async def test_until_skips_messages_that_do_not_match() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        task = asyncio.create_task(listener.wait_until(lambda message: message == 2, timeout=10))
        for number in range(2):
            bus.publish("a", number)
            await asyncio.sleep(0)
        assert not task.done()
        bus.publish("a", 2)
        await task


async def test_simultaneous_messages_end_only_one_wait() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        for _ in range(500):
            bus.publish("a", "it")
        await listener.wait_until(lambda message: message == "it", timeout=10)
        assert listener.drain() == []
        bus.publish("a", "it")  # published later: it may be about a change that the poll has missed
        async with asyncio.timeout(10):
            await listener.wait_until(lambda message: message == "it", timeout=60)


async def test_until_times_out_even_if_many_messages_are_published() -> None:
    bus = Bus()
    with bus.listen("a") as listener:

        async def publish_others() -> None:
            while True:
                bus.publish("a", "not it")
                await asyncio.sleep(0.01)

        publishing = asyncio.create_task(publish_others())
        try:
            async with asyncio.timeout(30):
                await listener.wait_until(lambda message: message == "it", timeout=0.1)
        finally:
            publishing.cancel()


async def test_until_clears_the_queue_after_an_overflow() -> None:
    bus = Bus()
    with bus.listen("a") as listener:
        for _ in range(QUEUE_LIMIT + 1):
            bus.publish("a", "it")
        await listener.wait_until(lambda message: message == "it", timeout=10)
        assert not listener.overflowed
        assert listener.drain() == []


async def test_queued_bytes_are_limited_if_requested() -> None:
    bus = Bus()
    frame = make_frame("sample", "x" * 100)
    with bus.listen("a", most_bytes=2 * frame.size) as slow, bus.listen("a") as unlimited:
        bus.publish("a", frame)
        bus.publish("a", frame)
        assert not slow.overflowed
        assert await slow.get() == ("a", frame)
        bus.publish("a", frame)
        assert not slow.overflowed, "a received message no longer counts"
        bus.publish("a", "no bytes at all")
        bus.publish("a", frame)
        assert (slow.overflowed, unlimited.overflowed) == (True, False)
        assert [len(slow.drain()), len(unlimited.drain())] == [3, 5]


async def test_a_pause_is_proportional_to_the_work_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    bus, loop, now, pauses = Bus(), asyncio.get_running_loop(), 0.0, []

    async def record_pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr(bus_module.asyncio, "sleep", record_pause)
    with bus.listen("a") as listener:
        bus.publish("a", "first")
        await listener.wait_until(lambda _: True, 5, pause=4)
        assert pauses == [], "no work before the first call"
        now += 0.02  # the work of the caller
        bus.publish("a", "second")
        await listener.wait_until(lambda _: True, 5, pause=4)
        assert pauses == [pytest.approx(0.08)]
        bus.publish("a", "third")
        await listener.wait_until(lambda _: True, 5, pause=4)
        assert len(pauses) == 1, "no work since the last call"


async def test_a_pause_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "MAX_PAUSE", 0.01)
    bus, loop = Bus(), asyncio.get_running_loop()
    with bus.listen("a") as listener:
        await listener.wait_until(lambda _: True, 0, pause=1000)
        await asyncio.sleep(0.02)
        bus.publish("a", "news")
        before = loop.time()
        await listener.wait_until(lambda _: True, 5, pause=1000)
        assert loop.time() - before < 5
        assert listener.drain() == []
