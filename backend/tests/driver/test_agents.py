"""Tests of how the console handles agents that do not answer, send invalid data or reject requests."""

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import without_pulses

from shardboard.agent.cluster import key_generation
from shardboard.collectors.metrics.live_metrics import LiveMetrics, ShardPlace
from shardboard.contract import NODE_FIELDS, NodeLogs, ProbeTarget, Sample, protocol
from shardboard.driver import agent_budgets, replies
from shardboard.driver import agents as driver
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentOutdated, AgentRefused, AgentUnreachable
from shardboard.kit.bus import Bus
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.tls import PEER_DAYS
from shardboard.settings import Settings

ADDRESS = "127.0.0.1"
SAMPLE = Sample(
    seq=1, boot="ab" * 16, t=1000, at=1000.1, node=[0.0] * len(NODE_FIELDS), shards={}, missing={}, died={}
).model_dump_json()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> ConsoleCa:
    return new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("console")))


@pytest.fixture
async def agents(authority: ConsoleCa) -> AsyncIterator[HttpAgents]:
    client = HttpAgents(authority.client_ssl_context)
    yield client
    await client.close()


@pytest.fixture
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the timeouts from three seconds to one."""
    for name in ("SHORT_TIMEOUT", "LONG_TIMEOUT", "STREAM_TIMEOUT"):
        monkeypatch.setattr(driver, name, httpx.Timeout(1, connect=60))


@asynccontextmanager
async def fake_agent(  # type: ignore[no-untyped-def]
    tmp_path: Path,
    authority: ConsoleCa,
    response: bytes,
    *,
    keep_open: bool = False,
    name: str = ADDRESS,
    endless: bytes = b"",
    pause: float = 0.0,
):
    """Answer the first request over valid TLS with the given bytes, and with `endless` again and again. Then close the connection
    or keep it open silently."""
    key, csr = key_generation.generate()
    (tmp_path / "key.pem").write_text(key)
    (tmp_path / "certificate.pem").write_text(authority.sign_agent(csr, name))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    finished = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response)
        await writer.drain()
        with suppress(OSError):
            while endless and not finished.is_set():
                writer.write(endless)
                await writer.drain()
                await asyncio.sleep(pause)
        if keep_open:
            await finished.wait()
        writer.close()

    server = await asyncio.start_server(answer, ADDRESS, 0, ssl=context)
    try:
        yield NodeRef(1, ADDRESS, server.sockets[0].getsockname()[1])
    finally:
        finished.set()
        server.close()


def http_reply(body: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body.encode()) if length is None else length
    version_line = f"{protocol.HEADER}: {protocol.PROTOCOL}"
    return f"HTTP/1.1 {status}\r\n{version_line}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n{body}".encode()


async def test_agent_that_does_not_listen_is_unreachable(agents: HttpAgents) -> None:
    with socket.socket() as unused:
        unused.bind((ADDRESS, 0))
        node = NodeRef(7, ADDRESS, unused.getsockname()[1])
        with pytest.raises(AgentUnreachable) as failure:
            await agents.facts(node)
        assert failure.value.reason.startswith(f"the agent of node 7 ({ADDRESS}:{node.port}) cannot be reached")
        with pytest.raises(AgentUnreachable):
            await anext(without_pulses(agents.samples(node, 0, "")))


async def test_certificate_expiry_is_known_after_connecting(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    async with fake_agent(tmp_path, authority, b"") as node:
        assert agents.certificate_expiry(node.uid) is None
        served_certificate = await agents.read_certificate(node)
        assert agents.certificate_expiry(node.uid) == served_certificate.valid_until
        assert (
            timedelta(days=PEER_DAYS - 1)
            < served_certificate.valid_until - datetime.now(UTC)
            < timedelta(days=PEER_DAYS + 1)
        )
        authority.reject_certificates({served_certificate.serial})
        with pytest.raises(AgentUnreachable, match="revoked"):
            await agents.shards(node)
    with pytest.raises(AgentUnreachable):
        await agents.read_certificate(node)


async def test_certificate_for_another_address_is_rejected(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    async with fake_agent(tmp_path, authority, http_reply("[]"), name="10.9.9.9") as node:
        with pytest.raises(AgentUnreachable, match="certificate"):
            await agents.shards(node)


@pytest.mark.usefixtures("short_timeouts")
async def test_agent_of_another_console_is_reported_as_such(agents: HttpAgents, tmp_path: Path) -> None:
    other = new_console_ca(Settings(state_dir=tmp_path / "other"))
    async with fake_agent(tmp_path, other, http_reply("[]")) as node:
        with pytest.raises(
            AgentUnreachable, match=r"belongs to another console, .* its certificate was issued by another CA"
        ):
            await agents.shards(node)


async def test_agent_that_does_not_answer_in_time_is_unreachable(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    async with fake_agent(tmp_path, authority, b"", keep_open=True) as node:
        with pytest.raises(AgentUnreachable, match="did not respond in time"):
            await agents.shards(node)


@pytest.mark.usefixtures("short_timeouts")
async def test_sample_stream_without_data_times_out(agents: HttpAgents, authority: ConsoleCa, tmp_path: Path) -> None:
    async with fake_agent(tmp_path, authority, http_reply(SAMPLE + "\n", length=9999), keep_open=True) as node:
        stream = without_pulses(agents.samples(node, 0, ""))
        assert (await anext(stream)).seq == 1
        with pytest.raises(AgentUnreachable, match="did not respond in time"):
            await anext(stream)


def test_sample_stream_timeout_is_three_seconds() -> None:
    assert driver.STREAM_TIMEOUT.read == 3


async def test_interrupted_sample_stream_is_reported(agents: HttpAgents, authority: ConsoleCa, tmp_path: Path) -> None:
    async with fake_agent(tmp_path, authority, http_reply(SAMPLE + "\n", length=9999)) as node:
        stream = without_pulses(agents.samples(node, 0, ""))
        assert (await anext(stream)).seq == 1
        with pytest.raises(AgentUnreachable, match="cannot be reached"):
            await anext(stream)


async def test_missing_call_is_reported_as_an_older_agent(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    """An agent of an older build can have the same protocol."""
    async with fake_agent(tmp_path, authority, http_reply("{}", "404 Not Found")) as node:
        with pytest.raises(AgentOutdated) as refusal:
            await agents.remove(node, {1: "a" * 40})
    assert refusal.value.reason == (
        "the agent of node 1 runs an older release and does not support POST /shards/remove; upgrade the agent"
    )


@pytest.mark.parametrize("status", ["422 Unprocessable Content", "500 Internal Server Error"])
async def test_http_error_is_reported_as_refusal(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, status: str
) -> None:
    async with fake_agent(tmp_path, authority, http_reply("{}", status)) as node:
        with pytest.raises(AgentRefused) as refusal:
            await agents.remove(node, {1: "a" * 40})
        assert refusal.value.reason == f"the agent of node 1 returned status {status[:3]} for POST /shards/remove"
    async with fake_agent(tmp_path, authority, http_reply("{}", status)) as node:
        with pytest.raises(AgentRefused, match=f"returned status {status[:3]} for a request for samples"):
            await anext(without_pulses(agents.samples(node, 0, "")))


@pytest.mark.parametrize("response", ["not json", "{}", json.dumps({"seq": 1}), '[{"uid": 1}]'])
async def test_invalid_replies_are_rejected_with_a_message(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, response: str
) -> None:
    """For every call, an unexpected reply must not cause an internal error of the console."""
    calls = {
        "facts": lambda node: agents.facts(node),
        "shards": lambda node: agents.shards(node),
        "remove": lambda node: agents.remove(node, {1: "a" * 40}),
        "samples": lambda node: anext(without_pulses(agents.samples(node, 0, ""))),
    }
    for call in calls.values():
        async with fake_agent(tmp_path, authority, http_reply(response + "\n")) as node:
            with pytest.raises(AgentRefused, match="returned an unexpected response"):
                await call(node)


@pytest.mark.parametrize("length", [0, 3, 200])
async def test_rows_of_other_lengths_are_adjusted(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, length: int
) -> None:
    endpoint = {"values": [1.0] * length, "errors": {}, "latency": {}}
    proxy = {"seconds": 1.0, "pid": 1, "threads": 1, "cpu": 0.0, "rss": 1, "databases": {1: endpoint}}
    rows = {"node": [1.0] * length, "shards": {1: [1.0] * length}, "tiers": {1: [1.0] * length}, "proxy": proxy}
    response = json.dumps({**json.loads(SAMPLE), **rows, "of_a_later_release": True})
    async with fake_agent(tmp_path, authority, http_reply(response + "\n", length=9999)) as node:
        sample = await anext(without_pulses(agents.samples(node, 0, "")))
    live = LiveMetrics(Bus())
    live.set_members({1: ShardPlace(1, 0, 1)})
    live.connect(1)
    live.ingest(1, sample)
    live._publish(sample.t, live._seconds[sample.t])
    assert live.newest == sample.t
    assert json.dumps(live.history("shards:1", 5, 0), allow_nan=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"at": float("inf")},
        {"boot": "no hex"},
        {"t": -1},
        {"t": 2**60},
        {"pings": {"1": [2**40]}},
        {"shards": {"1": 5}},
        {"shards": {"1": [float("nan")]}},
        {"died": {"-1": ""}},
        {"node": ["x"]},
    ],
)
async def test_samples_with_invalid_values_are_rejected(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, changes: dict[str, object]
) -> None:
    response = json.dumps({**json.loads(SAMPLE), **changes})
    async with fake_agent(tmp_path, authority, http_reply(response + "\n")) as node:
        with pytest.raises(AgentRefused, match="returned an unexpected response"):
            await anext(without_pulses(agents.samples(node, 0, "")))


async def test_probe_reply_of_wrong_length_is_rejected(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    async with fake_agent(tmp_path, authority, http_reply("[false]")) as node:
        with pytest.raises(AgentRefused):
            await agents.probe(node, [ProbeTarget(address=ADDRESS, port=20000 + number) for number in range(2)])


def test_ipv6_addresses_are_bracketed() -> None:
    assert driver._url(NodeRef(1, "fd00::1", 9700), "/facts") == "https://[fd00::1]:9700/facts"


HEAD = f"HTTP/1.1 200 OK\r\n{protocol.HEADER}: {protocol.PROTOCOL}\r\n".encode()


@pytest.mark.parametrize("head", [HEAD, HEAD + b"Content-Length: 9000000\r\n\r\n"])
async def test_slow_reply_ends_with_the_total_timeout(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(driver, "SHORT_TIMEOUT", httpx.Timeout(0.2, connect=0.5))
    async with fake_agent(tmp_path, authority, head, endless=b" ", pause=0.05) as node, asyncio.timeout(5):
        with pytest.raises(AgentUnreachable, match="did not respond in time"):
            await agents.facts(node)


async def test_reply_over_the_limit_is_refused(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies.FACTS, "max_bytes", 1 << 20)
    head = HEAD + b"Content-Length: 9000000000\r\n\r\n"
    async with fake_agent(tmp_path, authority, head, endless=b" " * 65_536) as node, asyncio.timeout(5):
        with pytest.raises(AgentRefused, match="response of more than 1 MiB"):
            await agents.facts(node)


async def test_reply_in_too_many_parts_is_refused(agents: HttpAgents, authority: ConsoleCa, tmp_path: Path) -> None:
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    async with fake_agent(tmp_path, authority, head, endless=b"1\r\n \r\n" * 10_000) as node, asyncio.timeout(5):
        with pytest.raises(AgentRefused, match="response in too many parts"):
            await agents.facts(node)


async def test_an_agent_that_sends_a_line_over_the_limit_is_cut_off(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path
) -> None:
    limit = 100_000
    async with fake_agent(tmp_path, authority, HEAD + b"\r\n" + SAMPLE.encode() + b"\n", endless=b"0" * 9_999) as node:
        stream = without_pulses(agents.samples(node, 0, "", lambda: limit))
        assert (await anext(stream)).seq == 1
        limit = 200_000  # applies to open streams
        reason = "it sent a line of more than 195 KiB"
        with pytest.raises(AgentUnreachable, match=reason):
            await anext(stream)
        assert agents.cut_off_reason(node.uid) == reason
        for call in (agents.facts(node), anext(without_pulses(agents.samples(node, 0, "")))):
            with pytest.raises(AgentUnreachable, match=f"cut off the agent of node 1, because {reason}"):
                await call


async def test_an_agent_that_sends_more_than_its_budget_is_cut_off(
    agents: HttpAgents, authority: ConsoleCa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_budgets, "MAX_BYTES", 1 << 20)
    head = HEAD + b"Content-Length: 9000000\r\n\r\n"
    async with fake_agent(tmp_path, authority, head, endless=b" " * 65_536) as node, asyncio.timeout(5):
        with pytest.raises(AgentUnreachable, match="cut off"):
            await agents.facts(node)
    assert agents.cut_off_reason(node.uid) == "it sent more than 16 MiB per second"


async def test_logs_of_other_shards_are_ignored(agents: HttpAgents, authority: ConsoleCa, tmp_path: Path) -> None:
    body = NodeLogs(agent="a", shards={1: "one", 2: "two"}).model_dump_json()
    async with fake_agent(tmp_path, authority, http_reply(body)) as node:
        assert (await agents.logs(node, {1: "a" * 40})).shards == {1: "one"}


async def test_compressed_reply_is_not_decompressed(agents: HttpAgents, authority: ConsoleCa, tmp_path: Path) -> None:
    body = gzip.compress(b"[" + b" " * 1_000_000 + b"]")
    head = HEAD + f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with fake_agent(tmp_path, authority, head + body) as node:
        with pytest.raises(AgentRefused, match="unexpected response"):
            await agents.shards(node)


@pytest.mark.parametrize(("part", "pause"), [(b"X-A: b\r\n", 0.05), (b"X-A: " + b"b" * 8_000 + b"\r\n", 0.0)])
async def test_endless_header_of_a_sample_stream_ends(
    agents: HttpAgents,
    authority: ConsoleCa,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: bytes,
    pause: float,
) -> None:
    monkeypatch.setattr(driver, "STREAM_TIMEOUT", httpx.Timeout(0.5, connect=2))
    async with fake_agent(tmp_path, authority, HEAD, endless=part, pause=pause) as node, asyncio.timeout(5):
        with pytest.raises(AgentUnreachable):
            await anext(without_pulses(agents.samples(node, 0, "")))
