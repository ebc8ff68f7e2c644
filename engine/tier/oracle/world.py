"""A plain server beside servers with the tier: a primary and its replica, or a cluster of three of each."""

import time
from random import Random

from cases import cases
from commands import Command, Commands, answers
from lab import wait_for
from moving import move_slot
from state import differences, scan, state
from tiered import TieredLab, info, is_cold
from wire import Wire

from shardboard.loopback import claim_network

# A loopback address of its own, so that runs beside each other do not meet.
ADDRESS = f"{claim_network()}.2"
PLAIN = 21800
PAIRS = [(21801, 21802), (21803, 21804), (21805, 21806)]
"""Primaries and their replicas; without a cluster only the first. In a cluster the first has the slot of all keys."""
SLOT_OF_ALL = 15891
"""Of `{t}`."""
BATCHES = 60
ORDER_LASTS = 6.0
"""Seconds; CLUSTER FAILOVER gives up after five."""


class World:
    """The servers, and what happened to them."""

    def __init__(self, random: Random, *, cluster: bool) -> None:
        self.random, self.cluster = random, cluster
        self.databases = 1 if cluster else 4
        more = ["--databases", str(self.databases), "--appendonly", "yes", "--repl-backlog-size", "16mb"]
        self.lab = TieredLab(ADDRESS, *more, plain={PLAIN})
        self.commands = Commands(random, self.databases)
        self.events = [self.failover, self.full_resync, self.restart, self.reload_aof, self.crash, self.cut]
        self.events += [self.crash_and_promotion, self.move] if cluster else []
        self.counts = dict.fromkeys(["commands", "promotions", *(event.__name__ for event in self.events)], 0)
        self.lab.server(PLAIN, "--databases", str(self.databases))
        self.pairs = [list(pair) for pair in PAIRS]
        self.at = 0
        if cluster:
            # Slots are shared evenly, and the last third has the one of all keys.
            order = [*self.pairs[1:], self.pairs[0]]
            self.lab.cluster([pair[0] for pair in order], [pair[1] for pair in order])
        else:
            for port in self.pairs[0]:
                self.lab.server(port)
            Wire((ADDRESS, self.replica)).say("REPLICAOF", ADDRESS, self.primary)
        self.plain_wire = Wire((ADDRESS, PLAIN))
        self.connect()

    @property
    def primary(self) -> int:
        """Port of the one that has all keys."""
        return self.pairs[self.at][0]

    @property
    def replica(self) -> int:
        """And of its replica."""
        return self.pairs[self.at][1]

    def connect(self) -> None:
        """To the primary, in the same database as the plain server."""
        self.wire = Wire((ADDRESS, self.primary))
        if self.databases > 1:
            self.wire.say("SELECT", 0)
            self.plain_wire.say("SELECT", 0)

    def round(self, number: int) -> list[str]:
        """Commands, then something happens, then everything is compared; what is wrong."""
        for _ in range(BATCHES):
            wrong = self.batch()
            if wrong:
                return wrong
        wrong = self.watched() or cases((ADDRESS, self.primary), (ADDRESS, self.replica), self.full_resync)
        event = self.events[number % len(self.events)]
        wrong = wrong or self.compare("before " + event.__name__)
        if not wrong:
            wrong = event() or self.compare("after " + event.__name__)
            self.counts[event.__name__] += 1
        return wrong

    def batch(self) -> list[str]:
        """A pipeline of both servers, its replies compared."""
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

    def watched(self) -> list[str]:
        """A watched key that only moves to flash and back is not changed; one that another client sets is."""
        wrong = []
        if self.databases > 1:
            self.wire.say("SELECT", 0)
            self.plain_wire.say("SELECT", 0)
        for changed in (False, True):
            other = Wire((ADDRESS, self.primary))
            self.wire.batch([("SET", "{t}w", "w" * 500), ("WATCH", "{t}w")])
            before = self.promotions()
            wait_for(lambda: is_cold(other, "{t}w"), "the key to be cold")  # noqa: B023
            other.say("APPEND" if changed else "GET", "{t}w", *(["x"] if changed else []))
            reply = self.wire.batch([("MULTI",), ("STRLEN", "{t}w"), ("EXEC",)])[-1]
            if reply != (None if changed else [500]) or self.promotions() <= before:
                wrong.append(f"watched, changed {changed}: {reply}")
            self.wire.say("DEL", "{t}w")
            other.close()
        return wrong

    def promotions(self) -> int:
        """Of the primary."""
        wire = Wire((ADDRESS, self.primary))
        told = int(info(wire)["tier_promotions"])
        wire.close()
        return told

    def compare(self, when: str) -> list[str]:
        """All three have the same content."""
        self.in_sync()
        self.counts["promotions"] += self.promotions()
        expected = state((ADDRESS, PLAIN), self.databases)
        wrong = []
        for role, port in (("primary", self.primary), ("replica", self.replica)):
            found = state((ADDRESS, port), self.databases, readonly=self.cluster)
            wrong += [f"{when}, {role}: {one}" for one in differences(expected, found)]
        return wrong

    def in_sync(self) -> None:
        """The replica has everything."""
        primary, replica = Wire((ADDRESS, self.primary)), Wire((ADDRESS, self.replica))

        def reached() -> bool:
            left, right = info(primary, "replication"), info(replica, "replication")
            linked = right.get("master_link_status") == "up"
            return linked and left["master_repl_offset"] == right["slave_repl_offset"]

        wait_for(reached, "the replica to be in sync")
        primary.close()
        replica.close()

    def failover(self) -> None:
        """The replica takes over."""
        if self.cluster:
            self.take_over("CLUSTER", "FAILOVER")
        else:
            replica = Wire((ADDRESS, self.replica))
            replica.say("REPLICAOF", "NO", "ONE")
            self.wire.say("REPLICAOF", ADDRESS, self.replica)
            replica.close()
            self.pairs[self.at].reverse()
            self.connect()

    def take_over(self, *order: str) -> None:
        """The replica is ordered to, in a cluster."""
        replica = Wire((ADDRESS, self.replica))
        last_order = -ORDER_LASTS

        def has_taken_over() -> bool:
            # Nobody votes about the same primary twice within some seconds, and an order that got no vote ends.
            nonlocal last_order
            if time.monotonic() > last_order + ORDER_LASTS:
                last_order = time.monotonic()
                replica.say(*order)
            return info(replica, "replication")["role"] == "master"

        wait_for(has_taken_over, "the failover")
        self.pairs[self.at].reverse()
        self.serve(replica)
        replica.close()
        self.connect()

    def serve(self, primary: Wire) -> None:
        """Waits until that one does."""
        wait_for(lambda: primary.say("SET", "{t}served", "1") == b"OK", "the primary to serve")
        primary.say("DEL", "{t}served")

    def full_resync(self) -> None:
        """The replica loses its link and what it could have resumed from."""
        primary, replica = Wire((ADDRESS, self.primary)), Wire((ADDRESS, self.replica))
        before = int(info(primary, "stats")["sync_full"])
        primary.say("DEBUG", "CHANGE-REPL-ID")
        replica.say("CLIENT", "KILL", "TYPE", "primary")
        wait_for(lambda: int(info(primary, "stats")["sync_full"]) > before, "a full resync")
        primary.close()
        replica.close()

    def cut(self) -> list[str]:
        """The replica loses its link while commands come, and resumes."""
        primary = Wire((ADDRESS, self.primary))
        before = int(info(primary, "stats")["sync_partial_ok"])
        wrong = []
        for _ in range(5):
            primary.say("CLIENT", "KILL", "TYPE", "replica")
            wrong += self.batch()
        wait_for(lambda: int(info(primary, "stats")["sync_partial_ok"]) > before, "a partial resync")
        primary.close()
        return wrong

    def restart(self) -> None:
        """The primary reads the RDB file that it has just written."""
        self.reload("RELOAD")

    def reload_aof(self) -> None:
        """The primary reads its append-only file again."""
        self.reload("LOADAOF")

    def reload(self, what: str) -> None:
        """By the server's own order."""
        answer = self.wire.say("DEBUG", what)
        if answer != b"OK":
            raise RuntimeError(str(answer))

    def crash(self) -> None:
        """The primary is killed, and comes back with what its append-only file says: all that was answered."""
        self.lab.kill(self.primary)
        self.start(self.primary)
        primary = Wire((ADDRESS, self.primary))
        self.serve(primary)
        primary.close()
        self.connect()

    def start(self, port: int) -> None:
        """Again, with the files that it has left."""
        (self.lab.shard_server if self.cluster else self.lab.server)(port)

    def crash_and_promotion(self) -> None:
        """The primary is killed, its replica takes over, and the old one comes back as a replica."""
        self.in_sync()
        dead = self.primary
        self.lab.kill(dead)
        self.take_over("CLUSTER", "FAILOVER", "FORCE")
        self.start(dead)

    def move(self) -> list[str]:
        """The slot of all keys goes to another shard, key by key, while commands come."""
        to = self.random.choice([number for number in range(len(PAIRS)) if number != self.at])
        ports = [pair[0] for pair in self.pairs]
        others = [(ADDRESS, port) for number, port in enumerate(ports) if number not in (self.at, to)]
        # Keys are in two places, and MIGRATE tells for how long they live, not until when.
        asked = (one for one in iter(self.commands.next, None) if one[0] not in ("DBSIZE", "PEXPIRETIME"))
        commands = ((one, self.plain_wire.say(*one)) for one in asked)
        wrong = move_slot(SLOT_OF_ALL, (ADDRESS, self.primary), (ADDRESS, ports[to]), others, commands)
        self.at = to
        self.connect()
        for name in scan(self.plain_wire):
            for wire in (self.plain_wire, self.wire):
                wire.say("PEXPIREAT", name, 4_000_000_000_000, "XX")
        return wrong

    def told(self) -> str:
        """What was done."""
        return ", ".join(f"{count} {name}" for name, count in self.counts.items())

    def close(self) -> None:
        """Ends the servers."""
        self.lab.close()
