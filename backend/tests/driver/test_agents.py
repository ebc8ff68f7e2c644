"""Agents that do not behave: what the console makes of silence, nonsense and refusal."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from backend.tests.shards import seconds

from shardboard.agent import key
from shardboard.agent.contract import NODE_FIELDS, ProbeTarget, Sample, protocol
from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.collectors.live import Live, ShardPlace
from shardboard.driver import agents as driver
from shardboard.driver.agents import HttpAgents
from shardboard.driver.ports import NodeRef
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.settings import Settings
from shardboard.tls import PEER_DAYS

ADDRESS = "127.0.0.1"
SAMPLE = Sample(
    seq=1, boot="ab" * 16, t=1000, at=1000.1, node=[0.0] * len(NODE_FIELDS), shards={}, missing={}, died={}
).model_dump_json()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.load(Settings(state_dir=tmp_path_factory.mktemp("console")))


@pytest.fixture
async def agents(authority: Authority) -> AsyncIterator[HttpAgents]:
    client = HttpAgents(authority.client_ssl_context)
    yield client
    await client.close()


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One second of silence instead of three."""
    for name in ("QUICK", "SLOW", "BEAT"):
        monkeypatch.setattr(driver, name, httpx.Timeout(1, connect=60))


@asynccontextmanager
async def impostor(tmp_path: Path, authority: Authority, said: bytes, *, holds_on: bool = False, name: str = ADDRESS):  # type: ignore[no-untyped-def]
    """Says `said` to the first request over proper TLS, then ends the connection, or holds on and says no more."""
    private, csr = key.fresh()
    (tmp_path / "key.pem").write_text(private)
    (tmp_path / "certificate.pem").write_text(authority.sign_agent(csr, name))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "certificate.pem", tmp_path / "key.pem")
    finished = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()
        if holds_on:
            await finished.wait()
        writer.close()

    server = await asyncio.start_server(answer, ADDRESS, 0, ssl=context)
    try:
        yield NodeRef(1, ADDRESS, server.sockets[0].getsockname()[1])
    finally:
        finished.set()
        server.close()


def http(body: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body.encode()) if length is None else length
    spoken = f"{protocol.HEADER}: {protocol.PROTOCOL}"
    return f"HTTP/1.1 {status}\r\n{spoken}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n{body}".encode()


async def test_nobody_listens(agents: HttpAgents) -> None:
    with socket.socket() as taken:
        taken.bind((ADDRESS, 0))
        node = NodeRef(7, ADDRESS, taken.getsockname()[1])
        with pytest.raises(AgentUnreachable) as failure:
            await agents.facts(node)
        assert failure.value.reason.startswith(f"the agent of node 7 ({ADDRESS}:{node.port}) cannot be reached")
        with pytest.raises(AgentUnreachable):
            await anext(seconds(agents.samples(node, 0, "")))


async def test_the_end_of_a_certificate_is_seen_without_a_call(
    agents: HttpAgents, authority: Authority, tmp_path: Path
) -> None:
    async with impostor(tmp_path, authority, b"") as node:
        assert agents.certificate_ends(node.uid) is None
        shown = await agents.look_at_certificate(node)
        assert agents.certificate_ends(node.uid) == shown.ends
        assert timedelta(days=PEER_DAYS - 1) < shown.ends - datetime.now(UTC) < timedelta(days=PEER_DAYS + 1)
        authority.refuse({shown.serial})
        with pytest.raises(AgentUnreachable, match="revoked"):
            await agents.shards(node)
    with pytest.raises(AgentUnreachable):
        await agents.look_at_certificate(node)


async def test_a_certificate_for_another_address(agents: HttpAgents, authority: Authority, tmp_path: Path) -> None:
    async with impostor(tmp_path, authority, http("[]"), name="10.9.9.9") as node:
        with pytest.raises(AgentUnreachable, match="certificate"):
            await agents.shards(node)


@pytest.mark.usefixtures("short")
async def test_no_answer_in_time(agents: HttpAgents, authority: Authority, tmp_path: Path) -> None:
    async with impostor(tmp_path, authority, b"", holds_on=True) as node:
        with pytest.raises(AgentUnreachable, match="did not respond in time"):
            await agents.shards(node)


@pytest.mark.usefixtures("short")
async def test_silence_ends_a_stream_of_samples(agents: HttpAgents, authority: Authority, tmp_path: Path) -> None:
    async with impostor(tmp_path, authority, http(SAMPLE + "\n", length=9999), holds_on=True) as node:
        stream = seconds(agents.samples(node, 0, ""))
        assert (await anext(stream)).seq == 1
        with pytest.raises(AgentUnreachable, match="did not respond in time"):
            await anext(stream)


def test_three_seconds_are_silence() -> None:
    assert driver.BEAT.read == 3


async def test_a_stream_that_breaks_off(agents: HttpAgents, authority: Authority, tmp_path: Path) -> None:
    async with impostor(tmp_path, authority, http(SAMPLE + "\n", length=9999)) as node:
        stream = seconds(agents.samples(node, 0, ""))
        assert (await anext(stream)).seq == 1
        with pytest.raises(AgentUnreachable, match="cannot be reached"):
            await anext(stream)


@pytest.mark.parametrize("status", ["422 Unprocessable Content", "500 Internal Server Error", "404 Not Found"])
async def test_a_refusal_is_permanent(agents: HttpAgents, authority: Authority, tmp_path: Path, status: str) -> None:
    async with impostor(tmp_path, authority, http("{}", status)) as node:
        with pytest.raises(AgentRefused) as refusal:
            await agents.remove(node, {1: "a" * 40})
        assert refusal.value.reason == f"the agent of node 1 returned status {status[:3]} for POST /shards/remove"
    async with impostor(tmp_path, authority, http("{}", status)) as node:
        with pytest.raises(AgentRefused, match=f"returned status {status[:3]} for a request for samples"):
            await anext(seconds(agents.samples(node, 0, "")))


@pytest.mark.parametrize("said", ["not json", "{}", json.dumps({"seq": 1}), '[{"uid": 1}]'])
async def test_nonsense_is_refused_with_a_sentence(
    agents: HttpAgents, authority: Authority, tmp_path: Path, said: str
) -> None:
    """Whatever call it is: an unexpected reply must not pass for a crash of the console."""
    calls = {
        "facts": lambda node: agents.facts(node),
        "shards": lambda node: agents.shards(node),
        "remove": lambda node: agents.remove(node, {1: "a" * 40}),
        "samples": lambda node: anext(seconds(agents.samples(node, 0, ""))),
    }
    for call in calls.values():
        async with impostor(tmp_path, authority, http(said + "\n")) as node:
            with pytest.raises(AgentRefused, match="returned an unexpected response"):
                await call(node)


@pytest.mark.parametrize("length", [0, 3, 200])
async def test_rows_of_other_lengths_are_made_to_fit(
    agents: HttpAgents, authority: Authority, tmp_path: Path, length: int
) -> None:
    endpoint = {"values": [1.0] * length, "errors": {}, "latency": {}}
    proxy = {"seconds": 1.0, "pid": 1, "threads": 1, "cpu": 0.0, "rss": 1, "databases": {1: endpoint}}
    rows = {"node": [1.0] * length, "shards": {1: [1.0] * length}, "tiers": {1: [1.0] * length}, "proxy": proxy}
    said = json.dumps({**json.loads(SAMPLE), **rows, "of_a_later_release": True})
    async with impostor(tmp_path, authority, http(said + "\n", length=9999)) as node:
        found = await anext(seconds(agents.samples(node, 0, "")))
    live = Live(Bus())
    live.set_members({1: ShardPlace(1, 0, 1)})
    live.connect(1)
    live.ingest(1, found)
    live._tell(found.t, live._seconds[found.t])
    assert live.newest == found.t
    assert json.dumps(live.history("shards:1", 5, 0), allow_nan=False)


@pytest.mark.parametrize(
    "wrong",
    [{"boot": "no hex"}, {"t": -1}, {"t": 2**60}, {"pings": {"1": [2**40]}}, {"shards": {"1": 5}}, {"node": ["x"]}],
)
async def test_values_that_no_agent_has_are_refused(
    agents: HttpAgents, authority: Authority, tmp_path: Path, wrong: dict[str, object]
) -> None:
    said = json.dumps({**json.loads(SAMPLE), **wrong})
    async with impostor(tmp_path, authority, http(said + "\n")) as node:
        with pytest.raises(AgentRefused, match="returned an unexpected response"):
            await anext(seconds(agents.samples(node, 0, "")))


async def test_a_witness_that_leaves_shards_out_is_none(
    agents: HttpAgents, authority: Authority, tmp_path: Path
) -> None:
    async with impostor(tmp_path, authority, http("[false]")) as node:
        with pytest.raises(AgentRefused):
            await agents.probe(node, [ProbeTarget(address=ADDRESS, port=20000 + number) for number in range(2)])


def test_addresses_of_version_6_are_bracketed() -> None:
    assert driver._url(NodeRef(1, "fd00::1", 9700), "/facts") == "https://[fd00::1]:9700/facts"
