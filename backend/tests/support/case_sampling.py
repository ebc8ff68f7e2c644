"""Samples of large test matrices: a few cases in `make test`, chosen by a seed, and all of them in `make test-all`."""

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

SAMPLED_STEPS = 3


class Sampling:
    """The cases that one test uses. The same seed gives the same cases."""

    def __init__(self, seed: str, *, thorough: bool) -> None:
        self._random = random.Random(seed)
        self.thorough = thorough

    def choose(self, cases: Sequence[T], count: int) -> Sequence[T]:
        """Return `count` of the cases in their order, or all of them in a thorough run."""
        if self.thorough or count >= len(cases):
            return cases
        return [cases[index] for index in sorted(self._random.sample(range(len(cases)), count))]

    def kill_steps(self, usual_steps: int, limit: int) -> Iterable[int]:
        """Return the steps at which a test kills or cancels an operation that usually has `usual` steps.

        A thorough run uses every step; the test stops when the operation completes before the next one. Otherwise three steps are
        sampled, followed by `limit`, which the operation never reaches, so that it completes.
        """
        if self.thorough:
            return range(1, limit)
        return [*sorted(self._random.sample(range(1, usual_steps + 1), SAMPLED_STEPS)), limit]
