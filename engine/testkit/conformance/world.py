"""The servers and the proxy that requests of fuzz.py and hostile.py are sent to, and clients that send anything."""

from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from socket import create_connection, socket
from typing import Any

from generator import HOSTILE_KEYS, HOSTILE_SCRIPTS, Generator, malformed
from lab import Lab, Proxy, command
from reply_injection import documented_arguments
from speaker import Speaker

from shardboard.local.loopback import claim_network

SERVER, DIRECT, SHARDS = 21975, 21976, [21977, 21978, 21979]
ENDPOINTS = {"one server": 12975, "three shards": 12976}
LEFT_OUT = frozenset({"flushall", "flushdb", "move", "pfdebug", "pfselftest", "script|flush", "swapdb"})
"""Commands that hostile clients do not send: they change the data of others, or take seconds."""


class World:
    """A server, a proxy with two databases, and the commands of the engine."""

    def __init__(self) -> None:
        self.lab = Lab(f"{claim_network()}.2")
        self.address = self.lab.address
        try:
            for port in (SERVER, DIRECT):
                self.lab.server(port, "--databases", "1")
            proxy = Proxy(self.lab, Path(__file__).resolve().parents[2] / "target/release/shardboard-proxy")
            base = {"address": self.address, "mode": "hidden", "version": 1}
            shards = [self.lab.shard(SERVER, "primary", [])]
            single = {**base, "uid": 1, "port": ENDPOINTS["one server"], "sharded": False, "shards": shards}
            sharded = {**base, "uid": 2, "port": ENDPOINTS["three shards"], "shards": self.lab.cluster(SHARDS)}
            proxy.apply(single, sharded)
            self.documented = documented_arguments(Speaker(self.address, DIRECT))
        except BaseException:
            self.lab.close()
            raise

    def commands(self, omitted: frozenset[str]) -> Mapping[str, Sequence[Any]]:
        """Return the documented commands without some of them."""
        return {
            name: rows
            for name, rows in self.documented.items()
            if name not in omitted and name.partition("|")[0] not in omitted
        }


class HostileClients:
    """Clients that send whatever they like, and close their connections before they have read all replies."""

    def __init__(self, random: Random, address: str, port: int, commands: Mapping[str, Sequence[Any]]) -> None:
        self._random = random
        self._target = (address, port)
        self._generator = Generator(random, commands, HOSTILE_KEYS, HOSTILE_SCRIPTS)
        self._open: deque[socket] = deque()

    def act(self) -> None:
        """Send a few requests or other bytes on a new connection."""
        if len(self._open) > 3:
            self._open.popleft().close()
        requests = [self._generator.request() for _ in range(self._random.randint(1, 5))]
        data = malformed(self._random) if self._random.random() < 0.3 else b"".join(command(*each) for each in requests)
        client = create_connection(self._target, timeout=10)
        client.sendall(data)
        self._open.append(client)

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.popleft().close()
