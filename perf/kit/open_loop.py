"""Open-loop client in a separate process: it sends each request to its shard when it is due, like independent users.

`python -m perf.kit.open_loop HOST PORT RATE` reads and writes until its input ends, even if earlier replies are pending, then
prints the same as `perf.kit.cluster_client`. It follows no redirections. Rate 0: one request at a time per shard, each as soon as
the previous one is answered.
"""

import json
import random
import select
import socket
import sys
import time
from collections import deque
from typing import Any

import hiredis

from perf.kit.cluster_client import TIMEOUT_SECONDS, WRITTEN, Client
from shardboard.domain.placement import slots

SEED = 21


class ShardConnection:
    """A connection and its pending requests."""

    def __init__(self, host: str, port: int) -> None:
        self.connection = socket.create_connection((host, port), TIMEOUT_SECONDS)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = hiredis.Reader(encoding="utf-8")
        self.owed: deque[tuple[float, int, str]] = deque()
        """For each pending request: due time, index of its key, and the value to write; empty for a read."""


class OpenLoopLoad:
    """Load on all shards of a cluster, and its results."""

    def __init__(self, host: str, port: int) -> None:
        self.samples: list[tuple[float, float]] = []
        self.errors: list[str] = []
        self._client = Client((host, port))
        self._choice = random.Random(SEED)
        self._number = 0
        self._written: dict[int, str] = {}
        shards = {place: ShardConnection(*place) for place in set(self._client.places.values())}
        self._by_connection = {shard.connection.fileno(): shard for shard in shards.values()}
        self._by_key = [shards[self._client.places[slots.slot_of(_key(place))]] for place in range(WRITTEN)]
        self._poll = select.epoll()
        self._poll.register(sys.stdin, select.EPOLLIN)
        for connection in self._by_connection:
            self._poll.register(connection, select.EPOLLIN)

    def run_at_rate(self, rate: float) -> None:
        """Send `rate` requests per second until the input ends."""
        start, is_running = time.time(), True
        while is_running:
            while (due := start + self._number / rate) <= time.time():
                self._send(due, self._choice.randrange(WRITTEN))
            is_running = self._receive(due - time.time())

    def run_saturated(self) -> None:
        """Send as many requests as possible until the input ends."""
        by_shard = {
            shard: [number for number, connection in enumerate(self._by_key) if connection is shard]
            for shard in self._by_key
        }
        is_running = True
        while is_running:
            for shard, numbers in by_shard.items():
                if not shard.owed:
                    self._send(time.time(), self._choice.choice(numbers))
            is_running = self._receive(TIMEOUT_SECONDS)

    def count_wrong_keys(self) -> int:
        """Return how many keys do not have their last acknowledged value."""
        while any(shard.owed for shard in self._by_connection.values()):
            self._receive(TIMEOUT_SECONDS)
        return sum(self._client.execute("GET", _key(number)) != value for number, value in self._written.items())

    def _send(self, due: float, place: int) -> None:
        self._number += 1
        shard, key = self._by_key[place], _key(place)
        value = str(self._number) if self._number % 2 else ""
        argv = ("SET", key, value) if value else ("GET", key)
        shard.owed.append((due, place, value))
        shard.connection.sendall(hiredis.pack_command(argv))  # type: ignore[arg-type]  # its stub knows one-element tuples only

    def _receive(self, seconds: float) -> bool:
        """Process replies. Return False if the input has ended."""
        is_running = True
        for number, _ in self._poll.poll(max(0.0, seconds)):
            if number == sys.stdin.fileno():
                is_running = False
                self._poll.unregister(number)
                continue
            shard = self._by_connection[number]
            data = shard.connection.recv(65536)
            if not data:
                raise ConnectionError("a shard closed the connection")
            shard.reader.feed(data)
            now = time.time()
            while (reply := shard.reader.gets()) is not False:
                self._take(shard, reply, now)
        return is_running

    def _take(self, shard: ShardConnection, reply: Any, now: float) -> None:
        due, address, value = shard.owed.popleft()
        self.samples.append((due, now - due))
        if isinstance(reply, hiredis.ReplyError):
            self.errors.append(str(reply))
        elif value:
            self._written[address] = value


def _key(place: int) -> str:
    return f"own:{place}"


def main() -> None:
    host, port, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    load = OpenLoopLoad(host, port)
    print("ready", flush=True)
    if rate:
        load.run_at_rate(rate)
    else:
        load.run_saturated()
    json.dump({"samples": load.samples, "errors": load.errors, "wrong": load.count_wrong_keys()}, sys.stdout)


if __name__ == "__main__":
    main()
