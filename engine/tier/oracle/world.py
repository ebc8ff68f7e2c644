"""A plain server and servers with the tier: either a primary and its replica, or a cluster of three of each."""

import time
from random import Random

from cases import cases
from commands import Command, Commands, answers
from lab import wait_for
from moving import move_slot
from state import differences, scan, state
from tiered import APPEND_ONLY, TieredLab, info, is_cold
from wire import Connection

from shardboard.local.loopback import claim_network

# A separate loopback address, so that parallel runs do not conflict.
ADDRESS = f"{claim_network()}.2"
PLAIN = 21800
PAIRS = [(21801, 21802), (21803, 21804), (21805, 21806)]
"""Primaries and their replicas. Without a cluster only the first pair is used. In a cluster it first has all keys."""
SLOT_OF_ALL = 15891
"""Slot of the hash tag `{t}`, which all keys have."""
BATCHES = 60
FAILOVER_TIMEOUT = 6.0
"""Seconds. CLUSTER FAILOVER times out after five."""


class World:
    """The servers and the events applied to them."""

    def __init__(self, random: Random, *, cluster: bool) -> None:
        self.random, self.cluster = random, cluster
        self.databases = 1 if cluster else 4
        more = ["--databases", str(self.databases), *APPEND_ONLY, "--repl-backlog-size", "16mb"]
        self.lab = TieredLab(ADDRESS, *more, plain={PLAIN})
        self.commands = Commands(random, self.databases)
        self.events = [self.failover, self.full_resync, self.restart, self.reload_aof, self.crash, self.disconnect_replica]
        self.events += [self.crash_and_promotion, self.move] if cluster else []
        self.counts = dict.fromkeys(["commands", "promotions", *(event.__name__ for event in self.events)], 0)
        self.lab.server(PLAIN, "--databases", str(self.databases))
        self.pairs = [list(pair) for pair in PAIRS]
        self.at = 0
        if cluster:
            # `cluster` divides the slots evenly. The last third contains the slot of all keys.
            order = [*self.pairs[1:], self.pairs[0]]
            self.lab.cluster([pair[0] for pair in order], [pair[1] for pair in order])
        else:
            for port in self.pairs[0]:
                self.lab.server(port)
            Connection((ADDRESS, self.replica)).execute("REPLICAOF", ADDRESS, self.primary)
        self.plain_wire = Connection((ADDRESS, PLAIN))
        self.connect()

    @property
    def primary(self) -> int:
        """Return the port of the primary that has all keys."""
        return self.pairs[self.at][0]

    @property
    def replica(self) -> int:
        """Return the port of its replica."""
        return self.pairs[self.at][1]

    def connect(self) -> None:
        """Connect to the primary. Select the same database there and on the plain server."""
        self.wire = Connection((ADDRESS, self.primary))
        if self.databases > 1:
            self.wire.execute("SELECT", 0)
            self.plain_wire.execute("SELECT", 0)

    def round(self, number: int) -> list[str]:
        """Execute commands and one event, then compare everything. Return the differences."""
        for _ in range(BATCHES):
            wrong = self.batch()
            if wrong:
                return wrong
        wrong = self.check_watch() or cases((ADDRESS, self.primary), (ADDRESS, self.replica), self.full_resync)
        event = self.events[number % len(self.events)]
        wrong = wrong or self.compare("before " + event.__name__)
        if not wrong:
            wrong = event() or self.compare("after " + event.__name__)
            self.counts[event.__name__] += 1
        return wrong

    def batch(self) -> list[str]:
        """Send a random pipeline to both servers and compare the replies. Return the differences."""
        asked: list[Command] = []
        for _ in range(self.random.randrange(1, 30)):
            asked += self.commands.transaction() if self.random.random() < 0.1 else [self.commands.next()]
        expected = answers(asked, self.plain_wire.batch(asked))
        found = answers(asked, self.wire.batch(asked))
        self.counts["commands"] += len(asked)
        return [
            f"{str(one)[:200]}: expected {str(left)[:300]}, got {str(right)[:300]}"
            for one, left, right in zip(asked, expected, found, strict=True)
            if left != right
        ]

    def check_watch(self) -> list[str]:
        """Check WATCH with a cold key.

        A demotion or promotion does not count as a change of the key. A write by another client does."""
        wrong = []
        if self.databases > 1:
            self.wire.execute("SELECT", 0)
            self.plain_wire.execute("SELECT", 0)
        for changed in (False, True):
            other = Connection((ADDRESS, self.primary))
            self.wire.batch([("SET", "{t}w", "w" * 500), ("WATCH", "{t}w")])
            before = self.promotions()
            wait_for(lambda: is_cold(other, "{t}w"), "the key to be cold")  # noqa: B023
            other.execute("APPEND" if changed else "GET", "{t}w", *(["x"] if changed else []))
            reply = self.wire.batch([("MULTI",), ("STRLEN", "{t}w"), ("EXEC",)])[-1]
            if reply != (None if changed else [500]) or self.promotions() <= before:
                wrong.append(f"watched, changed {changed}: {reply}")
            self.wire.execute("DEL", "{t}w")
            other.close()
        return wrong

    def promotions(self) -> int:
        """Return the number of promotions of the primary."""
        wire = Connection((ADDRESS, self.primary))
        told = int(info(wire)["tier_promotions"])
        wire.close()
        return told

    def compare(self, when: str) -> list[str]:
        """Compare the contents of the plain server, the primary and the replica. Return the differences."""
        self.wait_for_replica()
        self.counts["promotions"] += self.promotions()
        expected = state((ADDRESS, PLAIN), self.databases)
        wrong = []
        for role, port in (("primary", self.primary), ("replica", self.replica)):
            found = state((ADDRESS, port), self.databases, readonly=self.cluster)
            wrong += [f"{when}, {role}: {one}" for one in differences(expected, found)]
        return wrong

    def wait_for_replica(self) -> None:
        """Wait until the replica has received everything."""
        primary, replica = Connection((ADDRESS, self.primary)), Connection((ADDRESS, self.replica))

        def reached() -> bool:
            left, right = info(primary, "replication"), info(replica, "replication")
            linked = right.get("master_link_status") == "up"
            return linked and left["master_repl_offset"] == right["slave_repl_offset"]

        wait_for(reached, "the replica to be in sync")
        primary.close()
        replica.close()

    def failover(self) -> None:
        """Promote the replica."""
        if self.cluster:
            self.take_over("CLUSTER", "FAILOVER")
        else:
            replica = Connection((ADDRESS, self.replica))
            replica.execute("REPLICAOF", "NO", "ONE")
            self.wire.execute("REPLICAOF", ADDRESS, self.replica)
            replica.close()
            self.pairs[self.at].reverse()
            self.connect()

    def take_over(self, *order: str) -> None:
        """Promote the replica of a cluster with the given command."""
        replica = Connection((ADDRESS, self.replica))
        last_order = -FAILOVER_TIMEOUT

        def has_taken_over() -> bool:
            # Voters reject a second election for the same primary within some seconds, and a failover without a majority times
            # out, so the command is repeated.
            nonlocal last_order
            if time.monotonic() > last_order + FAILOVER_TIMEOUT:
                last_order = time.monotonic()
                replica.execute(*order)
            return info(replica, "replication")["role"] == "master"

        wait_for(has_taken_over, "the failover")
        self.pairs[self.at].reverse()
        self.wait_until_writable(replica)
        replica.close()
        self.connect()

    def wait_until_writable(self, primary: Connection) -> None:
        """Wait until the primary accepts writes."""
        wait_for(lambda: primary.execute("SET", "{t}served", "1") == b"OK", "the primary to serve")
        primary.execute("DEL", "{t}served")

    def full_resync(self) -> None:
        """Disconnect the replica and change the replication id, so that it needs a full resync."""
        primary, replica = Connection((ADDRESS, self.primary)), Connection((ADDRESS, self.replica))
        before = int(info(primary, "stats")["sync_full"])
        primary.execute("DEBUG", "CHANGE-REPL-ID")
        replica.execute("CLIENT", "KILL", "TYPE", "primary")
        wait_for(lambda: int(info(primary, "stats")["sync_full"]) > before, "a full resync")
        primary.close()
        replica.close()

    def disconnect_replica(self) -> list[str]:
        """Disconnect the replica repeatedly during commands. It must resume with a partial resync."""
        primary = Connection((ADDRESS, self.primary))
        before = int(info(primary, "stats")["sync_partial_ok"])
        wrong = []
        for _ in range(5):
            primary.execute("CLIENT", "KILL", "TYPE", "replica")
            wrong += self.batch()
        wait_for(lambda: int(info(primary, "stats")["sync_partial_ok"]) > before, "a partial resync")
        primary.close()
        return wrong

    def restart(self) -> None:
        """Let the primary write an RDB file and load it."""
        self.reload("RELOAD")

    def reload_aof(self) -> None:
        """Let the primary load its append-only file."""
        self.reload("LOADAOF")

    def reload(self, what: str) -> None:
        """Execute the given DEBUG subcommand on the primary."""
        answer = self.wire.execute("DEBUG", what)
        if answer != b"OK":
            raise RuntimeError(str(answer))

    def crash(self) -> None:
        """Kill and restart the primary. Its append-only file must contain all acknowledged writes."""
        self.lab.kill(self.primary)
        self.start(self.primary)
        primary = Connection((ADDRESS, self.primary))
        self.wait_until_writable(primary)
        primary.close()
        self.connect()

    def start(self, port: int) -> None:
        """Start a server with its existing files."""
        (self.lab.shard_server if self.cluster else self.lab.server)(port)

    def crash_and_promotion(self) -> None:
        """Kill the primary, promote its replica and restart the killed server as a replica."""
        self.wait_for_replica()
        dead = self.primary
        self.lab.kill(dead)
        self.take_over("CLUSTER", "FAILOVER", "FORCE")
        self.start(dead)

    def move(self) -> list[str]:
        """Move the slot of all keys to another shard during commands."""
        to = self.random.choice([number for number in range(len(PAIRS)) if number != self.at])
        ports = [pair[0] for pair in self.pairs]
        others = [(ADDRESS, port) for number, port in enumerate(ports) if number not in (self.at, to)]
        # DBSIZE differs while keys are on two servers, and PEXPIRETIME because MIGRATE sends the remaining lifetime.
        asked = (one for one in iter(self.commands.next, None) if one[0] not in ("DBSIZE", "PEXPIRETIME"))
        commands = ((one, self.plain_wire.execute(*one)) for one in asked)
        wrong = move_slot(SLOT_OF_ALL, (ADDRESS, self.primary), (ADDRESS, ports[to]), others, commands)
        self.at = to
        self.connect()
        for name in scan(self.plain_wire):
            for wire in (self.plain_wire, self.wire):
                wire.execute("PEXPIREAT", name, 4_000_000_000_000, "XX")
        return wrong

    def summary(self) -> str:
        """Return a summary of the executed commands and events."""
        return ", ".join(f"{count} {name}" for name, count in self.counts.items())

    def close(self) -> None:
        """Stop all servers."""
        self.lab.close()
