"""Time to wait before a failed operation is retried."""

INITIAL_SECONDS = 2.0
MAX_SECONDS = 60.0


def wait(failures: int) -> float:
    """Return the seconds to wait after a number of consecutive failures: doubled each time, at most one minute."""
    return min(MAX_SECONDS, INITIAL_SECONDS * 2.0 ** min(failures - 1, 10)) if failures > 0 else 0.0
