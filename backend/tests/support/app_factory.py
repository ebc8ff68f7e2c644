"""The console application for tests that call it without a server."""

from fastapi import FastAPI

from shardboard.console import Console

_built: list[FastAPI] = []


def app_for(console: Console, number: int = 0) -> FastAPI:
    """Return an application, connected to `console`. Tests with several consoles need several applications, by number.

    Each is built only once, because its routes are the same for every console.
    """
    while number >= len(_built):
        # Imported here because this is slow, and the process that distributes the tests to others does not need it.
        from shardboard.app import create_app

        _built.append(create_app(console))
    _built[number].state.console = console
    return _built[number]
