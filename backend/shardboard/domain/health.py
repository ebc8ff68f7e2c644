"""Is a node down? Decided from what witnesses say of its shards, never from the silence of its agent alone."""

from collections.abc import Sequence
from typing import Literal

Verdict = Literal["alive", "silent", "unknown"]

SENSITIVITY = {"high": (0.7, 2), "low": (3.0, 4)}
"""By policy `failure_detection_sensitivity`: seconds without a pulse until a node is suspect, and how many rounds of
witnesses must agree that none of its shards answers."""
FLAPPING = 5
"""Outages of one node within WINDOW_SECONDS, each ended without a restart of its agent, that make it a node that stalls."""
WINDOW_SECONDS = 600


def demands(sensitivity: str, stalls: int) -> tuple[float, int]:
    """Seconds of silence and rounds of witnesses that it takes. A node that stalls again and again is given the patience of
    `low` whatever the policy says, so that its primaries do not change places every minute."""
    return SENSITIVITY["low" if stalls >= FLAPPING else sensitivity]


def judge(testimonies: Sequence[Sequence[bool] | None]) -> Verdict:
    """One list of answers per witness, in the same order of shards; None from a witness that could not be asked.

    A single shard that answers a single witness is proof of life. Silence needs at least one witness.
    """
    heard = [testimony for testimony in testimonies if testimony]
    if not heard:
        return "unknown"
    return "alive" if any(any(testimony) for testimony in heard) else "silent"
