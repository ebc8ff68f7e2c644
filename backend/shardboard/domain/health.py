"""Is a node down? Decided from what witnesses say of its shards, never from the silence of its agent alone."""

from collections.abc import Sequence
from typing import Literal

Verdict = Literal["alive", "silent", "unknown"]

SENSITIVITY = {"high": (0.7, 2), "low": (3.0, 4)}
"""By policy `failure_detection_sensitivity`: seconds without a pulse until a node is suspect, and how many rounds of
witnesses must agree that none of its shards answers."""


def judge(testimonies: Sequence[Sequence[bool] | None]) -> Verdict:
    """One list of answers per witness, in the same order of shards; None from a witness that could not be asked.

    A single shard that answers a single witness is proof of life. Silence needs at least one witness.
    """
    heard = [testimony for testimony in testimonies if testimony]
    if not heard:
        return "unknown"
    return "alive" if any(any(testimony) for testimony in heard) else "silent"
