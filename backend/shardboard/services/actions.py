"""Orders for the loops: adding one is all that a handler does towards a long operation."""

from shardboard.state.actions import start

__all__ = ["start"]
