"""How long to wait before something that failed is tried again."""

FIRST_SECONDS = 2.0
MOST_SECONDS = 60.0


def wait(failures: int) -> float:
    """Seconds after the last of so many failures in a row: twice as long each time, a minute at most."""
    return min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, 10)) if failures > 0 else 0.0
