"""The application as tests call it, without a server."""

from fastapi import FastAPI

from shardboard.app import create_app
from shardboard.console import Console

_built: list[FastAPI] = []


def app_of(console: Console) -> FastAPI:
    """With that console behind it. It is built once for all tests: its routes are the same for every console."""
    if not _built:
        _built.append(create_app(console))
    _built[0].state.console = console
    return _built[0]
