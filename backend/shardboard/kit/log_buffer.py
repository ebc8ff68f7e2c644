"""Recent log lines of this process, for support bundles: log destinations differ between machines."""

import logging
from collections import deque

MAX_CHARACTERS = 256 * 1024
"""Characters."""
MAX_ENTRY_CHARACTERS = 8 * 1024
"""Maximum length of one entry, such as a traceback; longer ones are truncated."""
FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class LogBuffer(logging.Handler):
    """Log handler that keeps the newest entries. Calls run under the handler's lock, from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self._entries: deque[str] = deque()
        self._size = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            entry = self.format(record)[:MAX_ENTRY_CHARACTERS] + "\n"
        except Exception:
            self.handleError(record)
            return
        self._entries.append(entry)
        self._size += len(entry)
        while self._size > MAX_CHARACTERS:
            self._size -= len(self._entries.popleft())

    def text(self) -> str:
        """Return all kept entries, oldest first."""
        self.acquire()
        try:
            return "".join(self._entries)
        finally:
            self.release()


_recent = LogBuffer()


def install() -> None:
    """Start keeping what this process logs."""
    logging.getLogger().addHandler(_recent)


def text() -> str:
    """Return the kept entries, oldest first; empty if `keep` was not called."""
    return _recent.text()
