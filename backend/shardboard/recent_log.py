"""The last lines that this process has logged, for support bundles: where they went otherwise differs from machine to machine."""

import logging
from collections import deque

KEPT = 256 * 1024
"""Characters."""
LONGEST = 8 * 1024
"""Of one entry, as of a traceback; what is longer is cut."""
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class RecentLog(logging.Handler):
    """Forgets the oldest entries for the newest. Calls come under the handler's lock, from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self._entries: deque[str] = deque()
        self._size = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            entry = self.format(record)[:LONGEST] + "\n"
        except Exception:
            self.handleError(record)
            return
        self._entries.append(entry)
        self._size += len(entry)
        while self._size > KEPT:
            self._size -= len(self._entries.popleft())

    def text(self) -> str:
        """All that is kept, oldest first."""
        self.acquire()
        try:
            return "".join(self._entries)
        finally:
            self.release()


_recent = RecentLog()


def keep() -> None:
    """From now on keep what this process logs."""
    logging.getLogger().addHandler(_recent)


def text() -> str:
    """What was kept, oldest first; empty in a process that keeps nothing."""
    return _recent.text()
