"""How often the samples of each node were late or incomplete."""

import time
from collections import deque
from collections.abc import Collection

from shardboard.kit.active_clock import ACTIVE

SECONDS = 60
BACKFILL_AGE = 10
"""Age in seconds from which a sample belongs to an outage of the console or of the connection, and is not late. Samples of so many
seconds are late after a pause of the console."""


class Lateness:
    """The last minute of each node, one entry per second."""

    def __init__(self) -> None:
        self._late: dict[int, deque[bool]] = {}

    def record(
        self, t: int, node_uid: int, *, arrived: bool, shards: Collection[int], missing: Collection[int]
    ) -> None:
        """Record second `t` of a node: whether its sample arrived in time, and which of its shards have no values."""
        if time.time() - t > BACKFILL_AGE or ACTIVE.seconds_since_pause() < BACKFILL_AGE:
            return
        is_incomplete = 2 * sum(uid in missing for uid in shards) > len(shards)
        self._late.setdefault(node_uid, deque(maxlen=SECONDS)).append(not arrived or is_incomplete)

    def remove(self, node_uid: int) -> None:
        self._late.pop(node_uid, None)

    def share(self, node_uid: int) -> float:
        """Return the share of the last minute in which the sample was late or lacked most of its shards."""
        return sum(self._late.get(node_uid, ())) / SECONDS
