"""Limit of the time in which the console ends after a stop signal."""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

SECONDS = 30.0
FAILURE = 1


def limit(seconds: float = SECONDS, end_process: Callable[[int], Any] = os._exit) -> None:
    """End this process after `seconds`, if it has not ended, and log the tasks that still run.

    A task that is cancelled twice can wait forever for a connection to the store (see `kit/tasks.py`). To end abruptly is safe: all
    operations continue from the store.
    """
    asyncio.get_running_loop().call_later(seconds, _end, seconds, end_process)


def _end(seconds: float, end_process: Callable[[int], Any]) -> None:
    for task in asyncio.all_tasks():
        log.error("shutdown: task %s has not ended after %s s: %s", task.get_name(), seconds, _position(task))
    end_process(FAILURE)


def _position(task: asyncio.Task[Any]) -> str:
    """Return where the task waits: the functions from the outermost to the innermost, with lines."""
    positions: list[str] = []
    awaited: Any = task.get_coro()
    while (frame := getattr(awaited, "cr_frame", None)) is not None:
        positions.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        awaited = awaited.cr_await
    return " > ".join(positions)
