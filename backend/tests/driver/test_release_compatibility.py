"""Tests of console and agent of adjacent releases. The previous release rejects unknown fields in both directions."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from backend.tests.collectors.samples import BOOT
from backend.tests.contract import previous_contract as before
from backend.tests.contract import protocol_2
from backend.tests.support.consoles.console_ca import new_console_ca
from backend.tests.support.real_shards import standalone_shard, start_request, wait_until, without_pulses
from backend.tests.support.running_agent import ADDRESS, identity_of
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shardboard import contract
from shardboard.agent import routes
from shardboard.agent.app import create_app
from shardboard.agent.cluster.identity import AgentPort, CertificateRenewal
from shardboard.agent.settings import AgentSettings
from shardboard.contract import (
    ENDPOINT_FIELDS,
    NODE_FIELDS,
    SHARD_FIELDS,
    EndpointReading,
    MoveSlots,
    NodeFacts,
    ProbeTarget,
    ProxyCanary,
    ProxyDatabase,
    ProxyReading,
    ProxyState,
    ReadHotSlots,
    RenewCertificates,
    Sample,
    ShardCommand,
    ShardReport,
    ShardTls,
    TierSpec,
    protocol,
)
from shardboard.contract.base import Message, Reply
from shardboard.driver.agents import HttpAgents
from shardboard.driver.fake_agents import FACTS
from shardboard.driver.interfaces import Drill, NodeRef
from shardboard.errors import AgentRefused
from shardboard.pki.console_ca import ConsoleCa
from shardboard.settings import Settings


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> ConsoleCa:
    return new_console_ca(Settings(state_dir=tmp_path_factory.mktemp("console")))


@asynccontextmanager
async def console_client(authority: ConsoleCa) -> AsyncIterator[HttpAgents]:
    """Return a console client. Its connections close before the server stops, because the server waits for them."""
    client = HttpAgents(authority.client_ssl_context)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def serve_app(app: Any, root: Path, authority: ConsoleCa) -> AsyncIterator[NodeRef]:
    context = identity_of(root, authority).context()
    server = uvicorn.Server(
        uvicorn.Config(app, host=ADDRESS, port=0, log_level="warning", ssl_context_factory=lambda *_: context)
    )
    task = asyncio.create_task(server.serve())
    try:
        await wait_until(lambda: server.started)
        yield NodeRef(1, ADDRESS, server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        await task


def facts_before() -> before.NodeFacts:
    return before.NodeFacts(**FACTS.model_dump(include=set(before.NodeFacts.model_fields)))


def sample_before() -> before.Sample:
    row = [1.0] * len(before.SHARD_FIELDS)
    endpoint = before.EndpointReading(values=[2.0] * len(before.ENDPOINT_FIELDS), errors={}, latency={})
    proxy = before.ProxyReading(seconds=1.0, pid=1, threads=1, cpu=0.0, rss=1, databases={1: endpoint})
    node = [0.0] * len(before.NODE_FIELDS)
    return before.Sample(
        seq=1,
        boot=BOOT,
        t=1000,
        at=1000.1,
        node=node,
        shards={1: row},
        missing={},
        died={},
        pings={1: [7]},
        proxy=proxy,
    )


async def handle_facts() -> before.NodeFacts:
    return facts_before()


async def handle_start(payload: before.StartShards) -> list[before.ShardOutcome]:
    return [before.ShardOutcome(uid=shard.uid, ok=True) for shard in payload.shards]


async def handle_uids(payload: Any) -> list[before.ShardOutcome]:
    return [before.ShardOutcome(uid=uid, ok=True) for uid in (*payload.uids, 99)]


async def handle_commands(commands: list[before.ShardCommand]) -> list[before.CommandResult]:
    return [before.CommandResult(uid=command.uid, ok=True) for command in commands]


async def handle_move_slots(payload: before.MoveSlots) -> before.SlotsMoved:
    return before.SlotsMoved(count=len(payload.slots), keys=0)


async def handle_probe(targets: list[before.ProbeTarget]) -> list[bool]:
    return [True] * len(targets)


async def handle_apply_proxy(_: before.ProxyState) -> before.ProxyReport:
    return before.ProxyReport(state="absent")


async def handle_drill(drill: before.Drill) -> before.DrillReply:
    return before.DrillReply(refused="not root" if drill.kind == "cut_off" else "")


async def handle_samples(_: Request) -> Response:
    return Response(sample_before().model_dump_json().encode() + b"\n")


OWN_IDS, OTHER_IDS = {1: f"{1:040x}"}, {1: "f" * 40}


async def handle_shards() -> list[before.ShardReport]:
    return [
        before.ShardReport(
            uid=1, bdb_uid=1, engine_id=OWN_IDS[1], state="running", pid=1, started_at=1.0, run_id="r", detail=""
        )
    ]


def agent_before() -> Starlette:
    """Return an agent with all endpoints and message types of the previous release."""
    return Starlette(
        routes=[
            routes.route_without_body("/facts", handle_facts),
            routes.route_without_body("/shards", handle_shards),
            routes.post_route("/shards/start", before.StartShards, handle_start),
            routes.post_route("/shards/restart", before.RestartShards, handle_uids),
            routes.post_route("/shards/remove", before.RemoveShards, handle_uids),
            routes.post_route("/shards/command", list[before.ShardCommand], handle_commands),
            routes.post_route("/shards/move_slots", before.MoveSlots, handle_move_slots),
            routes.post_route("/probe", list[before.ProbeTarget], handle_probe),
            routes.post_route("/proxy/apply", before.ProxyState, handle_apply_proxy),
            routes.post_route("/drill", before.Drill, handle_drill),
            Route("/samples", handle_samples),
        ]
    )


async def check_encrypted_databases_are_left_out(agents: HttpAgents, node: NodeRef, database: ProxyDatabase) -> None:
    """Check that the agent probes and serves unencrypted databases, and that others are reported as failures."""
    targets = [ProbeTarget(address=ADDRESS, port=20000 + number, tls=number != 1) for number in range(3)]
    assert await agents.probe(node, targets) == [False, True, False]
    with pytest.raises(AgentRefused):
        await agents.probe(node, targets[:1])
    encrypted = database.model_copy(update={"uid": 2, "shard_tls": ShardTls(cas="a", certificate="c", key="k")})
    report = await agents.apply_proxy(node, ProxyState(threads=1, databases=[database, encrypted]))
    assert list(report.failures) == [2]


async def test_agent_of_the_previous_release_works(authority: ConsoleCa, tmp_path: Path) -> None:
    payload = start_request(standalone_shard(1))
    async with serve_app(agent_before(), tmp_path, authority) as node, console_client(authority) as agents:
        assert (await agents.facts(node)).hostname == FACTS.hostname
        assert [each.uid for each in await agents.start(node, payload)] == [1]
        assert [each.uid for each in await agents.restart(node, OWN_IDS, discard_data=False)] == [1], (
            "the unrequested outcome for 99 is ignored"
        )
        assert [each.uid for each in await agents.remove(node, OWN_IDS, dead_only=True)] == [1]
        ping = ShardCommand(uid=1, engine_id=OWN_IDS[1], argv=["PING"])
        assert [each.uid for each in await agents.command(node, [ping])] == [1]
        move = MoveSlots(
            uid=1,
            engine_id=OWN_IDS[1],
            target_engine_id="0" * 40,
            address=ADDRESS,
            port=20000,
            slots=[(1, 2)],
            seconds=1,
        )
        assert (await agents.move_slots(node, move)).count == 1
        assert await agents.probe(node, [ProbeTarget(address=ADDRESS, port=20000)]) == [True]
        assert (await agents.apply_proxy(node, ProxyState(threads=1, databases=[]))).state == "absent"
        canary = ProxyCanary(user="canary", password="x", interval_ms=100)
        database = ProxyDatabase(
            uid=1, port=12000, hides_cluster=True, cluster=True, version=1, tls=False, max_connections=0, shards=[],
            endpoints=[], canary=canary,
        )  # fmt: skip
        assert (await agents.apply_proxy(node, ProxyState(threads=1, databases=[database]))).state == "absent"
        await check_encrypted_databases_are_left_out(agents, node, database)
        assert await agents.drill(node, Drill(id="x", kind="kill", seconds=1)) == ""
        assert await agents.drill(node, Drill(id="y", kind="cut_off", seconds=1)) == "not root"
        sample = await anext(without_pulses(agents.samples(node, 0, "")))
        assert (len(sample.node), len(sample.shards[1])) == (len(NODE_FIELDS), len(SHARD_FIELDS))
        assert sample.node[len(before.NODE_FIELDS) :] == [None] * (len(NODE_FIELDS) - len(before.NODE_FIELDS))
        assert sample.proxy is not None
        assert sample.proxy.databases[1].connections == 2
        tier_request = payload.model_copy(
            update={"bdb": payload.bdb.model_copy(update={"tier": TierSpec(ram_limit=1, flash_limit=1)})}
        )
        threads = payload.model_copy(update={"bdb": payload.bdb.model_copy(update={"io_threads": 2})})
        slots = ReadHotSlots(uids=[1], engine_ids=OWN_IDS, by="cpu_usec", limit=1)
        for unknown_call in (
            *(agents.start(node, changed) for changed in (tier_request, threads)),
            *(agents.stop_load(node, "0" * 32), agents.hot_slots(node, slots), agents.request_certificate(node)),
        ):
            with pytest.raises(
                AgentRefused, match=r"runs an older release and does not support POST .*; upgrade the agent"
            ):
                await unknown_call


async def test_agent_of_the_previous_release_gets_no_foreign_requests(authority: ConsoleCa, tmp_path: Path) -> None:
    """The previous release cannot compare engine IDs, so the console compares them."""
    async with serve_app(agent_before(), tmp_path, authority) as node, console_client(authority) as agents:
        for _ in range(2):  # the second time, the console knows the protocol of the agent
            assert [(each.uid, each.ok) for each in await agents.remove(node, OTHER_IDS)] == [(1, True)]
            assert [each.ok for each in await agents.restart(node, OTHER_IDS, discard_data=True)] == [False]
            ping = ShardCommand(uid=1, engine_id=OTHER_IDS[1], argv=["PING"])
            assert [each.ok for each in await agents.command(node, [ping])] == [False]
            move = MoveSlots(
                uid=1,
                engine_id=OTHER_IDS[1],
                target_engine_id="0" * 40,
                address=ADDRESS,
                port=20000,
                slots=[],
                seconds=1,
            )
            assert (await agents.move_slots(node, move)).count == 0
            with pytest.raises(AgentRefused):
                await agents.drill(node, Drill(id="x", kind="reboot", seconds=1, engine_ids=[OTHER_IDS[1]]))
            assert await agents.drill(node, Drill(id="x", kind="reboot", seconds=1, engine_ids=[OWN_IDS[1]])) == ""


async def test_console_of_the_previous_release_works(authority: ConsoleCa, tmp_path: Path) -> None:
    """The previous release sends no protocol number and parses replies with its own messages."""
    identity = identity_of(tmp_path, authority)
    app = create_app(
        AgentSettings(address=ADDRESS, state_dir=tmp_path, park=False),
        CertificateRenewal(identity, AgentPort(identity)),
    )
    async with (
        serve_app(app, tmp_path, authority) as node,
        httpx.AsyncClient(verify=authority.client_ssl_context(), base_url=f"https://{ADDRESS}:{node.port}") as console,
    ):
        before.NodeFacts.model_validate_json((await console.get("/facts")).content)
        assert (await console.get("/shards")).json() == []
        before.ProxyReport.model_validate_json((await console.get("/proxy")).content)
        async with console.stream("GET", "/samples") as reply:
            lines = reply.aiter_lines()
            line = ""
            while not line:
                line = await anext(lines)
        parsed = before.Sample.model_validate_json(line)
        assert len(parsed.node) == len(before.NODE_FIELDS)
        refused = await console.get("/facts", headers={protocol.HEADER: "9"})
        assert (refused.status_code, refused.headers[protocol.HEADER]) == (426, str(protocol.PROTOCOL))
        assert "is too new " in refused.text


def test_new_shard_fields_are_omitted_for_the_previous_release() -> None:
    report = ShardReport(
        uid=1, bdb_uid=1, engine_id=OWN_IDS[1], state="running", pid=1, started_at=1.0, run_id="r", port=20000, memory=5
    )
    [parsed] = json.loads(routes._json([report], protocol.FIRST_PROTOCOL).body)
    before.ShardReport.model_validate(parsed)
    assert json.loads(routes._json([report], protocol.PROTOCOL).body)[0]["port"] == 20000


def test_new_fields_and_columns_are_omitted_for_the_previous_release() -> None:
    facts = NodeFacts(**{**FACTS.model_dump(), "flash_path": "/flash", "flash_size": 5})
    assert before.NodeFacts.model_validate_json(routes._json(facts, protocol.FIRST_PROTOCOL).body) == facts_before()
    assert json.loads(routes._json(facts, protocol.PROTOCOL).body)["flash_size"] == 5
    row: list[float | None] = [1.0] * len(SHARD_FIELDS)
    latency = {"read": [(5, 1)], "blocking": [(9, 1)]}
    endpoint = EndpointReading.model_validate(
        {"values": [1.0] * len(ENDPOINT_FIELDS), "errors": {}, "latency": latency}
    )
    sample = Sample(
        seq=1,
        boot=BOOT,
        t=1,
        at=1.0,
        node=[0.0] * len(NODE_FIELDS),
        shards={1: row},
        tiers={1: row},
        missing={},
        died={},
        proxy=ProxyReading(seconds=1, pid=1, threads=1, cpu=0, rss=0, databases={1: endpoint}),
    )
    line = protocol.downgrade_line(sample.model_dump_json().encode() + b"\n", protocol.FIRST_PROTOCOL)
    assert line.endswith(b"\n")
    parsed = before.Sample.model_validate_json(line)
    assert (len(parsed.node), len(parsed.shards[1])) == (len(before.NODE_FIELDS), len(before.SHARD_FIELDS))
    assert parsed.proxy is not None
    endpoint_reading = parsed.proxy.databases[1]
    assert (len(endpoint_reading.values), list(endpoint_reading.latency)) == (len(before.ENDPOINT_FIELDS), ["read"])
    assert protocol.downgrade_line(b"\n", protocol.FIRST_PROTOCOL) == b"\n"


@pytest.mark.parametrize("message", protocol_2.MESSAGES, ids=lambda each: type(each).__name__)
def test_renamed_fields_are_compatible_with_protocol_2(message: protocol_2.Reply | protocol_2.Request) -> None:
    message_json = message.model_dump_json()
    current: Any = getattr(contract, type(message).__name__).model_validate_json(message_json)
    values = message.model_dump()
    renamed: Mapping[str, str] = current.previous_names
    assert renamed
    for name in type(current).model_fields:
        if (previous := renamed.get(name, name)) in values:  # others were added since
            assert getattr(current, name) == values[previous], name
    if isinstance(message, protocol_2.Reply):
        [downgraded] = json.loads(bytes(routes._json([current], 2).body))
        assert {name: downgraded[name] for name in values} == json.loads(message_json)
        assert json.loads(bytes(routes._json(current, 3).body)).keys() == type(current).model_fields.keys()
    else:
        assert type(message).model_validate_json(current.model_dump_json(exclude_defaults=True)) == message
    assert type(current).model_validate_json(current.model_dump_json()) == current


def test_nested_and_streamed_messages_have_the_names_of_protocol_2() -> None:
    check, outage = protocol_2.MESSAGES[0], protocol_2.MESSAGES[7]
    facts = NodeFacts.model_validate({**FACTS.model_dump(), "host": [check.model_dump()]})
    [downgraded_check] = json.loads(bytes(routes._json(facts, 2).body))["host"]
    assert protocol_2.HostCheck.model_validate(downgraded_check) == check
    assert check.model_dump().items() <= downgraded_check.items()
    assert facts.model_dump()["host"][0]["remedy"] == "sysctl"
    reported = contract.Outage.model_validate(outage.model_dump())
    sample = Sample(
        seq=1, boot=BOOT, t=1, at=1.0, node=[0.0] * len(NODE_FIELDS), shards={}, missing={}, died={}, outages=[reported]
    )
    line = sample.model_dump_json().encode() + b"\n"
    assert protocol.downgrade_line(line, protocol.PROTOCOL) == line
    downgraded = protocol.downgrade_line(line, 2)
    assert downgraded.endswith(b"\n")
    assert protocol_2.Outage.model_validate(json.loads(downgraded)["outages"][0]) == outage
    assert Sample.model_validate_json(downgraded) == sample
    without_outages = sample.model_copy(update={"outages": []}).model_dump_json().encode() + b"\n"
    assert protocol.downgrade_line(without_outages, 2) == without_outages


def agent_of_protocol_2(received: list[dict[str, Any]]) -> Starlette:
    """Return an agent that rejects unknown fields and sends the names of protocol 2."""

    async def renew(request: Request) -> Response:
        body = await request.json()
        received.append(body)
        protocol_2.ShardTls.model_validate(body["tls"])
        return Response("[]", headers=header)

    async def refuse(_: Request) -> Response:
        return Response(protocol_2.CertificateReply(refused="disk full").model_dump_json(), headers=header)

    async def command(request: Request) -> Response:
        received.append((await request.json())[0])
        return Response("[]", headers=header)

    header = {protocol.HEADER: "2"}
    return Starlette(
        routes=[
            Route("/shards/certificates", renew, methods=["POST"]),
            Route("/certificate", refuse, methods=["POST"]),
            Route("/shards/command", command, methods=["POST"]),
        ]
    )


async def test_agent_of_protocol_2_works(authority: ConsoleCa, tmp_path: Path) -> None:
    received: list[dict[str, Any]] = []
    async with (
        serve_app(agent_of_protocol_2(received), tmp_path, authority) as node,
        console_client(authority) as agents,
    ):
        tls = ShardTls(cas="CA", certificate="c", key="k")
        await agents.renew_certificates(node, RenewCertificates(bdb_uid=1, engine_ids=[OWN_IDS[1]], tls=tls))
        with pytest.raises(AgentRefused, match="disk full"):
            await agents.install_certificate(node, "x")
        await agents.command(node, [ShardCommand(uid=1, engine_id=OWN_IDS[1], argv=["PING"])])
    assert received[0]["tls"] == {"authorities": "CA", "certificate": "c", "key": "k"}
    assert received[1]["engine_id"] == OWN_IDS[1], "protocol 2 compares engine ids"


async def test_console_of_protocol_2_receives_previous_names(authority: ConsoleCa, tmp_path: Path) -> None:
    identity = identity_of(tmp_path, authority)
    app = create_app(
        AgentSettings(address=ADDRESS, state_dir=tmp_path, park=False),
        CertificateRenewal(identity, AgentPort(identity)),
    )
    async with (
        serve_app(app, tmp_path, authority) as node,
        httpx.AsyncClient(verify=authority.client_ssl_context(), base_url=f"https://{ADDRESS}:{node.port}") as console,
    ):
        for number, name in ((2, "refused"), (3, "error")):
            reply = await console.post(
                "/certificate", json={"certificate": "x"}, headers={protocol.HEADER: str(number)}
            )
            assert reply.json() == {name: "it has made no certificate request since it started"}


@pytest.mark.parametrize(("agent_protocol", "direction"), [(str(protocol.PROTOCOL + 2), "new"), ("x", "old")])
async def test_incompatible_release_is_rejected_with_a_message(
    authority: ConsoleCa, tmp_path: Path, agent_protocol: str, direction: str
) -> None:
    async def answer(_: Request) -> Response:
        return Response("[]", headers={protocol.HEADER: agent_protocol})

    app = Starlette(routes=[Route("/{anything:path}", answer)])
    async with serve_app(app, tmp_path, authority) as node, console_client(authority) as agents:
        for call in (agents.shards(node), anext(without_pulses(agents.samples(node, 0, "")))):
            with pytest.raises(AgentRefused, match=f"the agent of node 1 is too {direction} "):
                await call


@pytest.mark.parametrize(
    "agent_protocol", [None, str(protocol.PROTOCOL - 1), str(protocol.PROTOCOL), str(protocol.PROTOCOL + 1)]
)
def test_adjacent_releases_are_compatible(agent_protocol: str | None) -> None:
    assert protocol.incompatibility(protocol.protocol_from_header(agent_protocol), "the agent") == ""


def message_versions() -> list[tuple[type[Message], type[before.Message]]]:
    """Return the current and the previous version of every message of the previous release."""
    versions = [(getattr(contract, name, None), previous_type) for name, previous_type in vars(before).items()]
    pairs = [
        (now, previous_type) for now, previous_type in versions if isinstance(now, type) and issubclass(now, Message)
    ]
    assert len(pairs) > 15
    return pairs


@pytest.mark.parametrize(("now", "previous_type"), message_versions())
def test_message_changes_are_compatible_with_the_previous_release(
    now: type[Message], previous_type: type[before.Message]
) -> None:
    renamed: Mapping[str, str] = getattr(now, "previous_names", {})
    added = {name for name in now.model_fields if renamed.get(name, name) not in previous_type.model_fields}
    current = {renamed.get(name, name) for name in now.model_fields}
    assert not previous_type.model_fields.keys() - current, "the previous release requires this field"
    assert all(not now.model_fields[name].is_required() for name in added)
    if issubclass(now, Reply):
        assert added == protocol.ADDED_FIELDS.get(now.__name__, set()), (
            "a console of the previous release rejects this field"
        )


@pytest.mark.parametrize("rows", ["NODE_FIELDS", "SHARD_FIELDS", "ENDPOINT_FIELDS"])
def test_new_columns_are_appended(rows: str) -> None:
    previous_fields: tuple[str, ...] = getattr(before, rows)
    assert getattr(contract, rows)[: len(previous_fields)] == previous_fields
