"""Whether another console should lead because it reaches more agents than the leader.

A leader can be cut off from agents, but not from the store. It then keeps its lease, and cannot act. Each console reports how many
agents it reaches. The leader compares this with its own number.
"""

from collections.abc import Iterable, Mapping

from shardboard.domain.cluster.consoles import LeaderChange

SILENT_SECONDS = 1.5
"""Time without a heartbeat after which an agent is not reached. Agents send a heartbeat every 0.2 s."""
HOLD_SECONDS = 6.0
"""Time for which another console must reach more agents. Shorter interruptions of the network do not change the leader."""
FRESH_SECONDS = 5.0
"""Age of a console's last report from which it does not count. Consoles report every 2 s."""
COOL_DOWN_SECONDS = 60.0
"""Shortest time between two changes of the leader for this reason. It doubles with each change in MEMORY_SECONDS."""
MEMORY_SECONDS = 3600.0


def cool_down(changes: Iterable[str]) -> float:
    """Return for how many seconds a new leader keeps the lease, whatever it reaches.

    `changes` are the reasons for the changes of the leader in the last MEMORY_SECONDS, the newest last. With wrong reports, the
    leader changes at most seven times in one hour. A leader that a user has chosen keeps the lease for COOL_DOWN_SECONDS.
    """
    reasons = list(changes)
    count = reasons.count(LeaderChange.MORE_AGENTS)
    if not count:
        return COOL_DOWN_SECONDS if reasons and reasons[-1] == LeaderChange.HANDED_OVER else 0.0
    return min(COOL_DOWN_SECONDS * 2.0 ** (count - 1), MEMORY_SECONDS)


class ReachComparison:
    """Compares the leader with the other consoles, in one tenure."""

    def __init__(self, now: float, cool_down_seconds: float) -> None:
        """`now` is the start of the tenure, by a steady clock."""
        self._not_before = now + cool_down_seconds
        self._ahead_since: dict[str, float] = {}
        """Start of the time in which a console has reached more agents than this one, by its ID."""

    def choose_successor(self, own: int, others: Mapping[str, int], now: float) -> str | None:
        """Return the console that should lead instead; None if this one should.

        `own` and `others` are numbers of agents, those of other running consoles by ID. A console is ahead from the moment at which
        it reaches clearly more agents, until it no longer reaches more.
        """
        self._ahead_since = {
            uid: self._ahead_since.get(uid, now)
            for uid, reached in others.items()
            if reached >= _clearly_more(own) or (uid in self._ahead_since and reached > own)
        }
        chosen = [uid for uid, since in self._ahead_since.items() if now - since >= HOLD_SECONDS]
        if not chosen or now < self._not_before:
            return None
        return max(chosen, key=lambda uid: (others[uid], uid))


def _clearly_more(own: int) -> int:
    return own + max(1, own // 10)
