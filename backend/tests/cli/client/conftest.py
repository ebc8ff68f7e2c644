"""Commands that run against a console of the test, through its REST API."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from backend.tests.support.app_factory import app_for

from shardboard.cli import main
from shardboard.cli.client import connection
from shardboard.console import Console
from shardboard.settings import Settings

URL = "https://console.example.org"


class _Bridge(httpx.BaseTransport):
    """Sends the requests of a command, which runs in a thread, to the application in the event loop of the test."""

    def __init__(self, client: httpx.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = self._client.request(request.method, request.url, headers=request.headers, content=request.read())
        reply = asyncio.run_coroutine_threadsafe(sent, self._loop).result()
        return httpx.Response(
            reply.status_code, headers={"content-type": reply.headers["content-type"]}, content=reply.content
        )


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


Cli = Callable[..., Coroutine[Any, Any, Result]]


@pytest.fixture
async def cli(
    console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Cli]:
    """Run a command with separate arguments and return its result."""
    monkeypatch.setenv("SHARDBOARD_CONTEXTS_FILE", str(tmp_path / "contexts.json"))
    for name in ("SHARDBOARD_URL", "SHARDBOARD_TOKEN", "SHARDBOARD_ADMIN_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    transport = httpx.ASGITransport(app_for(console), client=("192.0.2.1", 40000))
    async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
        bridge = _Bridge(client, asyncio.get_running_loop())
        monkeypatch.setattr(connection, "TRANSPORT", bridge)

        async def run(*arguments: str) -> Result:
            status = await asyncio.to_thread(main.main, list(arguments))
            output = capsys.readouterr()
            return Result(status, output.out, output.err)

        yield run


@pytest.fixture
async def signed_in(cli: Cli, settings: Settings, tmp_path: Path) -> Cli:
    """Commands of a user who has signed in as the administrator."""
    assert settings.configured_password is not None
    (tmp_path / "password").write_text(settings.configured_password + "\n")
    result = await cli("login", URL, "--user", settings.admin_user, "--password-file", str(tmp_path / "password"))
    assert result.status == 0, result.err
    return cli
