"""The console application for tests that call it without a server."""

from fastapi import FastAPI

from shardboard.app import create_app
from shardboard.console import Console

_built: list[FastAPI] = []


def app_for(console: Console) -> FastAPI:
    """Return the application, connected to `console`. It is built only once, because its routes are the same for every console."""
    if not _built:
        _built.append(create_app(console))
    _built[0].state.console = console
    return _built[0]
