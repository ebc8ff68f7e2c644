"""Three primaries and three replicas, one proxy or one per node in front of them, and the tasks of agent and console."""

import binascii
import signal
import socket
from pathlib import Path
from typing import Any

from lab import SLOTS, Lab, Proxy, command, say, wait_for

ENDPOINT = 12970
PRIMARIES = [21970, 21971, 21972]
REPLICAS = [21973, 21974, 21975]


def ask(address: tuple[str, int], *args: Any) -> str:
    """Send one command to a shard and return the reply as text."""
    return say(address, *args).decode()


class World:
    """The servers and proxies of a run. `mode` is `hidden` or `oss_cluster`; `subnet` is used only by this run."""

    def __init__(self, mode: str, subnet: str, binary: Path) -> None:
        self.mode, self.binary = mode, binary
        self.lab = Lab(f"{subnet}.1")
        self.shards = self.lab.cluster(PRIMARIES, REPLICAS)
        self.servers = {shard["port"]: self.lab.processes[n] for n, shard in enumerate(self.shards)}
        for shard in self.shards:
            shard["unix_socket"] = self.lab.unix_socket(shard["port"])
        self.proxies: list[Proxy] = []
        self.addresses = [f"{subnet}.{n + 1}" for n in range(3 if mode == "oss_cluster" else 1)]
        self.version = 0
        self.threads = 2 if mode == "hidden" else 1
        self.start_proxies()

    def close(self) -> None:
        """Stop all processes."""
        for server in self.servers.values():
            server.send_signal(signal.SIGCONT)
        self.lab.close()

    # The proxies, and the messages of agents to them.

    def start_proxies(self) -> None:
        """Start one process per address."""
        self.proxies = [self.start_proxy(n) for n in range(len(self.addresses))]
        self.push()

    def start_proxy(self, number: int) -> Proxy:
        """Start the proxy of one node, or a successor of the running one."""
        return Proxy(self.lab, self.binary, f"proxy-{number}.sock")

    def database(self, number: int) -> dict[str, Any]:
        """Return the database as described by the agent of one node."""
        proxies = [
            {"id": f"{n + 1:040x}", "address": address, "port": ENDPOINT, "local": n == number}
            for n, address in enumerate(self.addresses)
        ]
        shards = []
        for position, shard in enumerate(self.shards):
            # A replica is on another node than its primary. Unix sockets of other nodes are not reachable.
            node = (position + position // 3) % len(proxies)
            view = {**shard, "proxy": proxies[node]["id"]}
            if node != number:
                del view["unix_socket"]
            shards.append(view)
        return {
            "uid": 1,
            "address": self.addresses[number],
            "port": ENDPOINT,
            "mode": self.mode,
            "version": self.version,
            "shards": shards,
            "proxies": proxies,
            "request_timeout_ms": 5_000,
        }

    def push(self) -> None:
        """Send the current state to all proxies."""
        self.version += 1
        for number, proxy in enumerate(self.proxies):
            proxy.apply(self.database(number), threads=self.threads)

    # The shards.

    def at(self, shard: dict[str, Any]) -> tuple[str, int]:
        """Return the address of a shard."""
        return (shard["address"], shard["port"])

    def primaries(self) -> list[dict[str, Any]]:
        """Return the primaries in the order of their pairs."""
        return [shard for shard in self.shards if shard["role"] == "primary"]

    def replica_of(self, primary: dict[str, Any]) -> dict[str, Any]:
        """Return the other process of the pair."""
        position = self.shards.index(primary)
        return self.shards[(position + 3) % 6]

    def owner(self, slot: int) -> dict[str, Any]:
        """Return the primary that serves a slot."""
        return next(p for p in self.primaries() if any(first <= slot <= last for first, last in p["slots"]))

    def swap(self, primary: dict[str, Any]) -> None:
        """Record that the other process of the pair is the primary."""
        replica = self.replica_of(primary)
        replica["role"], replica["slots"] = "primary", primary["slots"]
        primary["role"], primary["slots"] = "replica", []

    def give(self, slots: set[int], to: dict[str, Any]) -> None:
        """Record that these slots belong to another primary."""
        owner = {slot: primary["port"] for primary in self.primaries() for slot in expanded(primary["slots"])}
        owner.update(dict.fromkeys(slots, to["port"]))
        for primary in self.primaries():
            primary["slots"] = ranges([slot for slot in range(SLOTS) if owner[slot] == primary["port"]])

    def hand_over(self, shard: dict[str, Any]) -> None:
        """Fail over until the shard is a primary. The engine abandons an attempt without votes after 5 s; it is then repeated."""
        for _ in range(5):
            ask(self.at(shard), "CLUSTER", "FAILOVER")
            if self.leads(shard, 8):
                return
        raise TimeoutError("no promotion")

    def promote(self, shard: dict[str, Any]) -> None:
        """Promote a replica of a dead primary like the console: with TAKEOVER if it does not win the vote immediately."""
        ask(self.at(shard), "CLUSTER", "FAILOVER", "FORCE")
        if not self.leads(shard, 0.5):
            ask(self.at(shard), "CLUSTER", "FAILOVER", "TAKEOVER")
            wait_for(lambda: self.leads(shard, 1), "the promotion")

    def leads(self, shard: dict[str, Any], seconds: float) -> bool:
        """Whether the shard becomes a primary within this time."""
        try:
            wait_for(lambda: "role:master" in ask(self.at(shard), "INFO", "replication"), "the promotion", seconds)
        except TimeoutError:
            return False
        return True

    def in_sync(self, shard: dict[str, Any]) -> None:
        """Wait until the replica is in sync with its primary."""
        wait_for(lambda: "master_link_status:up" in ask(self.at(shard), "INFO", "replication"), "the replica", 60)

    def slots_in_use(self) -> set[int]:
        """Return the slots that contain keys."""
        hashed_slots = set()
        for primary in self.primaries():
            keys = ask(self.at(primary), "KEYS", "*").split("\r\n")[2::2]
            hashed_slots |= {slot_of(key) for key in keys}
        return hashed_slots

    def held(self, key: str) -> list[str]:
        """Return a list from the shard that owns it."""
        with socket.create_connection(self.at(self.owner(slot_of(key)))) as connection:
            connection.sendall(command("LRANGE", key, 0, -1) + command("PING"))
            reply = b""
            while not reply.endswith(b"+PONG\r\n"):
                reply += connection.recv(1 << 20)
        if reply.startswith(b"-"):
            raise RuntimeError(reply.decode())
        return reply.decode().split("\r\n")[2:-2:2]

    def kill(self, shard: dict[str, Any]) -> None:
        """Kill a shard with SIGKILL."""
        self.servers[shard["port"]].kill()
        self.servers[shard["port"]].wait()

    def revive(self, shard: dict[str, Any]) -> None:
        """Restart a killed process as the replica of the current primary, never in its previous role."""
        port, replica = shard["port"], self.replica_of(shard)
        lines = []
        cluster_nodes_text = ask(self.at(replica), "CLUSTER", "NODES").split("\r\n", 1)[1]
        for line in cluster_nodes_text.strip().splitlines():
            words = line.split()
            words[2] = ",".join(flag for flag in words[2].split(",") if flag not in ("myself", "fail", "fail?"))
            if words[0] == shard["id"]:
                words = [*words[:2], "myself,slave", replica["id"], "0", "0", words[6], "connected"]
            lines.append(" ".join(words))
        lines.append(f"vars currentEpoch {max(int(line.split()[6]) for line in lines)} lastVoteEpoch 0\n")
        (self.lab.directory / str(port) / "nodes.conf").write_text("\n".join(lines))
        self.servers[port] = self.lab.shard_server(port)
        self.in_sync(shard)


def slot_of(key: str) -> int:
    """Return the hash slot of a key, based on its hash tag if it has one."""
    brace = key.find("{")
    closed = key.find("}", brace + 1)
    tag = key[brace + 1 : closed] if brace >= 0 and brace + 1 < closed else key
    return binascii.crc_hqx(tag.encode(), 0) % SLOTS


def expanded(slots: list[tuple[int, int]]) -> set[int]:
    """Return all slots of inclusive ranges."""
    return {slot for first, last in slots for slot in range(first, last + 1)}


def ranges(slots: list[int]) -> list[tuple[int, int]]:
    """Return inclusive ranges of ascending slots."""
    merged: list[tuple[int, int]] = []
    for slot in slots:
        if merged and merged[-1][1] == slot - 1:
            merged[-1] = (merged[-1][0], slot)
        else:
            merged.append((slot, slot))
    return merged
