"""A clock that tests move forward."""


class Clock:
    """Returns seconds. They change only when a test adds to `now`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
