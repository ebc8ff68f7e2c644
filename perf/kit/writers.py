"""Clients that write to every pair of a database continuously and record which writes were acknowledged, and when."""

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import valkey
from valkey.exceptions import ValkeyError

from shardboard.domain.placement import slots

PAUSE = 0.002
"""Seconds between two writes of one client: a low load that does not disturb measurements."""
TIMEOUT_SECONDS = 0.1
"""Seconds after which a client considers a server silent and uses the other one."""
BATCH = 500


@dataclass
class Writer:
    """Client of one pair: knows both servers and stays with the one that accepts writes."""

    servers: Sequence[tuple[str, int]]
    tag: str
    acknowledged: list[tuple[float, float, str]] = field(default_factory=list)
    """When it was sent, when it was acknowledged, and the key."""
    refused: list[tuple[float, str]] = field(default_factory=list)
    """When it was sent, and the error."""
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Write until stopped."""
        clients = [client(*server) for server in self.servers]
        number = 0
        while not self.stopping.wait(PAUSE):
            key, sent_at = f"{{{self.tag}}}:{id(self)}:{number}", time.monotonic()
            try:
                clients[0].set(key, key)
            except ValkeyError as error:
                # A short silence of an overloaded machine does not count as refused, nor does a redirection by a replica.
                if not isinstance(error, valkey.TimeoutError) and not str(error).startswith("MOVED"):
                    self.refused.append((sent_at, f"{type(error).__name__}: {error}"))
                clients.reverse()
            else:
                self.acknowledged.append((sent_at, time.monotonic(), key))
                number += 1
        for each in clients:
            each.close()

    def recovered_at(self, moment: float) -> float | None:
        """Return when the first write sent after `moment` was acknowledged; None if none was."""
        return next((replied_at for sent_at, replied_at, _ in list(self.acknowledged) if sent_at > moment), None)

    def longest_wait(self, moment: float) -> float:
        """Return the longest time between two acknowledged writes since `moment`."""
        times = [replied_at for sent_at, replied_at, _ in self.acknowledged if sent_at > moment]
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)

    def missing(self) -> int:
        """Return how many acknowledged writes no shard has."""
        keys = [key for _, _, key in self.acknowledged]
        for server in self.servers:
            reader = client(*server, timeout=10)
            try:
                if reader.info("replication")["role"] != "master":
                    continue
                count = 0
                for start in range(0, len(keys), BATCH):
                    count += sum(value is not None for value in reader.mget(keys[start : start + BATCH]))
                return len(keys) - count
            except ValkeyError:
                continue
            finally:
                reader.close()
        raise RuntimeError(f"no primary of {self.tag} responds")


class Writers:
    """One writer per pair, in threads."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        by_pair: dict[int, list[dict[str, Any]]] = {}
        for row in sorted(rows, key=lambda row: row["role"]):  # the primary first
            by_pair.setdefault(row["pair"], []).append(row)
        self.by_pair = {
            pair: Writer([(row["address"], row["port"]) for row in held], tag_of(held[0]["assigned_slots"]))
            for pair, held in by_pair.items()
        }
        self._threads = [threading.Thread(target=writer.run, daemon=True) for writer in self.by_pair.values()]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self.by_pair.values():
            writer.stopping.set()
        for thread in self._threads:
            thread.join()

    def all_write(self) -> bool:
        return all(writer.acknowledged for writer in self.by_pair.values())

    def missing(self) -> int:
        return sum(writer.missing() for writer in self.by_pair.values())


def tag_of(assigned: str) -> str:
    """Return a hash tag whose slot the shard serves."""
    return slots.key_of(slots.parse(assigned)[0][0])


def client(address: str, port: int, timeout: float = TIMEOUT_SECONDS) -> "valkey.Valkey":
    return valkey.Valkey(host=address, port=port, socket_timeout=timeout, socket_connect_timeout=timeout)
