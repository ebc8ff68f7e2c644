"""A hostile agent next to two honest ones, over real TLS: the honest ones stay connected, and the console responds."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from backend.tests.collectors.samples import sample
from backend.tests.support.real_shards import wait_until

from shardboard.agent.cluster import key_generation
from shardboard.collectors.cluster.nodes import NodeCollector
from shardboard.collectors.pulse import Pulses
from shardboard.console import Console
from shardboard.contract import protocol
from shardboard.driver import agent_budgets
from shardboard.driver.agents import HttpAgents
from shardboard.driver.fake_agents import FACTS
from shardboard.kit.active_clock import ACTIVE
from shardboard.pki.console_ca import ConsoleCa
from shardboard.state.alerting import events
from shardboard.state.cluster import nodes
from shardboard.state.cluster.nodes import Node

HEAD = f"HTTP/1.1 200 OK\r\n{protocol.HEADER}: {protocol.PROTOCOL}\r\n".encode()
MAX_BUSY_SECONDS = 0.15
"""CPU time for which the console may process nothing else, including that of the agents, which run in the same process."""

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def line(number: int, **changes: Any) -> bytes:
    """Return the sample of the current second as an agent sends it."""
    now = int(time.time())
    current = sample(now, seq=number).model_copy(update={"at": time.time()})
    return json.dumps({**json.loads(current.model_dump_json()), **changes}).encode() + b"\n"


def reply(body: bytes) -> bytes:
    return HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


async def send_forever(writer: asyncio.StreamWriter, parts: Iterator[bytes]) -> None:
    writer.write(HEAD + b"\r\n")
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0)  # draining does not wait while the buffer is small


async def honest_samples(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"\r\n")
    number = 0
    while True:
        number += 1
        writer.write(line(number))
        for _ in range(5):
            await writer.drain()
            await asyncio.sleep(0.2)
            writer.write(b"\n")


async def honest_facts(writer: asyncio.StreamWriter) -> None:
    writer.write(reply(FACTS.model_dump_json().encode()))


def repeated(part: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        def parts() -> Iterator[bytes]:
            while True:
                yield part

        await send_forever(writer, parts())

    return answer


def samples_with(**changes: Any) -> Answer:
    """Send the same line again and again. It is prepared now, because this takes long."""
    return repeated(line(1, **changes))


async def flood(writer: asyncio.StreamWriter) -> None:
    """Send valid samples without a pause."""
    prepared = json.loads(line(1))

    def parts() -> Iterator[bytes]:
        number = 0
        while True:
            number += 1
            yield json.dumps({**prepared, "seq": number, "t": prepared["t"] - number % 100}).encode() + b"\n"

    await send_forever(writer, parts())


MANY_VALUES = reply(b"[" + b"[0]," * (15 << 18) + b"0]")


async def many_values(writer: asyncio.StreamWriter) -> None:
    writer.write(MANY_VALUES)


async def tiny_chunks(writer: asyncio.StreamWriter) -> None:
    chunks = b"1\r\n \r\n" * 10_000
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(chunks)
        await writer.drain()


def server_context(ca: ConsoleCa, directory: Path, address: str) -> ssl.SSLContext:
    directory.mkdir()
    private, csr = key_generation.generate()
    (directory / "agent.pem").write_text(private + ca.sign_agent(csr, address))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(directory / "agent.pem")
    return context


@asynccontextmanager
async def agent(ca: ConsoleCa, directory: Path, address: str, answers: dict[str, Answer]) -> AsyncIterator[int]:
    """Run an agent whose calls are answered by functions. Yield its port."""
    context = server_context(ca, directory, address)
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        task.add_done_callback(serving.discard)
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                path = request.split()[1].decode().partition("?")[0]
                await answers[path](writer)
                await writer.drain()

    server = await asyncio.start_server(serve, address, 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@asynccontextmanager
async def measured_pauses() -> AsyncIterator[list[float]]:
    """Measure the CPU time between two turns of a task that can always run. On a busy machine, the wall time is longer."""
    pauses = [0.0]

    async def measure() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            pauses.append(time.thread_time() - before)

    task = asyncio.create_task(measure())
    try:
        yield pauses
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def uids(first: int, count: int) -> dict[int, str]:
    return dict.fromkeys(range(first, first + count), "")


HOSTILE: dict[str, tuple[Callable[[], dict[str, Answer]], str]] = {
    "line of a million uids": (
        lambda: {"/samples": samples_with(died=uids(1, 10**6))},
        "it sent a line of more than 1024 KiB",
    ),
    "line without an end": (lambda: {"/samples": repeated(b"0" * 65_536)}, "it sent a line of more than 1024 KiB"),
    "line of many values": (lambda: {"/samples": samples_with(unknown=[0] * 300_000)}, ""),
    "map of many uids": (lambda: {"/samples": samples_with(died=uids(1, 50_000))}, ""),
    "foreign shards": (lambda: {"/samples": samples_with(died=uids(10**8, 5_000))}, "it sent more than one sample"),
    "pulses without a pause": (lambda: {"/samples": repeated(b"\n" * 65_536)}, "processing"),
    "samples without a pause": (lambda: {"/samples": flood}, "it sent more than one sample"),
    "large facts": (lambda: {"/samples": honest_samples, "/facts": many_values}, ""),
    "facts in tiny chunks": (lambda: {"/samples": honest_samples, "/facts": tiny_chunks}, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HOSTILE)
async def test_honest_agents_stay_connected(
    console: Console, nodes: list[Node], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(agent_budgets, "MAX_CPU_SECONDS", 2.0)  # instead of six, to save time
    prepare, reason = HOSTILE[case]
    answers = prepare()
    honest: dict[str, Answer] = {"/samples": honest_samples, "/facts": honest_facts}
    agents, pulses = HttpAgents(console.ca.client_ssl_context), Pulses()
    followers = NodeCollector(console.store, console.bus, agents, console.live, pulses)
    async with AsyncExitStack() as stack:
        ports = {
            uid: await stack.enter_async_context(
                agent(console.ca, tmp_path / str(uid), f"127.0.0.{uid}", honest | (answers if uid == 1 else {}))
            )
            for uid in (2, 3, 1)
        }
        async with console.store.begin() as session:
            for uid, port in ports.items():
                row = await session.get(Node, uid)
                assert row is not None
                row.addr, row.agent_port = f"127.0.0.{uid}", port
        running = [asyncio.create_task(each) for each in (followers.run(), ACTIVE.run(), console.live.run())]
        try:
            async with measured_pauses() as pauses, asyncio.timeout(60):
                await wait_until(lambda: {2, 3} <= pulses.clocks.keys())
                if reason:
                    await wait_until(lambda: agents.cut_off_reason(1))
                await asyncio.sleep(2)  # the honest agents must remain connected for a while
                silence = {uid: pulses.silence(uid) for uid in (2, 3)}
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await agents.close()
    assert agents.cut_off_reason(1).startswith(reason)
    assert max(pauses) < MAX_BUSY_SECONDS
    assert all(each < 0.7 for each in silence.values())
    assert await lost_agents(console) <= {1}
    assert {uid for uid, _ in await connected(console)} >= {2, 3}


async def lost_agents(console: Console) -> set[int | None]:
    async with console.store.read() as session:
        return {
            event.node_uid
            for event in await events.page(session, newest_first=False)
            if event.type == "node_agent_lost"
        }


async def connected(console: Console) -> list[tuple[int, str]]:
    async with console.store.read() as session:
        rows = await nodes.list_all(session)
    return [(row.uid, row.agent_status) for row in rows if row.agent_status == "connected"]
