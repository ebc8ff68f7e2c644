"""Commands that run against a console of the test, through its REST API."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from backend.tests.support.app_factory import app_for

from shardboard.cli import main
from shardboard.cli.client import connection, contexts
from shardboard.cli.client.contexts import Context, Contexts
from shardboard.console import Console
from shardboard.domain.access.roles import ManagementRole
from shardboard.services.access import service_tokens
from shardboard.services.access.authorization import Principal
from shardboard.services.access.role_assignments import RoleAssignment

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
class SentRequest:
    method: str
    path: str
    body: Any


class FakeConsole(httpx.BaseTransport):
    """A console with fixed replies by method and path, for commands whose requests matter and not their effect."""

    def __init__(self) -> None:
        self.replies: dict[str, Any] = {}
        """For example, `{"GET /v1/bdbs": []}`. A text is returned as it is."""
        self.sent: list[SentRequest] = []
        """All requests that change something."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path, content = request.url.path, request.read()
        if request.method != "GET":
            self.sent.append(SentRequest(request.method, path, json.loads(content) if content else None))
        reply = self.replies.get(f"{request.method} {path}")
        if reply is None:
            return httpx.Response(404, json={"error_code": "not_found", "description": f"{path} does not exist"})
        return httpx.Response(200, text=reply) if isinstance(reply, str) else httpx.Response(200, json=reply)


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str


Cli = Callable[..., Coroutine[Any, Any, Result]]
Run = Callable[..., Result]


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
def fake_console(monkeypatch: pytest.MonkeyPatch) -> FakeConsole:
    """The console that commands use."""
    fake = FakeConsole()
    monkeypatch.setattr(connection, "TRANSPORT", fake)
    monkeypatch.setenv("SHARDBOARD_URL", URL)
    monkeypatch.setenv("SHARDBOARD_TOKEN", "sbt_test")
    return fake


@pytest.fixture
def run(fake_console: FakeConsole, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command, with separate arguments, that uses the fake console."""

    def run(*arguments: str) -> Result:
        status = main.main(list(arguments))
        output = capsys.readouterr()
        return Result(status, output.out, output.err)

    return run


@pytest.fixture
async def signed_in(cli: Cli, console: Console) -> Cli:
    """Commands of an administrator who has signed in."""
    username = console.settings.admin_user
    async with console.store.begin() as session:
        role = RoleAssignment(ManagementRole.ADMIN)
        _, token = await service_tokens.create(session, "cli", role, None, Principal(username, role.management))
    contexts.save(Contexts().with_context(urlsplit(URL).netloc, Context(url=URL, username=username, token=token)))
    return cli
