"""CPU priority of the agent itself.

An agent shares its machine with hundreds of engines. If all of them are busy, it gets one share of hundreds, cannot send its
samples in time, and its node looks as if it had failed. Therefore the agent gets more weight than the processes that it starts.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

NICE = -10
"""Ten times the weight of a process with the normal priority."""


def raise_priority() -> None:
    """Raise the priority of the calling thread and of threads that it starts. Without the privilege nothing changes."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, min(NICE, os.getpriority(os.PRIO_PROCESS, 0)))


def at_normal_priority(start: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that starts a process. The process inherits the priority that the agent was started with."""
    return _starter.submit(start, *args, **kwargs).result()


_initial = os.getpriority(os.PRIO_PROCESS, 0)


def _restore_priority() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _initial)


# A process inherits the priority of the thread that starts it.
_starter = ThreadPoolExecutor(1, thread_name_prefix="start", initializer=_restore_priority)
