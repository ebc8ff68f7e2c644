"""The samples of the last two minutes, and the streams that send them to consoles."""

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Literal

from shardboard.contract import PULSE_SECONDS, RARE_PULSE_SECONDS, RING_SECONDS, Outage, Sample

PULSE = b"\n"


class SampleRing:
    """Numbered samples as lines of JSON."""

    def __init__(self, all_outages: Callable[[], list[Outage]] = list) -> None:
        """`all_outages` returns all outages that the agent remembers, for the first sample of a stream."""
        self._all_outages = all_outages
        self._lines: deque[tuple[int, bytes]] = deque(maxlen=RING_SECONDS)
        """Sequence number and JSON line. Text takes a fifth of the memory of objects and is serialized once for all listeners."""
        self.boot = uuid.uuid4().hex
        self.seq = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._listeners: Literal["served", "ignored", "sent away"] = "served"

    @property
    def newest(self) -> bytes:
        """The line of the newest sample. Raises IndexError if there is none."""
        return self._lines[-1][1]

    def append(self, sample: Sample) -> None:
        self._lines.append((sample.seq, sample.model_dump_json().encode() + b"\n"))
        self.seq = sample.seq
        self._wake_all()

    async def follow(self, after: int, boot: str, *, rare_pulses: bool = False) -> AsyncIterator[bytes]:
        """Yield the samples with `seq > after`, then each new one, as lines of JSON. An empty line between them is a pulse. The
        first one shows that all earlier samples were sent.

        A different `boot` means another agent process: start from the oldest sample. The first sample contains all remembered
        outages, including those of samples that are no longer in the ring or that the caller received but could not store.
        """
        last = after if boot == self.boot else 0
        has_started, pulse_seconds = False, PULSE_SECONDS
        while self._listeners != "sent away":
            if self._listeners == "ignored":
                await asyncio.sleep(PULSE_SECONDS)
                continue
            if self.seq <= last:
                await self._next(pulse_seconds)
                if self.seq <= last:
                    yield PULSE
                    pulse_seconds = RARE_PULSE_SECONDS if rare_pulses else PULSE_SECONDS
            for seq, line in [each for each in self._lines if each[0] > last]:
                yield line if has_started else self._with_all_outages(line)
                last, has_started = seq, True

    def _with_all_outages(self, line: bytes) -> bytes:
        if not (outages := self._all_outages()):
            return line
        sample = Sample.model_validate_json(line)
        return sample.model_copy(update={"outages": outages}).model_dump_json().encode() + b"\n"

    async def _next(self, timeout: float) -> None:
        """Wait for a sample, for the end, or for `timeout` seconds."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.add(future)
        timer = loop.call_later(timeout, _wake, future)
        try:
            await future
        finally:
            timer.cancel()
            self._waiting.discard(future)

    def close(self) -> None:
        """End each `follow`: the agent is stopping, or a drill simulates that."""
        self._listeners = "sent away"
        self._wake_all()

    def pause(self) -> None:
        """Keep each `follow` open but silent until `resume`."""
        self._listeners = "ignored"

    def resume(self) -> None:
        self._listeners = "served"

    def _wake_all(self) -> None:
        for future in self._waiting:
            _wake(future)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
