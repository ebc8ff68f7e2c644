"""Decision whether a node is down, based on reports of witnesses about its shards, not only on missing pulses of its agent."""

from collections.abc import Sequence
from typing import Literal

HealthVerdict = Literal["alive", "silent", "unknown"]

SENSITIVITY = {"high": (0.7, 2), "low": (3.0, 4)}
"""For each value of the policy `failure_detection_sensitivity`: seconds without a pulse until a node is suspect, and number of
rounds in which the witnesses must agree that none of its shards responds."""
FLAPPING = 5
"""Number of outages within WINDOW_SECONDS, each ended without a restart of the agent, from which a node counts as stalling."""
WINDOW_SECONDS = 600


def detection_limits(sensitivity: str, stalls: int) -> tuple[float, int]:
    """Return the required seconds without a pulse and rounds of witnesses. A node that stalls repeatedly is treated with `low`
    sensitivity regardless of the policy, so that its primaries do not fail over every minute."""
    return SENSITIVITY["low" if stalls >= FLAPPING else sensitivity]


WITNESSES = 2
"""Testimonies that are needed to consider a node silent, if the cluster has more nodes than the suspect and one other. A single
agent may be faulty or hostile, or isolated itself."""


def judge(testimonies: Sequence[Sequence[bool] | None], required: int = 1) -> HealthVerdict:
    """Decide from one list of results per witness, in the same order of shards; None for a witness that could not be queried.

    A single shard that responds to a single witness proves that the node is alive. `silent` needs the `required` number of
    witnesses.
    """
    received = [given for given in testimonies if given]
    if any(any(given) for given in received):
        return "alive"
    return "silent" if len(received) >= required and received else "unknown"
