"""Tests of the HTTP application of simulated agents: one application, and a separate agent at each address."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import httpx
import pytest

from shardboard.agent.cluster.identity import CertificateRenewal
from shardboard.agent.cluster.terms import AcceptedTerm
from shardboard.agent.metrics.sample_ring import SampleRing
from shardboard.contract import NodeFacts
from shardboard.contract.protocol import HEADER, PROTOCOL
from shardboard.contract.terms import TERM_HEADER
from shardboard.driver.interfaces import NodeRef
from shardboard.local.simulation.agent_app import SimulatedNode, create_app
from shardboard.local.simulation.agents import SimulatedAgents

NODES = [NodeRef(uid, f"127.1.1.{uid}", 9700) for uid in (1, 2)]


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    agents = SimulatedAgents()
    agents.nodes = {node.uid: node for node in NODES}
    nodes = {}
    for node in NODES:
        (state := tmp_path / node.addr).mkdir()
        renewal = cast("CertificateRenewal", None)
        nodes[node.addr] = SimulatedNode(node, renewal, SampleRing(), AcceptedTerm(state))
    transport = httpx.ASGITransport(create_app(agents, nodes))
    async with httpx.AsyncClient(transport=transport, headers={HEADER: str(PROTOCOL)}) as client:
        yield client


def url(node: NodeRef, path: str) -> str:
    return f"https://{node.addr}:{node.port}{path}"


async def test_each_address_is_a_separate_machine(http: httpx.AsyncClient) -> None:
    replies = [await http.get(url(node, "/facts")) for node in NODES]
    facts = [NodeFacts.model_validate(reply.json()) for reply in replies]
    assert [each.addresses for each in facts] == [["127.1.1.1"], ["127.1.1.2"]]
    assert len({each.machine_id for each in facts}) == 2
    assert replies[0].headers[HEADER] == str(PROTOCOL)


async def test_outdated_term_is_refused_by_the_agent_that_knows_a_newer_one(http: httpx.AsyncClient) -> None:
    statuses = [
        (await http.get(url(NODES[node], "/shards"), headers={TERM_HEADER: f"{term} console"})).status_code
        for node, term in ((0, 5), (0, 4), (1, 4))
    ]
    assert statuses == [200, 409, 200]


async def test_copies_are_kept_until_they_are_not_listed(http: httpx.AsyncClient) -> None:
    copy = {"name": "cluster", "term": 1, "counter": 1, "content": "…"}
    kept = await http.post(url(NODES[0], "/recovery_copies"), json={"copies": [copy], "names": ["cluster"]})
    assert [each["name"] for each in kept.json()] == ["cluster"]
    assert (await http.post(url(NODES[0], "/recovery_copies/read"), json={"name": "cluster"})).json() == [copy]
    assert (await http.get(url(NODES[1], "/recovery_copies"))).json() == []
    unchanged = await http.post(url(NODES[0], "/recovery_copies"), json={})
    assert [each["name"] for each in unchanged.json()] == ["cluster"]
    assert (await http.post(url(NODES[0], "/recovery_copies"), json={"names": []})).json() == []


@pytest.mark.parametrize("path", ["/transfers/start", "/loads/start", "/drill", "/shards/move_slots"])
async def test_calls_that_are_not_simulated_are_unknown(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.post(url(NODES[0], path), json={})).status_code == 404


async def test_lost_node_is_unavailable(http: httpx.AsyncClient) -> None:
    assert (await http.get("https://127.1.1.3:9700/facts")).status_code == 503
