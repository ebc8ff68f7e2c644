"""Tests of the collection of the newest copies from agents."""

import json
from functools import partial
from typing import Any

import pytest
from backend.tests.support.agents_by_address import NODES, AgentsByAddress

from shardboard.contract.recovery_copies import CopyVersion
from shardboard.driver.data.recovery_reading import Collected, CopyCollector, NoCopies
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.pki.recovery_seal import seal, unseal
from shardboard.pki.signer import CertificateAuthority

CA, OTHER_CA = CertificateAuthority.create("a", 10), CertificateAuthority.create("b", 10)


@pytest.fixture
def agents() -> AgentsByAddress:
    return AgentsByAddress()


def put(
    agents: FakeAgents, node: int, name: str, order: tuple[int, int], content: Any, ca: CertificateAuthority = CA
) -> None:
    version = CopyVersion(name=name, term=order[0], counter=order[1])
    agents.recovery_copies[node][name] = seal(ca, version, json.dumps(content).encode())


def cluster(*uids: int, **databases: str) -> dict[str, Any]:
    rows = [{"uid": node.uid, "addr": node.addr, "agent_port": node.port} for node in NODES if node.uid in uids]
    return {"nodes": rows, "databases": {name.removeprefix("bdb"): value for name, value in databases.items()}}


async def collect(agents: FakeAgents, *seeds: int) -> Collected:
    chosen = [NodeRef(-uid, f"10.0.0.{uid}", 9700) for uid in seeds or (1,)]
    return await CopyCollector(agents, partial(unseal, CA)).collect(chosen)


async def test_one_node_is_enough_to_find_all(agents: AgentsByAddress) -> None:
    """Node 1 was cut off while node 3 joined, and has an old copy of the database."""
    put(agents, 1, "cluster", (1, 9), cluster(1, 2, bdb1="shop"))
    put(agents, 1, "bdb-1", (1, 8), {"state": "old"})
    put(agents, 2, "cluster", (2, 1), cluster(1, 2, 3, bdb1="shop"))
    put(agents, 3, "bdb-1", (2, 4), {"state": "new"})
    found = await collect(agents)
    assert found.problems == []
    assert found.cluster.version == (2, 1)
    assert found.databases[1].content == {"state": "new"}
    assert set(found.reports) == {1, 2, 3}


async def test_forged_copy_is_not_used(agents: AgentsByAddress) -> None:
    """The agent of node 2 returns copies that pretend to be newer."""
    put(agents, 1, "cluster", (1, 9), cluster(1, 2, bdb1="shop"))
    put(agents, 1, "bdb-1", (1, 8), {"state": "true"})
    put(agents, 2, "cluster", (1, 9), cluster(1, 2, bdb1="shop"))
    put(agents, 2, "bdb-1", (9, 9), {"state": "forged"}, OTHER_CA)
    found = await collect(agents)
    assert found.databases[1].content == {"state": "true"}
    assert [problem for problem in found.problems if "another console CA" in problem]
    assert [problem for problem in found.problems if "An older one was found" in problem]


async def test_replayed_version_is_forged(agents: AgentsByAddress) -> None:
    put(agents, 1, "cluster", (1, 1), cluster(1, bdb1="shop"))
    put(agents, 1, "bdb-1", (1, 2), {})
    agents.recovery_copies[1]["bdb-1"] = agents.recovery_copies[1]["bdb-1"].model_copy(update={"term": 9})
    found = await collect(agents)
    assert not found.databases
    assert "No usable copy of database 1 (shop) was found." in found.problems


async def test_a_second_holder_of_the_same_version_is_enough(agents: AgentsByAddress) -> None:
    for node in (1, 2):
        put(agents, node, "cluster", (1, 1), cluster(1, 2, bdb1="shop"))
        put(agents, node, "bdb-1", (1, 2), {"state": "new"})
    agents.recovery_copies[1]["bdb-1"] = agents.recovery_copies[1]["bdb-1"].model_copy(update={"content": "{"})
    found = await collect(agents)
    assert found.problems == []
    assert found.databases[1].content == {"state": "new"}


async def test_deleted_databases_are_not_rebuilt(agents: AgentsByAddress) -> None:
    put(agents, 1, "cluster", (1, 5), cluster(1))
    put(agents, 1, "bdb-1", (1, 2), {})
    found = await collect(agents)
    assert (found.databases, found.deleted, found.problems) == ({}, [1], [])


async def test_silent_nodes_are_problems(agents: AgentsByAddress) -> None:
    put(agents, 1, "cluster", (1, 5), cluster(1, 2))
    agents.unreachable = {2}
    found = await collect(agents)
    assert [problem for problem in found.problems if problem.startswith("The copies of 10.0.0.2 could not be read")]
    assert set(found.reports) == {1}


async def test_copies_of_another_cluster_are_refused(agents: AgentsByAddress) -> None:
    put(agents, 1, "cluster", (1, 5), cluster(1), OTHER_CA)
    with pytest.raises(NoCopies, match="another console CA"):
        await collect(agents)
    with pytest.raises(NoCopies, match="No agent has a usable copy"):
        await collect(agents, 2)
