"""`python engine/testkit/conformance/fuzz.py`: compare a proxy with a server by random requests, next to hostile clients.

The same requests of two clients are sent to a single server and through the proxy, which serves another single server or three
shards. A request is a documented command with valid and mutated arguments: line breaks, NUL bytes, keywords, unusual numbers.
The replies must be equal, apart from the differences in README.md. In half of the rounds, other clients send requests whose
replies are not compared, and bytes that are no requests. A victim that shares their connections to the shards reads its own
values all the time. A round can be repeated with `--seed S --first N`."""

import argparse
import sys
import time
from collections import Counter, deque
from pathlib import Path
from random import Random
from socket import SHUT_WR, create_connection

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from generator import Generator, malformed
from lab import command
from speaker import Speaker
from world import DIRECT, ENDPOINTS, LEFT_OUT, HostileClients, World

SETUP = """SET {t}string 10|RPUSH {t}list a b c|HSET {t}hash f 1 g 2|SADD {t}set a b 1|ZADD {t}zset 1 a 2 b 3 c
XADD {t}stream 1-1 f v|XGROUP CREATE {t}stream f 0"""
UNCOMPARED = frozenset(
    (
        *(
            "acl",
            "asking",
            "auth",
            "bgrewriteaof",
            "bgsave",
            "client",
            "cluster",
            "clusterscan",
            "command",
            "commandlog",
            "config",
        ),
        *(
            "debug",
            "failover",
            "function",
            "hello",
            "info",
            "latency",
            "memory",
            "migrate",
            "module",
            "monitor",
            "readonly",
        ),
        *(
            "psubscribe",
            "psync",
            "pubsub",
            "punsubscribe",
            "quit",
            "readwrite",
            "replconf",
            "replicaof",
            "reset",
            "restore-asking",
        ),
        *(
            "role",
            "save",
            "scan",
            "script|debug",
            "script|exists",
            "script|help",
            "script|kill",
            "script|show",
            "shutdown",
        ),
        *("slaveof", "slowlog", "ssubscribe", "subscribe", "sunsubscribe", "sync", "unsubscribe", "wait", "waitaof"),
        *("blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop", "bzpopmax", "bzpopmin"),  # they wait
        *("dbsize", "keys", "publish", "spublish"),  # they concern keys and subscriptions of hostile clients
        *("dump", "hrandfield", "lastsave", "lolwut", "randomkey", "spop", "srandmember", "time", "zrandmember"),
        *(
            "expiretime",
            "hexpiretime",
            "hpexpiretime",
            "hpttl",
            "httl",
            "object|freq",
            "object|idletime",
            "pexpiretime",
            "pttl",
        ),
        *("ttl", "xinfo|consumers", "xinfo|groups", "xinfo|stream", "xpending"),
    )
)
"""Commands whose replies depend on time or chance, that wait, or that are listed in README.md."""
NO_CLUSTER = frozenset({"move", "swapdb"})
UNORDERED = frozenset({b"eval", b"eval_ro", b"exec", b"hgetall", b"hkeys", b"hvals", b"sdiff", b"sinter", b"smembers"})
UNORDERED |= {b"hscan", b"sscan", b"sort", b"sort_ro", b"sunion", b"zscan"}
CROSSSLOT = b"-CROSSSLOT Keys in request don't hash to the same slot\r\n"
NOT_QUEUED = b"-ERR Command not allowed inside a transaction\r\n"
OTHER_DATABASE = b"-ERR DB index is out of range\r\n"
HTTP = b"-ERR Protocol error: HTTP requests are not supported\r\n"


def is_intended(name: bytes, through: bytes, *, sharded: bool) -> bool:
    """Whether README.md lists this reply as different. The state of the two databases may then differ, too."""
    if through in (NOT_QUEUED, OTHER_DATABASE):
        return True
    return sharded and (through == CROSSSLOT or b" in cluster mode" in through.lower())


def is_equal(name: bytes, expected: bytes, reply: bytes) -> bool:
    """Compare two replies. The order of the items of sets and hashes is not defined."""
    return expected == reply or (name in UNORDERED and sorted(expected.split(b"\r\n")) == sorted(reply.split(b"\r\n")))


class Victim:
    """A client that reads its own values."""

    def __init__(self, address: str, port: int, label: str) -> None:
        self._speaker = Speaker(address, port)
        self.values = {f"{{t}}victim:{number}": f"value of {label}:{number}" for number in range(8)}
        self._expected: deque[bytes] = deque()
        self.checked = 0

    def ask(self, random: Random) -> None:
        """Request some values."""
        keys = random.choices(sorted(self.values), k=random.randint(1, 4))
        self._speaker.connection.sendall(b"".join(command("GET", key) for key in keys))
        self._expected += [
            b"$%d\r\n%b\r\n" % (len(value), value) for value in (self.values[key].encode() for key in keys)
        ]

    def wrong_replies(self, *, may_be_missing: bool) -> list[str]:
        """Read the replies to all requests and return those that are wrong."""
        wrong = []
        while self._expected:
            expected, reply = self._expected.popleft(), self._speaker.frame()
            self.checked += 1
            if reply != expected and not (may_be_missing and reply in (b"$-1\r\n", b"_\r\n")):
                wrong.append(f"victim: {reply[:200]!r} instead of {expected!r}")
        return wrong

    def close(self) -> None:
        """Close the connection."""
        self._speaker.connection.close()


class Round:
    """One sequence of requests, from an empty database on."""

    def __init__(self, world: World, seed: int, number: int) -> None:
        self._random = Random(f"{seed}:{number}")
        self._world = world
        self._target = self._random.choice(sorted(ENDPOINTS))
        self._sharded = self._target == "three shards"
        self._port = ENDPOINTS[self._target]
        self.is_hostile = self._random.random() < 0.5
        omitted = UNCOMPARED | NO_CLUSTER if self._sharded else UNCOMPARED
        self._generator = Generator(self._random, world.commands(omitted))
        self.victim = Victim(world.address, self._port, f"{seed}:{number}")
        self.counts: Counter[str] = Counter()
        self._was_emptied = False

    def run(self) -> list[str]:
        """Return the differences that README.md does not list."""
        resp3 = self._random.random() < 0.5
        clients = [self._clients(resp3=resp3) for _ in range(2)]
        hostile = HostileClients(self._random, self._world.address, self._port, self._world.commands(LEFT_OUT))
        try:
            self._prepare(clients[0])
            for _ in range(40):
                if self.is_hostile and self._random.random() < 0.5:
                    hostile.act()
                    self.counts["hostile"] += 1
                differences = self._step(self._random.choice(clients))
                if differences is None:
                    break
                if differences:
                    return differences
            return self._bytes() if self._random.random() < 0.3 else []
        except OSError as error:
            return [f"{type(error).__name__}: {error}"]
        finally:
            hostile.close()
            self.victim.close()
            for pair in clients:
                for speaker in pair:
                    speaker.connection.close()

    def _clients(self, *, resp3: bool) -> tuple[Speaker, Speaker]:
        pair = Speaker(self._world.address, DIRECT), Speaker(self._world.address, self._port)
        if resp3:
            for speaker in pair:
                speaker.raw("HELLO", "3")
        return pair

    def _prepare(self, pair: tuple[Speaker, Speaker]) -> None:
        lines = [line.split() for line in SETUP.replace("\n", "|").split("|")]
        for speaker in pair:
            speaker.raw("SCRIPT", "FLUSH")
            speaker.group([*lines, *(["SET", key, value] for key, value in self.victim.values.items())])

    def _step(self, pair: tuple[Speaker, Speaker]) -> list[str] | None:
        """Send a pipeline of one client to both. Return the differences; None ends the round because of an intended one."""
        requests = [self._generator.request() for _ in range(self._random.choice((1, 1, 1, 2, 8)))]
        mark = b"%016x" % self._random.getrandbits(64)
        data = b"".join(command(*request) for request in requests) + command("ECHO", mark)
        self._was_emptied |= any(request[0].lower().startswith(b"flush") for request in requests)
        direct, through = pair
        direct.connection.sendall(data)
        self.victim.ask(self._random)
        through.connection.sendall(data)
        self.victim.ask(self._random)
        for request in [*requests, [b"ECHO", mark]]:
            expected, reply, name = direct.frame(), through.frame(), request[0].lower()
            self.counts["commands"] += 1
            if not reply or (
                not is_equal(name, expected, reply) and not is_intended(name, reply, sharded=self._sharded)
            ):
                line = b" ".join(request)
                return [f"{line[:300]!r}\n    direct  {expected[:200]!r}\n    through {reply[:200]!r}"]
            if not is_equal(name, expected, reply):
                self.counts["intended differences"] += 1
                return self.victim.wrong_replies(may_be_missing=self._was_emptied) or None
        if reply not in (b"$16\r\n%b\r\n" % mark, b"+QUEUED\r\n"):
            return [f"the reply to {mark!r} is {reply[:200]!r}, after {requests[-1]!r}"]
        return self.victim.wrong_replies(may_be_missing=self._was_emptied)

    def _bytes(self) -> list[str]:
        """Send malformed requests to both, and compare all data until the connection is closed."""
        data = malformed(self._random)
        expected, reply = (exchange(self._world.address, port, data) for port in (DIRECT, self._port))
        self.counts["malformed"] += 1
        # The engine may close the connection of an HTTP client before it has sent earlier replies.
        is_longer = reply.startswith(expected) and (b"\x00" in data or reply.endswith(HTTP))
        if reply == expected or is_longer:
            return []
        return [f"bytes {data[:300]!r}\n    direct  {expected[:200]!r}\n    through {reply[:200]!r}"]


def exchange(address: str, port: int, data: bytes) -> bytes:
    """Send data, close the sending side, and return everything that is received."""
    with create_connection((address, port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(SHUT_WR)
        received = b""
        while part := connection.recv(1 << 16):
            received += part
        return received


def main() -> int:
    """Run rounds until the time is over. Return exit status 1 if there are differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="duration")
    parser.add_argument("--rounds", type=int, default=sys.maxsize, help="maximum number of rounds")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--differences", type=int, default=1, help="number of differences after which the run ends")
    options = parser.parse_args()
    world = World()
    counts: Counter[str] = Counter()
    end = time.monotonic() + options.seconds
    number = options.first
    try:
        while time.monotonic() < end and number < options.first + options.rounds:
            current = Round(world, options.seed, number)
            differences = current.run()
            counts.update(current.counts, rounds=1, victim=current.victim.checked)
            for difference in differences:
                print(f"seed {options.seed}, round {number}: {difference}", flush=True)
            counts["differences"] += bool(differences)
            if counts["differences"] >= options.differences:
                break
            number += 1
    finally:
        world.lab.close()
    print(f"seed {options.seed}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if counts["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
