"""`python engine/testkit/conformance/hostile.py`: hostile clients beside clients that check every reply.

The hostile clients send documented commands with mutated arguments, bytes that are no requests, the requests of `ATTACKS`, long
scripts, requests that they do not complete, and requests whose replies they do not read. The others read, write, execute
transactions, and receive messages through the same proxy. The exit status is 1 if one of them gets a wrong reply, or is
disconnected."""

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from socket import create_connection

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator import INJECTED
from lab import command
from speaker import Speaker
from world import ENDPOINTS, LEFT_OUT, HostileClients, World

LONG_SCRIPT = command("EVAL", "local n=0 for i=1,20000000 do n=n+i end return n", 1, "{t}hostile:1") + command(
    "FUNCTION", "LIST", b"x\r\n$9\r\nmalicious"
)
LONG_SCRIPT_SECONDS = 5.0
"""Time between two long scripts. A shard executes one request at a time, so scripts without pauses delay all
clients of a server, with or without a proxy."""
SHEBANG = b'#!lua flags="a\\r\\n$9\\r\\nmalicious"\nreturn 1'
ATTACKS = [
    command("EVAL", "local n=0 for i=1,100000 do n=n+i end return n", 1, "{t}hostile:1")
    + command("FUNCTION", "LIST", b"x\r\n$9\r\nmalicious"),
    command("EVAL", SHEBANG, 1, "{t}hostile:1"),
    command("SCRIPT", "LOAD", SHEBANG),
    command("FUNCTION", "LOAD", b"#!lua name=x\nlocal a = {} local b = a['a\\r\\n$9\\r\\nmalicious'] .. 1"),
    b"*3\r\n$3\r\nSET\r\n$11\r\n{t}hostile:1\r\n$5\r\nvalueXX",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"Host: a\r\n",
    command("WATCH", "{t}hostile:1") + command("AUTH", "default", "x") + command("MULTI") + command("EXEC"),
    command("MSETEX", 2, "foo", 1, "bar", 2),
    command("MULTI") + command("SET", "{t}hostile:1", 1) + command("EXEC"),
    command("XREADGROUP", "GROUP", "streams", "w", "STREAMS", "{t}hostile:3", ">"),
    command("HELLO", 3, "SETNAME", b"a b\nid=1 addr=10.0.0.1:1"),
    command("HELLO", 3) + command("CLIENT", "TRACKING", "ON", "BCAST") + command("HELLO", 2),
    command("SUBSCRIBE", "victim:0", "victim:1") + command("SSUBSCRIBE", "{t}c") + command("PING", INJECTED),
    command("MONITOR"),
    command("CLIENT", "REPLY", "OFF") + command("GET", "{t}hostile:1"),
    command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"),
    command("CLIENT", "PAUSE", 100000),
    command("DEBUG", "SLEEP", 10),
    command("SHUTDOWN", "NOSAVE"),
    command("REPLICAOF", "NO", "ONE"),
    command("BLPOP", "{t}hostile:4", 0),
    command("WAIT", 9, 0),
    b"*2000000\r\n",
    b"*2\r\n$4\r\nECHO\r\n$500000000\r\nx",
    command("SET", "{t}hostile:2", b"v" * 1_000_000) + command("GET", "{t}hostile:2") * 50,
]


class Results:
    """Counts of all threads, and the first errors."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []

    def add(self, name: str, error: str = "") -> None:
        """Count a reply, or an error with its text."""
        with self._lock:
            self.counts[name] += 1
            if error and len(self.errors) < 20:
                self.errors.append(error)


class Victim:
    """One client that checks its replies until the end."""

    def __init__(self, world: World, target: str, number: int, results: Results) -> None:
        self._port, self._address = ENDPOINTS[target], world.address
        self._name = f"{target}, client {number}"
        self._number = number
        self._results = results
        self._speaker = Speaker(self._address, self._port)
        self._speaker.connection.settimeout(60)

    def check(self, expected: bytes, reply: bytes) -> None:
        """Count a reply."""
        is_wrong = reply != expected
        self._results.add(
            "wrong replies" if is_wrong else "replies",
            f"{self._name}: {reply[:100]!r} instead of {expected[:100]!r}" if is_wrong else "",
        )

    def ask(self, expected: bytes, *args: str) -> None:
        """Send a request and check its reply."""
        self.check(expected, self._speaker.raw(*args))

    def run(self, until: float, work: Callable[["Victim", int], None]) -> None:
        """Repeat the work until this time. A lost connection ends it."""
        count = 0
        try:
            while time.monotonic() < until:
                count += 1
                work(self, count)
                time.sleep(0.002)
        except OSError as error:
            self._results.add("victims lost", f"{self._name}, {work.__name__} {count}: {error}")

    def read(self, count: int) -> None:
        """Read values in a pipeline."""
        keys = [f"{{t}}victim:{self._number}:{each}" for each in range(8)]
        if count == 1:
            for key in keys:
                self.ask(b"+OK\r\n", "SET", key, f"value of {key}")
        self._speaker.connection.sendall(b"".join(command("GET", key) for key in keys))
        for key in keys:
            value = f"value of {key}".encode()
            self.check(b"$%d\r\n%b\r\n" % (len(value), value), self._speaker.frame())

    def write(self, count: int) -> None:
        """Count in separate keys: each request is executed exactly once."""
        self.ask(b":%d\r\n" % count, "INCR", f"{{t}}counter:{self._number}")
        self.ask(b":%d\r\n" % count, "RPUSH", f"list:{self._number}", f"{count}")

    def transact(self, count: int) -> None:
        """Execute a transaction on a key that no other client changes."""
        key = f"{{t}}transaction:{self._number}"
        self.ask(b"+OK\r\n", "WATCH", key)
        self.ask(b"+OK\r\n", "MULTI")
        self.ask(b"+QUEUED\r\n", "INCR", key)
        self.ask(b"+QUEUED\r\n", "GET", key)
        self.ask(b"*2\r\n:%d\r\n$%d\r\n%d\r\n" % (count, len(str(count)), count), "EXEC")

    def subscribe(self, count: int) -> None:
        """Receive its own messages, in order. Others may subscribe to the channel too."""
        channel = f"victim:{self._number}"
        if count == 1:
            self.ask(
                b"*3\r\n$9\r\nsubscribe\r\n$%d\r\n%b\r\n:1\r\n" % (len(channel), channel.encode()), "SUBSCRIBE", channel
            )
            self._publisher = Speaker(self._address, self._port)
            self._publisher.connection.settimeout(60)
        self._publisher.raw("PUBLISH", channel, f"{count}")
        parts = (b"message", channel.encode(), b"%d" % count)
        self.check(b"*3\r\n" + b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts), self._speaker.frame())


def attack(world: World, target: str, seed: int, until: float, results: Results) -> None:
    """Send attacks until this time. Errors are those that the proxy returns to this client."""
    random = Random(seed)
    generated = HostileClients(random, world.address, ENDPOINTS[target], world.commands(LEFT_OUT))
    next_long_script = time.monotonic() + random.uniform(0, LONG_SCRIPT_SECONDS)
    while (now := time.monotonic()) < until:
        with suppress(OSError):
            is_long = now >= next_long_script
            if not is_long and random.random() < 0.6:
                generated.act()
            else:
                with create_connection((world.address, ENDPOINTS[target]), timeout=10) as client:
                    requests = [LONG_SCRIPT] if is_long else random.choices(ATTACKS, k=random.randint(1, 3))
                    next_long_script += LONG_SCRIPT_SECONDS if is_long else 0
                    client.sendall(b"".join(requests))
                    client.settimeout(random.choice((0.001, 0.05)))
                    client.recv(random.choice((1, 4096)))
        results.add("attacks")
    generated.close()


def main() -> int:
    """Run attacks and victims for some time, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    world, results = World(), Results()
    try:
        until = time.monotonic() + options.seconds
        threads = []
        for number, target in enumerate(ENDPOINTS):
            for kind, work in enumerate((Victim.read, Victim.read, Victim.write, Victim.transact, Victim.subscribe)):
                victim = Victim(world, target, number * 10 + kind, results)
                threads.append(threading.Thread(target=victim.run, args=(until, work)))
            for attacker in range(2):
                arguments = (world, target, options.seed * 10 + number * 2 + attacker, until, results)
                threads.append(threading.Thread(target=attack, args=arguments))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        world.lab.close()
    print("\n".join(results.errors))
    for name in ("attacks", "replies", "wrong replies", "victims lost"):
        print(f"{results.counts[name]} {name}")
    return 1 if results.counts["wrong replies"] or results.counts["victims lost"] else 0


if __name__ == "__main__":
    sys.exit(main())
