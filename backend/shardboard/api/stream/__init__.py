"""Event stream: samples and changes of all areas."""

from shardboard.api.stream import event_stream

ROUTERS = (event_stream.router,)
