"""Samples of large test matrices: a few cases in `make test`, chosen by a seed, and all of them in `make test-all`."""

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

SAMPLED_STEPS = 3
SAMPLED_STEPS_ON_POSTGRES = 10
"""In a thorough run, which uses every step on SQLite. Each step on PostgreSQL takes several times as long."""


class Sampling:
    """The cases that one test uses. The same seed gives the same cases."""

    def __init__(self, seed: str, *, thorough: bool, on_postgres: bool = False) -> None:
        self._random = random.Random(seed)
        self._on_postgres = on_postgres
        self.thorough = thorough

    def choose(self, cases: Sequence[T], count: int) -> Sequence[T]:
        """Return `count` of the cases in their order, or all of them in a thorough run."""
        if self.thorough or count >= len(cases):
            return cases
        return [cases[index] for index in sorted(self._random.sample(range(len(cases)), count))]

    def kill_steps(self, usual_steps: int, limit: int) -> Iterable[int]:
        """Return the steps at which a test kills or cancels an operation that usually has `usual` steps.

        A thorough run on SQLite uses every step; the test stops when the operation completes before the next one. Otherwise some
        steps are sampled, followed by `limit`, which the operation never reaches, so that it completes.
        """
        if self.thorough and not self._on_postgres:
            return range(1, limit)
        count = SAMPLED_STEPS_ON_POSTGRES if self.thorough else SAMPLED_STEPS
        return [*sorted(self._random.sample(range(1, usual_steps + 1), min(count, usual_steps))), limit]
