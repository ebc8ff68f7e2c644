"""The agent and a real proxy before a real shard: started, found again, counted, replaced when it dies."""

import asyncio
import errno
import signal
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from backend.tests.agent.test_app import identity_of
from backend.tests.shards import Farm, ended, farm, lone, request, until

from shardboard.agent.contract import ProxyDatabase, ProxyReading, ProxyShard, ProxyState, ReadCommands, ShardTls
from shardboard.agent.proxy import Proxy
from shardboard.authority import Authority
from shardboard.settings import Settings
from shardboard.shard_certificates import ShardCertificates

PORT = 12000


class Proxied:
    """One node with one shard outside cluster mode, and its proxy."""

    def __init__(self, node: Farm) -> None:
        self.shards = node
        self.settings = node.settings[1]
        self.proxies: list[tuple[Proxy, asyncio.Task[None]]] = []
        self.start()

    def start(self) -> None:
        """What an agent process does at its start."""
        proxy = Proxy(self.settings)
        self.proxies.append((proxy, asyncio.create_task(proxy.run())))

    async def end(self) -> None:
        """What the kernel does at an agent's end: the task stops, the connection closes."""
        proxy, task = self.proxies.pop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        proxy._hang_up()

    @property
    def proxy(self) -> Proxy:
        return self.proxies[-1][0]

    def state(self, *, port: int = PORT, version: int = 1) -> ProxyState:
        shard = ProxyShard(
            uid=1,
            engine_id=f"{1:040x}",
            role="master",
            address=self.settings.address,
            port=20001,
            slots=[(0, 16383)],
        )
        database = ProxyDatabase(
            uid=1,
            port=port,
            hides_cluster=True,
            cluster=False,
            version=version,
            tls=False,
            max_connections=0,
            shards=[shard],
            endpoints=[],
        )
        return ProxyState(threads=2, databases=[database])

    async def say(self, command: bytes, port: int = PORT) -> bytes:
        reader, writer = await asyncio.open_connection(self.settings.address, port)
        writer.write(command + b"\r\n")
        reply = await reader.readline()
        writer.close()
        return reply

    async def seconds(self) -> list[ProxyReading | None]:
        """What the proxy did in each second from now on: it grows. The first of them has come."""
        found: list[ProxyReading | None] = []
        counts = self.proxy._counts
        add = counts.add

        def noted(report: Mapping[str, Any]) -> None:
            add(report)
            found.append(counts._reading)

        counts.add = noted  # type: ignore[method-assign]
        await until(lambda: found)
        return found


def together(seconds: list[ProxyReading | None]) -> Counter[str]:
    """Requests, replies and measured ones by kind, of database 1."""
    total: Counter[str] = Counter()
    for reading in seconds:
        if reading is None or 1 not in reading.databases:
            continue
        counts = reading.databases[1].values
        total.update({"requests": int(sum(counts[:3])), "replies": int(sum(counts[3:6]))})
        latency = reading.databases[1].latency
        total.update({kind: sum(count for _, count in buckets) for kind, buckets in latency.items()})
    return total


def processes(node: Proxied) -> list[psutil.Process]:
    """The living proxies of that node."""
    found = []
    for each in psutil.Process().children():
        with suppress(psutil.Error):  # it ended meanwhile
            if each.name() == "shardboard-proxy" and Path(each.cwd()).is_relative_to(node.settings.state_dir):
                found.append(each)
    return found


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Proxied]:
    async with farm(tmp_path) as shards:
        assert all(outcome.ok for outcome in await shards[1].start(request(lone(1))))
        made = Proxied(shards)
        yield made
        await made.proxy.park()
        await made.end()


async def test_clients_reach_the_shard_through_it(node: Proxied) -> None:
    report = await node.proxy.apply(node.state())
    assert (report.state, report.threads, report.failures, report.detail) == ("running", 2, {}, "")
    assert report.version != ""
    assert await node.say(b"SET a 1") == b"+OK\r\n"


async def test_a_second_is_counted_by_kind(node: Proxied) -> None:
    await node.proxy.apply(node.state())
    seconds = await node.seconds()
    await node.say(b"SET a 1")
    await until(lambda: together(seconds)["replies"])  # the second may end between the request and its reply
    found = together(seconds)
    assert (found["requests"], found["replies"]) == (1, 1)
    assert (found["write"], found["read"]) == (1, 0)
    assert all(reading is None or 0 < reading.seconds < 60 for reading in seconds)


async def test_commands_are_told_when_asked_and_who_waits_is_counted_apart(node: Proxied) -> None:
    assert (await node.proxy.commands(ReadCommands(uids=[1]))).reason == "its proxy is not running"
    await node.proxy.apply(node.state())
    seconds = await node.seconds()
    await node.say(b"SET a 1")
    await node.say(b"BLPOP queue 0.01")
    await until(lambda: together(seconds)["blocking"])
    found = together(seconds)
    assert (found["requests"], found["write"], found["blocking"]) == (1, 1, 1)
    told = await node.proxy.commands(ReadCommands(uids=[1]))
    assert (told.reason, list(told.databases)) == ("", [1])
    assert {each.name: (each.calls, each.errors) for each in told.databases[1]} == {"set": (1, 0), "blpop": (1, 0)}
    node.proxy._answered = frozenset()
    assert "does not count commands" in (await node.proxy.commands(ReadCommands(uids=[1]))).reason


async def test_one_that_would_speak_in_clear_to_encrypted_shards_is_given_none(node: Proxied) -> None:
    """It would pass over the order, as it passes over all that it does not know."""
    state = node.state()
    await node.proxy.apply(state)
    node.proxy._answered = frozenset({"commands"})
    issued = ShardCertificates.issue()
    tls = ShardTls(authorities=issued.authority, certificate=issued.certificate, key=issued.key)
    sealed = state.databases[0].model_copy(update={"uid": 2, "port": PORT + 1, "shard_tls": tls})
    report = await node.proxy.apply(state.model_copy(update={"databases": [*state.databases, sealed]}))
    assert list(report.failures) == [2]
    assert "release that cannot connect" in report.failures[2]
    assert await node.say(b"PING") == b"+PONG\r\n"
    # An agent that starts anew lets the installed one take over.
    node.proxy._hang_up()
    await node.proxy.apply(state.model_copy(update={"databases": [*state.databases, sealed]}))
    assert node.proxy.report().failures == {}


async def test_the_endpoint_shows_the_certificate_that_was_renewed(node: Proxied, tmp_path: Path) -> None:
    authority = Authority.load(Settings(state_dir=tmp_path / "console"))
    state = node.state()
    sealed = state.databases[0].model_copy(update={"tls": True})
    at = (node.settings.address, sealed.port)
    before = identity_of(node.settings.state_dir, authority).certificate.read_text()
    assert (await node.proxy.apply(state.model_copy(update={"databases": [sealed]}))).failures == {}
    assert await asyncio.to_thread(ssl.get_server_certificate, at) in before
    after = identity_of(node.settings.state_dir, authority).certificate.read_text()

    async def shown() -> bool:
        return await asyncio.to_thread(ssl.get_server_certificate, at) in after

    await until(shown)


async def test_the_reading_of_a_second_is_waited_for(node: Proxied) -> None:
    await node.proxy.apply(node.state())

    async def told() -> ProxyReading | None:
        return await node.proxy.reading(int(time.time()), 1.5)

    reading = await until(told)
    assert list(reading.databases) == [1]


async def test_a_proxy_that_died_is_started_again_without_the_console(node: Proxied) -> None:
    first = await node.proxy.apply(node.state())
    node.proxy.signal(signal.SIGKILL)
    await until(lambda: node.proxy.report().pid not in (None, first.pid))
    await until(lambda: node.proxy.report().threads == 2)
    assert await node.say(b"PING") == b"+PONG\r\n"


async def test_it_outlives_the_agent_and_is_found_again(node: Proxied) -> None:
    first = await node.proxy.apply(node.state())
    await node.end()
    assert await node.say(b"PING") == b"+PONG\r\n"
    node.start()
    await until(lambda: node.proxy.report().pid == first.pid)


async def test_a_parked_one_is_started_by_the_next_agent(node: Proxied) -> None:
    first = await node.proxy.apply(node.state())
    await node.proxy.park()
    assert first.pid is not None
    await until(lambda: not psutil.pid_exists(first.pid or 0) or psutil.Process(first.pid).status() == "zombie")
    await node.end()
    node.start()
    await until(lambda: node.proxy.report().threads == 2)
    assert await node.say(b"PING") == b"+PONG\r\n"


async def test_agents_that_are_started_again_and_again_leave_one_process(node: Proxied) -> None:
    await node.proxy.apply(node.state())
    node.proxy.signal(signal.SIGKILL)
    for _ in range(5):  # each ends when it has started a process, and before that one listens
        await until(lambda: node.proxy._popen or node.proxy.report().state == "running")
        await node.end()
        node.start()
    await until(lambda: node.proxy.report().threads == 2)
    await until(lambda: len(processes(node)) == 1)
    assert await node.say(b"PING") == b"+PONG\r\n"


async def test_one_that_was_just_started_is_parked_and_stays_away(node: Proxied) -> None:
    await node.proxy.apply(node.state())
    node.proxy.leave()  # or it starts another one, too
    node.proxy.signal(signal.SIGKILL)
    await until(lambda: node.proxy.report().state == "died")
    await node.end()
    node.start()
    await until(lambda: node.proxy._popen)
    _, task = node.proxies[-1]
    task.cancel()
    await node.proxy.park()
    await until(lambda: not processes(node))
    node.proxies[-1] = (node.proxy, asyncio.create_task(node.proxy.run()))
    await asyncio.sleep(0)  # it has looked
    assert not node.proxy._should_try()


async def test_another_version_takes_over_and_connections_stay(node: Proxied, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await node.proxy.apply(node.state())
    reader, writer = await asyncio.open_connection(node.settings.address, PORT)
    writer.write(b"SET a 1\r\n")
    assert await reader.readline() == b"+OK\r\n"
    await node.end()
    monkeypatch.setattr("shardboard.agent.proxy.version_of", lambda _: "99.0.0")
    node.start()
    await until(lambda: node.proxy.report().pid not in (None, first.pid))
    monkeypatch.undo()
    await until(lambda: node.proxy.report().threads == 2)
    writer.write(b"GET a\r\n")
    assert await reader.readline() == b"$1\r\n", "the old process goes on with the clients it has"
    writer.close()
    assert await node.say(b"PING") == b"+PONG\r\n"


async def test_an_outage_is_told_also_to_the_next_agent(node: Proxied) -> None:
    await node.proxy.apply(node.state())
    assert await node.say(b"SET a 1") == b"+OK\r\n"
    shard = psutil.Process(node.shards[1].shards[1].record.pid)
    shard.kill()
    began = (await until(lambda: node.proxy.outages.since(0)[1]))[0]
    assert (began.uid, began.address, began.port) == (1, node.settings.address, 20001)
    assert began.slots == [(0, 16383)]
    assert began.first_success_ms is None
    await until(lambda: ended(shard))
    node.shards[1].check()
    assert (await node.shards[1].restart([1], discard_data=True))[0].ok

    async def written() -> bool:
        return await node.say(b"SET a 2") == b"+OK\r\n"

    await until(written)
    [over] = await until(lambda: [each for each in node.proxy.outages.since(0)[1] if each.first_success_ms])
    assert over.noticed_ms == began.noticed_ms
    # Of all workers together: the one that noticed first may have served nobody.
    assert (over.last_success_ms or 0) <= over.noticed_ms <= (over.first_success_ms or 0)
    assert over.last_success_ms is not None
    await node.end()
    node.start()
    await until(lambda: node.proxy.outages.since(0)[1] == [over])


async def test_a_kept_database_is_served_and_its_port_is_not_given_away(node: Proxied) -> None:
    """The store of the console does not contain it; another database wants its uid or its port."""
    report = await node.proxy.apply(node.state())
    assert report.serving is not None
    assert await node.say(b"SET key paid") == b"+OK\r\n"
    others = [
        node.state().databases[0].model_copy(update={"uid": uid, "port": port, "shards": []})
        for uid, port in ((1, PORT + 1), (2, PORT), (3, PORT + 2))
    ]
    for _ in range(2):
        report = await node.proxy.apply(ProxyState(threads=2, databases=others, keep=report.serving[:1]))
        assert sorted(report.failures) == [1, 2]
        assert "is in use by a database that the console's store does not contain" in report.failures[2]
        assert report.serving is not None
        assert sorted((each.uid, each.port) for each in report.serving) == [(1, PORT), (3, PORT + 2)]
        report = report.model_copy(update={"serving": [each for each in report.serving if each.uid == 1]})
        assert await node.say(b"EXISTS key") == b":1\r\n"
    await node.end()
    node.start()
    await until(lambda: node.proxy.report().state == "running")
    assert await node.say(b"EXISTS key") == b":1\r\n"


async def test_a_local_shard_with_another_engine_id_is_not_served(node: Proxied) -> None:
    await node.end()
    proxy = Proxy(node.settings, lambda _: "f" * 40)
    assert proxy._database(node.state().databases[0])["shards"] == []
    node.start()


async def test_without_databases_there_is_no_process(node: Proxied) -> None:
    first = await node.proxy.apply(node.state())
    assert (await node.proxy.apply(ProxyState(threads=1, databases=[]))).state == "absent"
    await until(lambda: not psutil.pid_exists(first.pid or 0) or psutil.Process(first.pid).status() == "zombie")
    # Its first thread is a zombie as soon as it ends; the sockets are closed with the last one.
    await until(lambda: _knock(node.settings.address) == errno.ECONNREFUSED)


def _knock(address: str) -> int:
    """The error of a connection to the port of the database; 0 when it is taken."""
    with socket.socket() as knocking:
        return knocking.connect_ex((address, PORT))


async def test_a_port_in_use_is_told_with_the_database(node: Proxied) -> None:
    server = await asyncio.start_server(lambda *_: None, node.settings.address, PORT)
    async with server:
        report = await node.proxy.apply(node.state())
    assert report.state == "running"
    assert list(report.failures) == [1]
    assert "port 12000 is in use" in report.failures[1]


async def test_a_missing_binary_is_told(node: Proxied) -> None:
    node.settings = replace(node.settings, proxy="/nonexistent/proxy")
    await node.end()
    node.start()
    report = await node.proxy.apply(node.state())
    assert report.state == "died"
    assert "not installed" in report.detail


async def test_a_node_that_seems_gone_starts_none(node: Proxied) -> None:
    first = await node.proxy.apply(node.state())
    process = psutil.Process(first.pid)
    node.proxy.leave()
    node.proxy.signal(signal.SIGKILL)
    await until(lambda: node.proxy.report().state == "died")
    await until(lambda: ended(process))  # it may take a while to close all that it had open
    with pytest.raises(OSError, match="Connect call failed"):
        await node.say(b"PING")
    node.proxy.come_back()
    await until(lambda: node.proxy.report().pid not in (None, first.pid))


async def test_its_files_are_for_nobody_else(node: Proxied) -> None:
    await node.proxy.apply(node.state())
    directory = node.settings.state_dir / "proxy"
    found = {path.name for path in (directory, *directory.iterdir()) if path.stat().st_mode & 0o077}
    assert found == set()
