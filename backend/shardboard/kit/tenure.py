"""The tenure of a leading console: while it is valid, the tasks that act for it may write to the store and call agents.

Tasks inherit the tenure of the task that created them. The store and the client of the agents check it in each transaction and each
request, so loops need not do it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_ACTING: ContextVar["Tenure | None"] = ContextVar("tenure", default=None)
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady_time() -> float:
    """Return seconds of an arbitrary start, which include the time in which the machine was suspended."""
    return time.clock_gettime(_CLOCK)


class LostLeadership(Exception):
    """This console no longer leads, so its loops must not act. They are being cancelled."""


@dataclass(eq=False)
class Tenure:
    """The time in which a console leads in one term."""

    term: int
    console_id: str
    deadline: float
    """Time until which the lease allows actions, by `clock`. Each renewal moves it."""
    clock: Callable[[], float] = field(default=steady_time, repr=False)
    is_over: bool = False

    @property
    def is_valid(self) -> bool:
        return not self.is_over and self.clock() < self.deadline

    def check(self) -> None:
        """Raise LostLeadership if this console may no longer act."""
        if not self.is_valid:
            raise LostLeadership(f"this console is no longer the leader in term {self.term}")

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Let this task act for the tenure during the block, and tasks that it creates until they end."""
        token = _ACTING.set(self)
        try:
            yield
        finally:
            _ACTING.reset(token)


def current_tenure() -> Tenure | None:
    """Return the tenure for which this task acts; None for requests and for loops of each console."""
    return _ACTING.get()
