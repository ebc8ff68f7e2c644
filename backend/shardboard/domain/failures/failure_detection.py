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


def judge(testimonies: Sequence[Sequence[bool] | None]) -> HealthVerdict:
    """Decide from one list of results per witness, in the same order of shards; None for a witness that could not be queried.

    A single shard that responds to a single witness proves that the node is alive. `silent` needs at least one witness.
    """
    heard = [testimony for testimony in testimonies if testimony]
    if not heard:
        return "unknown"
    return "alive" if any(any(testimony) for testimony in heard) else "silent"
