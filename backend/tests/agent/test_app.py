"""Tests of the agent API with mutual TLS, real Valkey processes and the client of the console."""

import asyncio
import ssl
import stat
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import psutil
import pytest
from backend.tests.support.certificates import SignedCertificate, sign
from backend.tests.support.consoles.console_ca import new_console_ca, restarted
from backend.tests.support.real_shards import (
    PASSWORD,
    find_engines,
    has_exited,
    kill_engines,
    standalone_shard,
    start_request,
    wait_until,
    without_pulses,
)
from backend.tests.support.running_agent import ADDRESS, running_agent

from shardboard.agent import logs
from shardboard.agent.cluster import key_generation
from shardboard.agent.databases.engine import engine_version
from shardboard.contract import (
    ChangePassword,
    Drill,
    MoveSlots,
    ReadHotSlots,
    RenewCertificates,
    Sample,
    ShardCommand,
    ShardTls,
)
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.errors import AgentRefused, AgentUnreachable
from shardboard.pki.certificate_state import new_ca
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.tls import serial_of
from shardboard.settings import Settings

ENGINE_IDS = {uid: f"{uid:040x}" for uid in (1, 9)}


def not_yet_valid_ca() -> SignedCertificate:
    """Return a CA certificate that is not valid yet."""
    return sign("early", names=(), usage=None, valid_from=timedelta(hours=1))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> ConsoleCa:
    return new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("console")))


@pytest.fixture
def root(tmp_path: Path) -> AsyncIterator[Path]:  # type: ignore[misc]
    yield tmp_path / "agent"
    kill_engines(tmp_path)  # the engines of the next test use the same ports


@pytest.fixture
async def agent(root: Path, authority: ConsoleCa) -> AsyncIterator[NodeRef]:
    async with running_agent(root, authority) as node:
        yield node


@pytest.fixture
async def agents(authority: ConsoleCa) -> AsyncIterator[HttpAgents]:
    client = HttpAgents(authority.client_ssl_context)
    yield client
    await client.close()


async def test_facts_describe_this_machine(agent: NodeRef, agents: HttpAgents) -> None:
    facts = await agents.facts(agent)
    assert facts.total_memory == psutil.virtual_memory().total
    assert facts.cores == psutil.cpu_count()
    assert facts.engine_version == engine_version("valkey-server")
    assert facts.engine_version.split(".")[0].isdigit()
    assert facts.machine_id


async def _check_requests_for_another_engine_id(agents: HttpAgents, agent: NodeRef) -> None:
    """Check that requests with another engine ID do not affect the shard with this uid."""
    other = "f" * 40
    before = await agents.shards(agent)
    await agents.remove(agent, {1: other})
    assert [each.ok for each in await agents.restart(agent, {1: other}, discard_data=True)] == [False]
    assert [each.ok for each in await agents.kill_hung(agent, {1: other})] == [False]
    flush = ShardCommand(uid=1, engine_id=other, argv=["FLUSHALL"])
    assert [each.ok for each in await agents.command(agent, [flush])] == [False]
    assert await agents.change_password(agent, ChangePassword(bdb_uid=1, engine_ids=[other], password="x")) == []
    tls = ShardTls(cas="a", certificate="c", key="k")
    assert await agents.renew_certificates(agent, RenewCertificates(bdb_uid=1, engine_ids=[other], tls=tls)) == []
    [counts] = await agents.hot_slots(agent, ReadHotSlots(uids=[1], engine_ids={1: other}, by="key_count", limit=1))
    assert counts.reason == "shard 1 does not run on this node"
    move = MoveSlots(
        uid=1, engine_id=other, target_engine_id="0" * 40, address=ADDRESS, port=20000, slots=[(0, 9)], seconds=1
    )
    assert (await agents.move_slots(agent, move)).reason == "shard 1 does not run on this node"
    assert (await agents.logs(agent, {1: other})).shards == {}
    assert await agents.drill(agent, Drill(id="other", kind="kill_shard", seconds=1, uid=1, engine_ids=[other])) == ""
    assert await agents.shards(agent) == before


async def test_shard_lifecycle_over_the_api(agent: NodeRef, agents: HttpAgents, root: Path) -> None:
    assert await agents.shards(agent) == []
    [outcome] = await agents.start(agent, start_request(standalone_shard(1)))
    assert outcome.ok
    [report] = await agents.shards(agent)
    assert (report.uid, report.state, report.engine_id) == (1, "running", standalone_shard(1).engine_id)
    results = await agents.command(
        agent,
        [
            ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["SET", "key", "värde"]),
            ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["GET", "key"]),
            ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["INCR", "key"]),
            ShardCommand(uid=9, engine_id=ENGINE_IDS[9], argv=["PING"]),
        ],
    )
    assert [(result.uid, result.ok) for result in results] == [(1, True), (1, True), (1, False), (9, False)]
    assert results[1].reply == "värde"
    assert results[2].reply == "ERR value is not an integer or out of range"
    assert results[3].reply == "shard 9 does not run on this node"
    await _check_requests_for_another_engine_id(agents, agent)
    assert all(outcome.ok for outcome in await agents.remove(agent, {1: ENGINE_IDS[1]}))
    assert await agents.shards(agent) == []
    assert not find_engines(root)


async def test_last_lines_of_logs_are_returned(
    agent: NodeRef, agents: HttpAgents, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await agents.logs(agent, {1: ENGINE_IDS[1]})).shards == {}
    await agents.start(agent, start_request(standalone_shard(1)))
    logs_reply = await agents.logs(agent, ENGINE_IDS)
    assert "Ready to accept connections" in logs_reply.shards[1]
    (root / "proxy").mkdir(exist_ok=True)
    (root / "proxy" / "proxy.log").write_bytes(b"first\nsecond \xff\nthird\n")
    assert set(logs_reply.shards) == {1}
    assert (await agents.logs(agent, {})).shards == {}
    assert (await agents.logs(agent, {})).proxy == "first\nsecond \ufffd\nthird\n"
    monkeypatch.setattr(logs, "PROXY_LOG_BYTES", 9)  # only complete lines are returned
    monkeypatch.setattr(logs, "ALL_SHARDS_LOG_BYTES", 100)
    logs_reply = await agents.logs(agent, ENGINE_IDS)
    assert logs_reply.proxy == "third\n"
    assert 0 < len(logs_reply.shards[1]) < 100


async def test_dead_shard_is_reported_immediately(agent: NodeRef, agents: HttpAgents, root: Path) -> None:
    await agents.start(agent, start_request(standalone_shard(1)))
    [victim] = find_engines(root)
    victim.kill()
    await wait_until(lambda: has_exited(victim))
    [report] = await agents.shards(agent)
    assert (report.state, report.pid) == ("died", None)
    [result] = await agents.command(agent, [ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["PING"])])
    assert not result.ok


async def test_sample_stream_resumes_after_the_last_received_sample(agent: NodeRef, agents: HttpAgents) -> None:
    await agents.start(agent, start_request(standalone_shard(1)))
    stream = without_pulses(agents.samples(agent, 0, ""))
    samples = [await anext(stream)]
    while len(samples) < 2 or not samples[-1].shards:  # samples from before the start of the shard
        samples.append(await anext(stream))
    await stream.aclose()  # type: ignore[attr-defined]
    assert [sample.seq for sample in samples] == list(range(1, len(samples) + 1))
    assert list(samples[-1].shards) == [1]
    async for sample in without_pulses(agents.samples(agent, samples[0].seq, samples[0].boot)):
        assert sample == samples[1]
        break
    async for sample in without_pulses(agents.samples(agent, samples[1].seq, "another boot")):
        assert sample == samples[0]
        break


async def test_shards_keep_running_when_the_agent_stops(root: Path, authority: ConsoleCa, agents: HttpAgents) -> None:
    async with running_agent(root, authority) as node:
        await agents.start(node, start_request(standalone_shard(1)))
        [before] = await agents.shards(node)
    assert len(find_engines(root)) == 1
    async with running_agent(root, authority) as node:
        assert await agents.shards(node) == [before]


async def test_parking_agent_stops_and_restarts_its_shards(
    root: Path, authority: ConsoleCa, agents: HttpAgents
) -> None:
    async with running_agent(root, authority, park=True) as node:
        await agents.start(node, start_request(standalone_shard(1)))
        await agents.command(node, [ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["SET", "key", "value"])])
    assert not find_engines(root)
    async with running_agent(root, authority, park=True) as node:
        [result] = await agents.command(node, [ShardCommand(uid=1, engine_id=ENGINE_IDS[1], argv=["GET", "key"])])
        assert result.reply == "value"


async def test_open_stream_does_not_delay_agent_shutdown(root: Path, authority: ConsoleCa, agents: HttpAgents) -> None:
    async with asyncio.timeout(30):
        async with running_agent(root, authority) as node:
            stream = without_pulses(agents.samples(node, 0, ""))
            await anext(stream)
        with pytest.raises(AgentUnreachable, match="cannot be reached"):
            await exhaust(stream)


async def exhaust(samples: AsyncIterator[Sample]) -> None:
    async for _ in samples:
        pass


async def test_only_the_console_can_connect(agent: NodeRef, authority: ConsoleCa, root: Path) -> None:
    url = f"https://{agent.addr}:{agent.port}/shards"
    without_certificate = ssl.create_default_context(cafile=str(authority.ca_file))
    other_agent = ssl.create_default_context(cafile=str(authority.ca_file))
    other_agent.load_cert_chain(root / "tls" / "agent.pem")
    for context in (without_certificate, other_agent):
        async with httpx.AsyncClient(verify=context, trust_env=False) as other_client:
            with pytest.raises(httpx.TransportError):
                await other_client.get(url)
    async with httpx.AsyncClient(trust_env=False) as plain:
        with pytest.raises(httpx.TransportError):
            await plain.get(url.replace("https", "http"))


async def test_agent_and_another_console_reject_each_other(agent: NodeRef, tmp_path: Path) -> None:
    other = new_console_ca(Settings(state_dir=tmp_path / "other"))
    context = other.client_ssl_context()
    agents = HttpAgents(lambda: context)
    with pytest.raises(
        AgentUnreachable,
        match=r"node 1 .* belongs to another console, .* its certificate was issued by another CA",
    ):
        await agents.shards(agent)
    # The agent rejects the client even if the client does not verify the agent.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    trusting_agents = HttpAgents(lambda: context)
    with pytest.raises(AgentUnreachable, match="cannot be reached"):
        await trusting_agents.shards(agent)
    for client in (agents, trusting_agents):
        await client.close()


async def test_all_consoles_of_a_store_can_connect(agent: NodeRef, authority: ConsoleCa, tmp_path: Path) -> None:
    second = restarted(authority, Settings(state_dir=tmp_path / "second"))
    client = HttpAgents(second.client_ssl_context)
    assert await client.shards(agent) == []
    await client.close()


async def test_requests_outside_the_contract_are_rejected(agent: NodeRef, authority: ConsoleCa, root: Path) -> None:
    base = f"https://{agent.addr}:{agent.port}"
    body = start_request(standalone_shard(1)).model_dump()
    async with httpx.AsyncClient(verify=authority.client_ssl_context(), base_url=base, trust_env=False) as console:
        assert (await console.post("/shards/start", json=body | {"surprise": 1})).status_code == 422
        body["shards"][0]["engine_id"] = "../../etc"
        assert (await console.post("/shards/start", json=body)).status_code == 422
        assert (await console.get("/docs")).status_code == 404
    assert not find_engines(root)


async def test_shard_secrets_are_not_reported(agent: NodeRef, agents: HttpAgents) -> None:
    await agents.start(agent, start_request(standalone_shard(1), client_password="clients-own"))
    [report] = await agents.shards(agent)
    assert PASSWORD not in report.model_dump_json()
    assert "clients-own" not in report.model_dump_json()


async def test_certificate_is_renewed_without_restart(
    agent: NodeRef, agents: HttpAgents, authority: ConsoleCa, root: Path
) -> None:
    first = await agents.read_certificate(agent)
    request = await agents.request_certificate(agent)
    with pytest.raises(AgentRefused, match="rejected its new certificate: the certificate does not match the key"):
        await agents.install_certificate(agent, authority.sign_agent(key_generation.generate()[1], ADDRESS, 30))
    assert await agents.read_certificate(agent) == first
    renewed = authority.sign_agent(request, ADDRESS, 30)
    for _ in range(2):  # a console that received no answer repeats the request
        await agents.install_certificate(agent, renewed)
    certificate = await agents.read_certificate(agent)
    assert timedelta(days=29) < certificate.valid_until - datetime.now(UTC) < timedelta(days=31)
    assert (agents.certificate_expiry(agent.uid), serial_of(renewed)) == (certificate.valid_until, certificate.serial)
    assert await agents.shards(agent) == [], "existing connections stay open"
    file = root / "tls" / "agent.pem"
    assert file.read_text().startswith(renewed)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {path.name for path in (root / "tls").iterdir()} == {"agent.pem", "ca.pem"}


async def test_unrequested_certificate_is_rejected(agent: NodeRef, agents: HttpAgents, authority: ConsoleCa) -> None:
    with pytest.raises(AgentRefused, match="made no certificate request"):
        await agents.install_certificate(agent, authority.sign_agent(key_generation.generate()[1], ADDRESS))


async def test_ca_is_replaced_without_restart(tmp_path: Path, root: Path) -> None:
    """Replace the CA of a running agent.

    Console and agent can connect in every step. At the end, certificates of the previous CA are rejected and connections that
    use them are closed.
    """
    ca = new_console_ca(Settings(state_dir=tmp_path / "console"))
    before = new_console_ca(Settings(state_dir=tmp_path / "before"))
    before.apply(ca.state)
    agents = HttpAgents(ca.client_ssl_context)
    async with running_agent(root, ca) as agent:
        (stolen_certificate := tmp_path / "stolen.pem").write_text(ca.state.client)
        with pytest.raises(AgentRefused, match=r"rejected the CA certificates: .*do not accept its certificate"):
            await agents.set_trusted_cas(agent, new_ca().pem, "")
        with pytest.raises(AgentRefused, match=r"rejected the CA certificates: .*its files are not usable"):
            await agents.set_trusted_cas(agent, "nonsense", "")
        with pytest.raises(AgentRefused, match="is not valid yet by this machine's clock"):
            await agents.set_trusted_cas(agent, ca.ca_pem + not_yet_valid_ca().pem, "")
        ca.apply(ca.state.announcing())
        await agents.set_trusted_cas(agent, ca.trusted, ca.bundle)
        ca.apply(ca.state.switched())
        ca.renew()
        assert not ca.state.is_issued_by_current((await agents.read_certificate(agent)).signing_key)
        assert await agents.shards(agent) == []
        await agents.install_certificate(agent, ca.sign_agent(await agents.request_certificate(agent), ADDRESS))
        assert ca.state.is_issued_by_current((await agents.read_certificate(agent)).signing_key)
        stolen_context = ssl.create_default_context(cadata=ca.ca_pem)
        stolen_context.load_cert_chain(stolen_certificate)
        stolen_client = HttpAgents(lambda: stolen_context)
        assert await stolen_client.shards(agent) == [], "the previous CA is still trusted"
        open_stream = stolen_client.samples(agent, 0, "")
        await anext(open_stream)
        ca.apply(ca.state.without_former())
        await agents.set_trusted_cas(agent, ca.trusted, ca.bundle)
        assert await agents.shards(agent) == []
        assert (root / "tls" / "ca.pem").read_text() == ca.ca_pem
        with pytest.raises(AgentUnreachable):
            async for _ in open_stream:
                pass
        with pytest.raises(AgentUnreachable, match="cannot be reached"):
            await stolen_client.shards(agent)
        with pytest.raises(AgentUnreachable, match="its certificate was issued by another CA"):
            await (previous_client := HttpAgents(before.client_ssl_context)).shards(agent)
        for client in (stolen_client, previous_client, agents):
            await client.close()


async def test_running_calls_survive_a_change_of_trust(agent: NodeRef, agents: HttpAgents) -> None:
    """A client with outdated trust is closed when its last call ends."""
    async with agents._borrow_client() as first, agents._borrow_client() as second:
        assert first is second
        contexts = iter([ssl.create_default_context()])
        agents._tls = lambda: agents._http.tls if (new := next(contexts, None)) is None else new
        async with agents._borrow_client() as third:
            assert third is not first
        assert not first.is_closed
    assert first.is_closed
    assert not third.is_closed
