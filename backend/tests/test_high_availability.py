"""Tests of two consoles behind a real HAProxy, configured as in docs/guide/high-availability.md."""

import asyncio
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for
from backend.tests.support.real_shards import wait_until
from backend.tests.test_reverse_proxy import answers, running

from shardboard.app import servers
from shardboard.console import Console
from shardboard.lifecycle.leadership import Leadership
from shardboard.local.loopback import free_port
from shardboard.net import http_server
from shardboard.state.cluster import cluster

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "high-availability.md"
Stop = Callable[[], None]

pytestmark = pytest.mark.skipif(
    not (shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")), reason="needs HAProxy"
)


@asynccontextmanager
async def serving(console: Console, number: int) -> AsyncIterator[tuple[int, asyncio.Event]]:
    """Serve the HTTPS port of a console during the block, until the event is set. Yields port and event."""
    ports = {"http_port": 0, "https_port": free_port(), "metrics_port": 0, "https_host": "127.0.0.1"}
    console.settings = console.settings.model_copy(update={**ports, "public_names": ["console.example.org"]})
    ended, stopping = asyncio.get_running_loop().create_future(), asyncio.Event()
    closing = lambda: console.bus.publish("closing")  # noqa: E731
    configs = servers(console, app_for(console, number))
    server = asyncio.create_task(http_server.serve(configs, stopping=closing, watch=ended))

    async def stop() -> None:
        await stopping.wait()
        ended.set_result(None)
        await server

    stopped = asyncio.create_task(stop())
    await wait_until(lambda: answers(console.settings.https_port))
    try:
        yield console.settings.https_port, stopping
    finally:
        stopping.set()
        await stopped


@pytest.fixture
async def consoles(console: Console, second_console: Console) -> AsyncIterator[Sequence[tuple[int, asyncio.Event]]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(serving(each, number))
            for number, each in enumerate((console, second_console))
        ]


def configuration(ports: Sequence[int], port: int, *, with_master_healthcheck: bool = False) -> str:
    """Return the configuration of the guide for these consoles, with a shorter interval of its checks."""
    complete, checks = re.findall(r"```haproxy\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    if with_master_healthcheck:
        replaced = re.findall(r"    http-check.*\n", complete)
        assert len(replaced) == 2
        complete = complete.replace("".join(replaced), checks)
    for before, after in (
        ("bind :443", f"bind 127.0.0.1:{port}"),
        ("first.example.org:9443", f"127.0.0.1:{ports[0]}"),
        ("second.example.org:9443", f"127.0.0.1:{ports[1]}"),
        ("inter 2s", "inter 500ms"),
    ):
        assert before in complete
        complete = complete.replace(before, after)
    return complete


@asynccontextmanager
async def balanced(tmp_path: Path, text: str, port: int, ca: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run HAProxy, and yield a client of its port."""
    file = tmp_path / "haproxy.cfg"
    file.write_text(text)
    context = ssl.create_default_context(cadata=ca)
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    no_reuse = httpx.Limits(max_keepalive_connections=0)
    transport = httpx.AsyncHTTPTransport(verify=context, limits=no_reuse)
    with running("haproxy", "-db", "-f", str(file)):
        async with httpx.AsyncClient(
            transport=transport, base_url=f"https://localhost:{port}", auth=(USER, PASSWORD)
        ) as client:
            yield client


async def served_by(client: httpx.AsyncClient) -> str:
    """Return the ID of the console that serves a request; an empty text if none does."""
    try:
        uid: str = (await client.get("/v1/session/handover")).json()["uid"]
    except httpx.TransportError:
        return ""
    return uid


async def test_requests_are_served_by_both_consoles_and_then_by_the_remaining_one(
    console: Console, consoles: Sequence[tuple[int, asyncio.Event]], tmp_path: Path
) -> None:
    port = free_port()
    text = configuration([each for each, _ in consoles], port)
    async with balanced(tmp_path, text, port, console.ca.ca_pem) as client:
        found: set[str] = set()

        async def both_serve() -> bool:
            found.add(await served_by(client))
            return found >= {console.id, "second"}

        await wait_until(both_serve)
        consoles[0][1].set()

        async def is_checked() -> bool:
            return {await served_by(client) for _ in range(4)} == {"second"}

        await wait_until(is_checked)
        assert (await client.get("/v1/nodes")).status_code == 200


async def test_a_console_without_a_leader_is_not_used_with_the_check_of_redis_software(
    console: Console,
    second_console: Console,
    consoles: Sequence[tuple[int, asyncio.Event]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with console.store.begin() as session:
        (await cluster.load(session)).policy = {"master_healthcheck_api_auth": False}
    leads = SimpleNamespace(first=False)
    monkeypatch.setattr(
        Leadership, "is_led", property(lambda self: leads.first if self is console.leadership else True)
    )
    port = free_port()
    text = configuration([each for each, _ in consoles], port, with_master_healthcheck=True)
    async with balanced(tmp_path, text, port, console.ca.ca_pem) as client:

        async def only_the_second() -> bool:
            return {await served_by(client) for _ in range(4)} == {"second"}

        await wait_until(only_the_second)
        leads.first = True

        async def both() -> bool:
            return {await served_by(client) for _ in range(4)} == {console.id, "second"}

        await wait_until(both)
