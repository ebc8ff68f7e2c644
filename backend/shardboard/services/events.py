"""Writing the log, for services."""

from shardboard.state.events import record

__all__ = ["record"]
