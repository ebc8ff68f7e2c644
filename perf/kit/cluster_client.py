"""Cluster client in a separate process, with steady reads and verifiable writes until its input ends.

`python -m perf.kit.cluster_client HOST PORT KEYS` prints one JSON object: when each request was due and how long it took from then
on, the errors, and the number of keys with wrong values.

It learns one slot from each redirection. valkey-py instead reads the complete slot map after every fifth, which costs many times
more than what is measured here.
"""

import json
import random
import select
import socket
import sys
import time
from typing import Any

import hiredis

from shardboard.domain.placement import slots

RATE = 200
SEED = 20
WRITTEN = 2000
"""Number of own keys that it writes repeatedly."""
REDIRECTIONS = 16
TIMEOUT_SECONDS = 10.0

HostPort = tuple[str, int]


class Client:
    """One connection per server, one request at a time."""

    def __init__(self, home: HostPort) -> None:
        self._home = home
        self.places: dict[int, HostPort] = {}
        """Last known owner by slot."""
        self._open: dict[HostPort, tuple[socket.socket, hiredis.Reader]] = {}
        for first, last, (host, port, *_), *_ in self._exchange(home, "CLUSTER", "SLOTS"):
            self.places |= dict.fromkeys(range(first, last + 1), (host, port))

    def execute(self, command: str, key: str, *argv: str) -> Any:
        """Return the reply. Raises the server's error unless it is a redirection."""
        slot = slots.slot_of(key)
        address, is_asking = self.places.get(slot, self._home), False
        for _ in range(REDIRECTIONS):
            if is_asking:
                self._exchange(address, "ASKING")
            reply = self._exchange(address, command, key, *argv)
            kind, _, address_text = str(reply).partition(" ") if isinstance(reply, hiredis.ReplyError) else ("", "", "")
            if kind not in ("MOVED", "ASK"):
                break
            host, _, port = address_text.rpartition(" ")[2].rpartition(":")
            address, is_asking = (host, int(port)), kind == "ASK"
            if not is_asking:
                self.places[slot] = address
        if isinstance(reply, hiredis.ReplyError):
            raise reply
        return reply

    def _exchange(self, place: HostPort, *argv: str) -> Any:
        if place not in self._open:
            self._open[place] = (socket.create_connection(place, TIMEOUT_SECONDS), hiredis.Reader(encoding="utf-8"))
        connection, reader = self._open[place]
        connection.sendall(hiredis.pack_command(argv))  # type: ignore[arg-type]  # its stub knows one-element tuples only
        while (reply := reader.gets()) is False:
            reader.feed(connection.recv(65536) or _raise_closed(place))
        return reply


def value_of(number: int) -> str:
    """Return the value that `perf.clusters.resharding` wrote to the key."""
    return f"{number:064d}"


def main() -> None:
    host, port, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = Client((host, port))
    rng = random.Random(SEED)
    samples: list[tuple[float, float]] = []
    errors: list[str] = []
    error_count = 0
    expected: dict[str, int] = {}
    number = 0
    start = time.time()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        due = start + number / RATE
        time.sleep(max(0.0, due - time.time()))
        number += 1
        try:
            if number % 2:
                key_number = rng.randrange(keys)
                error_count += client.execute("GET", f"key:{key_number}") != value_of(key_number)
            else:
                key = f"own:{rng.randrange(WRITTEN)}"
                client.execute("SET", key, str(number))
                expected[key] = number
        except (hiredis.ReplyError, OSError) as error:
            errors.append(f"{type(error).__name__}: {error}")
        samples.append((due, time.time() - due))
    error_count += sum(int(client.execute("GET", key) or -1) != number for key, number in expected.items())
    json.dump({"samples": samples, "errors": errors, "wrong": error_count}, sys.stdout)


def _raise_closed(place: HostPort) -> bytes:
    raise ConnectionError(f"{place[0]}:{place[1]} closed the connection")


if __name__ == "__main__":
    main()
