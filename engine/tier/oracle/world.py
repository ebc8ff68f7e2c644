"""A plain server beside a primary and a replica with the tier."""

import time
from pathlib import Path
from random import Random
from typing import Any

from cases import cases
from commands import Command, Commands, answers
from lab import Lab, wait_for
from state import differences, state
from wire import Wire

from shardboard.local import claim_network

# A loopback address of its own, so that runs beside each other do not meet.
ADDRESS = f"{claim_network()}.2"
PLAIN = 21800
PORTS = [21801, 21802]
BATCHES = 60
# Seconds; CLUSTER FAILOVER gives up after five.
ORDER_LASTS = 6.0


class World:
    """The servers, and what happened to them."""

    def __init__(self, module: Path, random: Random, *, cluster: bool) -> None:
        self.lab = Lab(ADDRESS)
        self.module, self.random, self.cluster = module, random, cluster
        self.databases = 1 if cluster else 4
        self.commands = Commands(random, self.databases)
        self.counts = {"commands": 0, "promotions": 0, "failovers": 0, "resyncs": 0, "restarts": 0, "aof": 0}
        self.lab.server(PLAIN, "--databases", str(self.databases))
        self.primary, self.replica = PORTS
        if cluster:
            self.start_cluster()
        else:
            for port in PORTS:
                self.start(port)
            Wire((ADDRESS, self.replica)).say("REPLICAOF", ADDRESS, self.primary)
        self.plain_wire = Wire((ADDRESS, PLAIN))
        self.connect()

    def options(self, port: int) -> list[str]:
        """Nothing fits in RAM: what can be demoted is demoted at once. Small segments are compacted all the time."""
        tier = {"flash-path": self.lab.directory / f"flash-{port}", "ram-limit": 1, "min-value": 64}
        tier["segment-size"] = 65536
        words = ["--loadmodule", str(self.module), "--databases", str(self.databases), "--appendonly", "yes"]
        words += ["--repl-backlog-size", "16mb", "--aof-load-truncated", "yes"]
        return [*words, *(word for name, value in tier.items() for word in (f"--tier.{name}", str(value)))]

    def start(self, port: int) -> None:
        """A server with the tier."""
        self.lab.server(port, *self.options(port))

    def start_cluster(self) -> None:
        """A shard with its replica."""
        usual = self.lab.server

        def with_tier(port: int, *options: str) -> Any:
            return usual(port, *options, *self.options(port)) if port in PORTS else usual(port, *options)

        self.lab.server = with_tier  # type: ignore[method-assign]
        self.lab.cluster([self.primary], [self.replica])

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
        event = [self.failover, self.full_resync, self.restart, self.reload_aof][number % 4]
        wrong = wrong or self.compare("before " + event.__name__)
        if not wrong:
            event()
            wrong = self.compare("after " + event.__name__)
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
            wait_for(lambda: self.is_cold("{t}w"), "the key to be cold")
            other.say("APPEND" if changed else "GET", "{t}w", *(["x"] if changed else []))
            reply = self.wire.batch([("MULTI",), ("STRLEN", "{t}w"), ("EXEC",)])[-1]
            if reply != (None if changed else [500]) or self.promotions() <= before:
                wrong.append(f"watched, changed {changed}: {reply}")
            self.wire.say("DEL", "{t}w")
            other.close()
        return wrong

    def is_cold(self, name: str) -> bool:
        """Of the first database."""
        inside = Wire((ADDRESS, self.primary))
        told = inside.say("TIER.WHERE", name)
        inside.close()
        return bool(told == b"flash")

    def info(self, port: int) -> dict[str, str]:
        """The section of the tier."""
        wire = Wire((ADDRESS, port))
        lines = wire.say("INFO", "tier").decode().splitlines()
        wire.close()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def promotions(self) -> int:
        """Of the primary."""
        return int(self.info(self.primary)["tier_promotions"])

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
            left, right = replication(primary), replication(replica)
            linked = right.get("master_link_status") == "up"
            return linked and left["master_repl_offset"] == right["slave_repl_offset"]

        wait_for(reached, "the replica to be in sync")
        primary.close()
        replica.close()

    def failover(self) -> None:
        """The replica takes over."""
        replica = Wire((ADDRESS, self.replica))

        last_order = -ORDER_LASTS

        def has_taken_over() -> bool:
            # Nobody votes about the same primary twice within some seconds, and an order that got no vote ends.
            nonlocal last_order
            if self.cluster and time.monotonic() > last_order + ORDER_LASTS:
                last_order = time.monotonic()
                replica.say("CLUSTER", "FAILOVER")
            return replication(replica)["role"] == "master"

        if not self.cluster:
            replica.say("REPLICAOF", "NO", "ONE")
            self.wire.say("REPLICAOF", ADDRESS, self.replica)
        wait_for(has_taken_over, "the failover")
        self.primary, self.replica = self.replica, self.primary
        if self.cluster:
            at = Wire((ADDRESS, self.primary))
            wait_for(lambda: at.say("SET", "{t}failover", "1") == b"OK", "the new primary to serve")
            at.say("DEL", "{t}failover")
        self.counts["failovers"] += 1
        self.connect()

    def full_resync(self) -> None:
        """The replica loses its link and what it could have resumed from."""
        primary, replica = Wire((ADDRESS, self.primary)), Wire((ADDRESS, self.replica))
        before = int(stats(primary)["sync_full"])
        primary.say("DEBUG", "CHANGE-REPL-ID")
        replica.say("CLIENT", "KILL", "TYPE", "primary")
        wait_for(lambda: int(stats(primary)["sync_full"]) > before, "a full resync")
        self.counts["resyncs"] += 1

    def restart(self) -> None:
        """The primary reads the RDB file that it has just written."""
        answer = self.wire.say("DEBUG", "RELOAD")
        if answer != b"OK":
            raise RuntimeError(str(answer))
        self.counts["restarts"] += 1

    def reload_aof(self) -> None:
        """The primary reads its append-only file again."""
        answer = self.wire.say("DEBUG", "LOADAOF")
        if answer != b"OK":
            raise RuntimeError(str(answer))
        self.counts["aof"] += 1

    def told(self) -> str:
        """What was done."""
        return ", ".join(f"{count} {name}" for name, count in self.counts.items())

    def close(self) -> None:
        """Ends the servers."""
        self.lab.close()


def replication(wire: Wire) -> dict[str, str]:
    """INFO replication."""
    return dict(line.split(":", 1) for line in wire.say("INFO", "replication").decode().splitlines() if ":" in line)


def stats(wire: Wire) -> dict[str, str]:
    """INFO stats."""
    return dict(line.split(":", 1) for line in wire.say("INFO", "stats").decode().splitlines() if ":" in line)
