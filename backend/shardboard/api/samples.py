"""What handlers ask of the live metrics: the newest second of one series."""

from collections.abc import Mapping
from typing import Protocol


class Samples(Protocol):
    def latest(self, topic: str, uid: str) -> Mapping[str, float | None]:
        """By metric name; empty when there is none."""
