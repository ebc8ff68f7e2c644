"""Limits of what the messages of one agent may cost the console, so that a faulty or hostile agent cannot delay others.

The budget of a node is above what an agent needs. It contains bytes, CPU seconds and samples, grows every second, and is limited,
so that an agent can send the samples of its last two minutes at once. A node that has used it up is cut off for a while: its
stream ends, and requests to its agent fail.
"""

import time
from collections.abc import Callable

from shardboard.contract import RING_SECONDS
from shardboard.errors import AgentUnreachable
from shardboard.kit.allowance import Allowance

BYTES_PER_SECOND, MAX_BYTES = 16 << 20, 256 << 20
CPU_PER_SECOND, MAX_CPU_SECONDS = 0.2, 6.0
RECEIVE_SECONDS, PROCESS_SECONDS = 0.0001, 0.001
"""CPU seconds for receiving a message, however short it is, and for processing one that was parsed."""
PROCESSING = 3
"""Ratio of the CPU time of parsing and processing a long message to that of parsing it."""
SAMPLES_PER_SECOND, MAX_SAMPLES = 1.5, 2.0 * RING_SECONDS
OUTAGE_SECONDS = 0.0002
"""CPU seconds for finding that a reported outage is stored."""
CUT_OFF_SECONDS = 60.0


class _Budget:
    def __init__(self, now: float) -> None:
        self.size = Allowance(BYTES_PER_SECOND, MAX_BYTES, now)
        self.cpu = Allowance(CPU_PER_SECOND, MAX_CPU_SECONDS, now)
        self.samples = Allowance(SAMPLES_PER_SECOND, MAX_SAMPLES, now)


class AgentBudgets:
    """Budgets by node uid."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._budgets: dict[int, _Budget] = {}
        self._cut_off: dict[int, tuple[float, str]] = {}
        """End and reason by node."""

    def spend(self, node_uid: int, size: int, parse_seconds: float = 0.0) -> float:
        """Charge a message of `size` bytes. Cut the node off if its budget is used up. Return the charged CPU seconds."""
        budget, now, cost = self._budget(node_uid), self._clock(), RECEIVE_SECONDS
        if parse_seconds:
            cost += PROCESS_SECONDS + PROCESSING * parse_seconds
        if not budget.size.spend(size, now):
            self.cut_off(node_uid, f"it sent more than {BYTES_PER_SECOND >> 20} MiB per second")
        elif not budget.cpu.spend(cost, now):
            self.cut_off(node_uid, f"processing what it sent took more than {CPU_PER_SECOND:.0%} of a CPU")
        return cost

    def spend_sample(self, node_uid: int, outages: int) -> None:
        """Charge a sample with so many outages, in addition to its message. It can cause writes to the store."""
        budget, now = self._budget(node_uid), self._clock()
        budget.cpu.spend(outages * OUTAGE_SECONDS, now)
        if not budget.samples.spend(1, now):
            self.cut_off(node_uid, "it sent more than one sample per second")

    def _budget(self, node_uid: int) -> _Budget:
        if node_uid not in self._budgets:
            self._budgets[node_uid] = _Budget(self._clock())
        return self._budgets[node_uid]

    def cut_off(self, node_uid: int, reason: str) -> None:
        """Refuse all communication with a node for CUT_OFF_SECONDS."""
        self._cut_off[node_uid] = (self._clock() + CUT_OFF_SECONDS, reason)
        self._budgets.pop(node_uid, None)

    def cut_off_reason(self, node_uid: int) -> str:
        """Return why a node is cut off; empty if it is not."""
        end, reason = self._cut_off.get(node_uid, (0.0, ""))
        if reason and self._clock() >= end:
            del self._cut_off[node_uid]
            return ""
        return reason

    def check(self, node_uid: int) -> None:
        """Raise AgentUnreachable while a node is cut off."""
        if reason := self.cut_off_reason(node_uid):
            raise AgentUnreachable(f"the console cut off the agent of node {node_uid}, because {reason}")
