"""Tests of the agent with a real proxy and a real shard: start, adoption, metrics, and restart after a crash."""

import asyncio
import errno
import os
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
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import (
    LocalNodes,
    has_exited,
    local_nodes,
    standalone_shard,
    start_request,
    wait_until,
)
from backend.tests.support.running_agent import identity_of

from shardboard.agent.databases.cpu_pinning import ProcessPinning
from shardboard.agent.databases.proxy import ProxyProcess
from shardboard.contract import (
    CpuPinning,
    ProxyDatabase,
    ProxyReading,
    ProxyReport,
    ProxyShard,
    ProxyState,
    ReadCommands,
    ShardTls,
)
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.settings import Settings

PORT = 12000


class ProxyNode:
    """One node with one shard outside cluster mode, and its proxy."""

    def __init__(self, node: LocalNodes) -> None:
        self.shards = node
        self.settings = node.settings[1]
        self.proxies: list[tuple[ProxyProcess, asyncio.Task[None]]] = []
        self.start()

    def start(self) -> None:
        """Start the proxy management as a new agent process does."""
        proxy = ProxyProcess(self.settings)
        self.proxies.append((proxy, asyncio.create_task(proxy.run())))

    async def end(self) -> None:
        """Stop the proxy management and close its connection, as at the end of an agent process."""
        proxy, task = self.proxies.pop()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        proxy._hang_up()

    @property
    def proxy(self) -> ProxyProcess:
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

    async def serve(self) -> ProxyReport:
        report = await self.proxy.apply(self.state())
        assert (report.state, report.threads, report.failures, report.detail) == ("running", 2, {}, "")
        return report

    async def send(self, command: bytes, port: int = PORT) -> bytes:
        reader, writer = await asyncio.open_connection(self.settings.address, port)
        writer.write(command + b"\r\n")
        reply = await reader.readline()
        writer.close()
        return reply

    async def seconds(self) -> list[ProxyReading | None]:
        """Return a list to which each following second of the proxy is appended. Waits for the first one."""
        readings: list[ProxyReading | None] = []
        counts = self.proxy._counts
        add = counts.add

        def recording_add(report: Mapping[str, Any]) -> None:
            add(report)
            readings.append(counts._readings.get(counts._second))

        counts.add = recording_add  # type: ignore[method-assign]
        await wait_until(lambda: readings)
        return readings


def total_counts(seconds: list[ProxyReading | None]) -> Counter[str]:
    """Return the requests, replies and latency counts by kind of database 1."""
    total: Counter[str] = Counter()
    for reading in seconds:
        if reading is None or 1 not in reading.databases:
            continue
        counts = reading.databases[1].values
        total.update({"requests": int(sum(counts[:3])), "replies": int(sum(counts[3:6]))})
        latency = reading.databases[1].latency
        total.update({kind: sum(count for _, count in buckets) for kind, buckets in latency.items()})
    return total


def processes(node: ProxyNode) -> list[psutil.Process]:
    """Return the running proxy processes of the node."""
    matching = []
    for each in psutil.Process().children():
        with suppress(psutil.Error):  # the process has ended
            if each.name() == "shardboard-proxy" and Path(each.cwd()).is_relative_to(node.settings.state_dir):
                matching.append(each)
    return matching


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ProxyNode]:
    async with local_nodes(tmp_path) as shards:
        assert all(outcome.ok for outcome in await shards[1].start(start_request(standalone_shard(1))))
        proxy_node = ProxyNode(shards)
        yield proxy_node
        await proxy_node.proxy.park()
        await proxy_node.end()


async def test_clients_reach_the_shard_through_the_proxy(node: ProxyNode) -> None:
    assert (await node.serve()).version != ""
    assert await node.send(b"SET a 1") == b"+OK\r\n"


async def test_requests_of_a_second_are_counted_by_kind(node: ProxyNode) -> None:
    await node.serve()
    seconds = await node.seconds()
    await node.send(b"SET a 1")
    await wait_until(lambda: total_counts(seconds)["replies"])  # the second can end between the request and its reply
    counts = total_counts(seconds)
    assert (counts["requests"], counts["replies"]) == (1, 1)
    assert (counts["write"], counts["read"]) == (1, 0)
    assert all(reading is None or 0 < reading.seconds < 60 for reading in seconds)


async def test_command_counts_are_returned_and_blocking_commands_separate(node: ProxyNode) -> None:
    assert (await node.proxy.commands(ReadCommands(uids=[1]))).reason == "its proxy is not running"
    await node.serve()
    seconds = await node.seconds()
    await node.send(b"SET a 1")
    await node.send(b"BLPOP queue 0.01")
    await wait_until(lambda: total_counts(seconds)["blocking"])
    counts = total_counts(seconds)
    assert (counts["requests"], counts["write"], counts["blocking"]) == (1, 1, 1)
    reply = await node.proxy.commands(ReadCommands(uids=[1]))
    assert (reply.reason, list(reply.databases)) == ("", [1])
    assert {each.name: (each.calls, each.errors) for each in reply.databases[1]} == {"set": (1, 0), "blpop": (1, 0)}
    node.proxy._answered = frozenset()
    assert "does not count commands" in (await node.proxy.commands(ReadCommands(uids=[1]))).reason


async def test_proxy_without_tls_support_gets_no_encrypted_databases(node: ProxyNode) -> None:
    """An older proxy ignores the TLS setting, as it ignores all unknown fields."""
    state = node.state()
    await node.proxy.apply(state)
    node.proxy._answered = frozenset({"commands"})
    certificates = ShardCertificates.issue()
    tls = ShardTls(cas=certificates.ca, certificate=certificates.certificate, key=certificates.key)
    encrypted = state.databases[0].model_copy(update={"uid": 2, "port": PORT + 1, "shard_tls": tls})
    report = await node.proxy.apply(state.model_copy(update={"databases": [*state.databases, encrypted]}))
    assert list(report.failures) == [2]
    assert "release that cannot connect" in report.failures[2]
    assert await node.send(b"PING") == b"+PONG\r\n"
    # A restarted agent replaces the old proxy with the installed one.
    node.proxy._hang_up()
    await node.proxy.apply(state.model_copy(update={"databases": [*state.databases, encrypted]}))
    assert node.proxy.report().failures == {}


async def test_endpoint_serves_the_renewed_certificate(node: ProxyNode, tmp_path: Path) -> None:
    ca = new_console_ca(Settings(state_dir=tmp_path / "console"))
    state = node.state()
    encrypted = state.databases[0].model_copy(update={"tls": True})
    address = (node.settings.address, encrypted.port)
    before = identity_of(node.settings.state_dir, ca).certificate.read_text()
    assert (await node.proxy.apply(state.model_copy(update={"databases": [encrypted]}))).failures == {}
    assert await asyncio.to_thread(ssl.get_server_certificate, address) in before
    for _ in range(3):  # more renewals than the proxy could notice in its check every second
        confirmed = identity_of(node.settings.state_dir, ca).certificate.read_text()
        assert await node.proxy.reload_certificate() == ""
        assert await asyncio.to_thread(ssl.get_server_certificate, address) in confirmed
    after = identity_of(node.settings.state_dir, ca).certificate.read_text()

    async def serves_new_certificate() -> bool:
        return await asyncio.to_thread(ssl.get_server_certificate, address) in after

    await wait_until(serves_new_certificate)


async def test_unconfirmed_certificate_is_reported(node: ProxyNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardboard.agent.databases.proxy.ANSWER_SECONDS", 0.3)
    process = psutil.Process((await node.serve()).pid)
    process.suspend()
    assert await node.proxy.reload_certificate() == "", "no endpoint uses the certificate"
    state = node.state()
    encrypted = state.databases[0].model_copy(update={"tls": True})
    node.proxy._state = state.model_copy(update={"databases": [encrypted]})
    error = "its proxy does not use the new certificate: it did not respond within 0.3 s"
    assert await node.proxy.reload_certificate() == error
    process.resume()
    await wait_until(lambda: node.proxy.report().state == "running")
    assert await node.proxy.reload_certificate() == ""


async def test_reading_waits_for_the_report_of_the_second(node: ProxyNode) -> None:
    await node.serve()

    async def read() -> ProxyReading | None:
        return await node.proxy.reading(int(time.time()), 1.5)

    reading = await wait_until(read)
    assert list(reading.databases) == [1]


async def test_dead_proxy_is_restarted_without_the_console(node: ProxyNode) -> None:
    first = await node.serve()
    node.proxy.signal(signal.SIGKILL, node.proxy.pid)
    await wait_until(lambda: node.proxy.report().pid not in (None, first.pid))
    await wait_until(lambda: node.proxy.report().threads == 2)
    assert await node.send(b"PING") == b"+PONG\r\n"


async def test_proxy_keeps_running_and_is_adopted_by_the_next_agent(node: ProxyNode) -> None:
    first = await node.serve()
    await node.end()
    assert await node.send(b"PING") == b"+PONG\r\n"
    node.start()
    await wait_until(lambda: node.proxy.report().pid == first.pid)


async def test_parked_proxy_is_started_by_the_next_agent(node: ProxyNode) -> None:
    first = await node.serve()
    await node.proxy.park()
    assert first.pid is not None
    await wait_until(lambda: not psutil.pid_exists(first.pid or 0) or psutil.Process(first.pid).status() == "zombie")
    await node.end()
    node.start()
    await wait_until(lambda: node.proxy.report().threads == 2)
    assert await node.send(b"PING") == b"+PONG\r\n"


async def test_repeated_agent_restarts_leave_one_proxy(node: ProxyNode) -> None:
    await node.serve()
    node.proxy.signal(signal.SIGKILL, node.proxy.pid)
    for _ in range(5):  # each agent ends after it started a process and before that process listens
        await wait_until(lambda: node.proxy._popen or node.proxy.report().state == "running")
        await node.end()
        node.start()

    def is_served_by_the_only_process() -> bool:
        """A process that is being replaced can still be configured, before its successor is."""
        report = node.proxy.report()
        return report.threads == 2 and [process.pid for process in processes(node)] == [report.pid]

    await wait_until(is_served_by_the_only_process)
    assert await node.send(b"PING") == b"+PONG\r\n"


async def test_proxy_parked_right_after_its_start_is_not_restarted(node: ProxyNode) -> None:
    await node.serve()
    node.proxy.suspend()  # otherwise this agent starts another proxy
    node.proxy.signal(signal.SIGKILL, node.proxy.pid)
    await wait_until(lambda: node.proxy.report().state == "died")
    await node.end()
    node.start()
    await wait_until(lambda: node.proxy._popen)
    _, task = node.proxies[-1]
    task.cancel()
    await node.proxy.park()
    await wait_until(lambda: not processes(node))
    node.proxies[-1] = (node.proxy, asyncio.create_task(node.proxy.run()))
    await asyncio.sleep(0)  # let the loop run once
    assert not node.proxy._should_try()


async def test_proxy_upgrade_keeps_existing_connections(node: ProxyNode, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await node.serve()
    reader, writer = await asyncio.open_connection(node.settings.address, PORT)
    writer.write(b"SET a 1\r\n")
    assert await reader.readline() == b"+OK\r\n"
    await node.end()
    monkeypatch.setattr("shardboard.agent.databases.proxy.version_of", lambda _: "99.0.0")
    node.start()
    await wait_until(lambda: node.proxy.report().pid not in (None, first.pid))
    monkeypatch.undo()
    await wait_until(lambda: node.proxy.report().threads == 2)
    writer.write(b"GET a\r\n")
    assert await reader.readline() == b"$1\r\n", "the old process still serves its clients"
    writer.close()
    assert await node.send(b"PING") == b"+PONG\r\n"


async def test_outage_is_also_reported_to_the_next_agent(node: ProxyNode) -> None:
    await node.serve()
    assert await node.send(b"SET a 1") == b"+OK\r\n"
    shard = psutil.Process(node.shards[1].shards[1].record.pid)
    shard.kill()
    first_report = (await wait_until(lambda: node.proxy.outages.since(0)[1]))[0]
    assert (first_report.uid, first_report.address, first_report.port) == (1, node.settings.address, 20001)
    assert first_report.slots == [(0, 16383)]
    assert first_report.first_success_ms is None
    await wait_until(lambda: has_exited(shard))
    node.shards[1].check()
    assert (await node.shards[1].restart([1], discard_data=True))[0].ok

    async def is_writable() -> bool:
        return await node.send(b"SET a 2") == b"+OK\r\n"

    await wait_until(is_writable)
    [ended_outage] = await wait_until(
        lambda: [each for each in node.proxy.outages.since(0)[1] if each.first_success_ms]
    )
    assert ended_outage.noticed_ms == first_report.noticed_ms
    # The values cover all workers, because the worker that detected the outage might have served no client.
    assert (ended_outage.last_success_ms or 0) <= ended_outage.noticed_ms <= (ended_outage.first_success_ms or 0)
    assert ended_outage.last_success_ms is not None
    await node.end()
    node.start()
    await wait_until(lambda: node.proxy.outages.since(0)[1] == [ended_outage])


async def test_kept_database_is_served_and_keeps_its_port(node: ProxyNode) -> None:
    """The console database does not contain the kept database, and another database requests its uid or port."""
    report = await node.serve()
    assert report.serving is not None
    assert await node.send(b"SET key paid") == b"+OK\r\n"
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
        assert await node.send(b"EXISTS key") == b":1\r\n"
    await node.end()
    node.start()
    await wait_until(lambda: node.proxy.report().state == "running")
    assert await node.send(b"EXISTS key") == b":1\r\n"


async def test_local_shard_with_another_engine_id_is_not_served(node: ProxyNode) -> None:
    await node.end()
    proxy = ProxyProcess(node.settings, lambda _: "f" * 40)
    assert proxy._database(node.state().databases[0])["shards"] == []
    node.start()


async def test_zero_connections_mean_the_default_limit_of_the_proxy(node: ProxyNode) -> None:
    database = node.state().databases[0]
    assert "max_connections" not in node.proxy._database(database)
    assert node.proxy._database(database.model_copy(update={"max_connections": 5}))["max_connections"] == 5
    await node.serve()


async def test_proxy_ends_when_there_are_no_databases(node: ProxyNode) -> None:
    first = await node.serve()
    assert (await node.proxy.apply(ProxyState(threads=1, databases=[]))).state == "absent"
    await wait_until(lambda: not psutil.pid_exists(first.pid or 0) or psutil.Process(first.pid).status() == "zombie")
    # The process is a zombie as soon as its main thread ends. Its sockets close with the last thread.
    await wait_until(lambda: _connect_error(node.settings.address) == errno.ECONNREFUSED)


def _connect_error(address: str) -> int:
    """Return the error number of a connection to the port of the database, or 0 if it is accepted."""
    with socket.socket() as probe:
        return probe.connect_ex((address, PORT))


async def test_port_in_use_is_reported_for_the_database(node: ProxyNode) -> None:
    server = await asyncio.start_server(lambda *_: None, node.settings.address, PORT)
    async with server:
        report = await node.proxy.apply(node.state())
    assert report.state == "running"
    assert list(report.failures) == [1]
    assert "port 12000 is in use" in report.failures[1]


async def test_missing_binary_is_reported(node: ProxyNode) -> None:
    node.settings = replace(node.settings, proxy="/nonexistent/proxy")
    await node.end()
    node.start()
    report = await node.proxy.apply(node.state())
    assert report.state == "died"
    assert "not installed" in report.detail


async def test_no_proxy_is_started_during_a_simulated_outage(node: ProxyNode) -> None:
    first = await node.serve()
    process = psutil.Process(first.pid)
    node.proxy.suspend()
    node.proxy.signal(signal.SIGKILL, node.proxy.pid)
    await wait_until(lambda: node.proxy.report().state == "died")
    await wait_until(lambda: has_exited(process))  # closing its sockets can take some time
    with pytest.raises(OSError, match="Connect call failed"):
        await node.send(b"PING")
    node.proxy.resume()
    await wait_until(lambda: node.proxy.report().pid not in (None, first.pid))


async def test_files_are_readable_only_by_the_owner(node: ProxyNode) -> None:
    await node.serve()
    directory = node.settings.state_dir / "proxy"
    readable_files = {path.name for path in (directory, *directory.iterdir()) if path.stat().st_mode & 0o077}
    assert readable_files == set()


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
async def test_shard_and_proxy_are_pinned_while_clients_write(node: ProxyNode, tmp_path: Path) -> None:
    """Each thread has the cores of the setting, as the kernel reports them, and no write fails."""
    await node.serve()
    shard, proxy = node.shards[1].shards[1].process, psutil.Process(node.proxy.pid)
    assert shard is not None
    pinning = ProcessPinning(tmp_path)
    pinning.attach(node.shards[1].shards, lambda: node.proxy.pid)
    before = (allowed_cores(shard), allowed_cores(proxy))
    first, last = (str(core) for core in (min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))))
    replies: list[bytes] = []

    async def write() -> None:
        while True:
            replies.append(await node.send(b"INCR writes"))

    async def await_writes(number: int) -> None:
        await wait_until(lambda: len(replies) > number)

    writing = asyncio.create_task(write())
    for shards_on, proxy_on in ((first, last), (last, first)):
        setting = CpuPinning(mode="cores", shards=shards_on, proxy=proxy_on)
        assert (await pinning.set(setting)).shards[1].cores == shards_on
        assert (allowed_cores(shard), allowed_cores(proxy)) == ({shards_on}, {proxy_on})
        await await_writes(len(replies) + 100)
    await pinning.set(CpuPinning())
    assert (allowed_cores(shard), allowed_cores(proxy)) == before
    writing.cancel()
    assert replies == [b":%d\r\n" % number for number in range(1, len(replies) + 1)]


def allowed_cores(process: psutil.Process) -> set[str]:
    statuses = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/status")]
    assert len(statuses) > 1
    return {text.partition("Cpus_allowed_list:")[2].split()[0] for text in statuses}
