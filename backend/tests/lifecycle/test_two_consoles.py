"""Two consoles on one PostgreSQL database: each serves all requests, one leads, and the other takes over."""

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.support.consoles.clusters_on_postgres import cluster_on_postgres, writing

from shardboard.agent.settings import AgentSettings
from shardboard.contract.terms import Term, parse_term
from shardboard.domain.cluster.agent_reach import HOLD_SECONDS
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.terms import TermRefused
from shardboard.kit.bus import Bus
from shardboard.local.cluster import LocalCluster, ok
from shardboard.local.consoles import ConsolePair, console_pair
from shardboard.pki.console_ca import ConsoleCa
from shardboard.services.cluster.console_certificates import load_or_create
from shardboard.settings import Settings
from shardboard.store.db import Store
from shardboard.store.store_key import store_keys

POSTGRES = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")
TAKE_OVER_SECONDS = 10.0
"""Limit on an overloaded machine. On an idle one, a take-over takes less than 2 s."""
CUT_GROUP = 61_001
"""Group of the console that is cut off from agents."""
log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs PostgreSQL (scripts/with-postgres)"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with (
        cluster_on_postgres(tmp_path_factory.mktemp("cluster")) as unstarted,
        database_helpers.running(unstarted) as running,
    ):
        yield running


@pytest.fixture(scope="module")
def pair(cluster: LocalCluster) -> Iterator[ConsolePair]:
    with console_pair(cluster) as consoles:
        yield consoles


def accepted_terms(cluster: LocalCluster) -> list[Term]:
    """Return the newest term that each agent has accepted."""
    files = (cluster.directory / "agents" / address / "term" for address in cluster.addresses)
    terms = [parse_term(file.read_text().strip()) for file in files]
    return [term for term in terms if term is not None]


def wait_for_new_term(cluster: LocalCluster, before: int) -> None:
    cluster.wait_until(
        lambda: all(term.number > before for term in accepted_terms(cluster)), "the agents do not know the new term"
    )


def test_another_console_takes_over_and_fails_over_after_the_leader_was_killed(
    cluster: LocalCluster, pair: ConsolePair
) -> None:
    """The leader is killed together with a node that has primaries."""
    leader, other = pair.by_role()
    fields = database_helpers.request_body(3, replication=True)
    uid: int = ok(other.api.post("/v1/bdbs", json=fields))["uid"]
    assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    database_helpers.wait_until_replicated(cluster, uid)
    [term] = set(accepted_terms(cluster))
    victim = cluster.addresses[2]
    with writing(other):
        start = time.monotonic()
        cluster.kill(leader.name)
        cluster.kill_node(victim)
        seconds = pair.wait_for_leader(other)

        def is_failed_over() -> bool:
            rows = ok(other.api.get(f"/v1/bdbs/{uid}/shards"))
            return all(row["address"] != victim for row in rows if row["role"] == "master")

        cluster.wait_until(is_failed_over, "the primaries of the lost node are not failed over")
        failover_seconds = time.monotonic() - start
        pair.start(leader)
    log.info("take-over %.2f s, failover with a new leader %.2f s", seconds, failover_seconds)
    assert seconds < TAKE_OVER_SECONDS
    assert not leader.leads()
    [change] = [each for each in ok(other.api.get("/v1/logs")) if each["type"] == "leader_changed"][-1:]
    assert change["reason"] == "expired"
    cluster.start_agents()
    wait_for_new_term(cluster, term.number)


def test_a_frozen_leader_is_replaced_and_its_requests_are_refused(cluster: LocalCluster, pair: ConsolePair) -> None:
    leader, other = pair.by_role()
    outdated = accepted_terms(cluster)[0]
    with writing(other):
        leader.process.send_signal(signal.SIGSTOP)
        try:
            seconds = pair.wait_for_leader(other)
            wait_for_new_term(cluster, outdated.number)
        finally:
            leader.process.send_signal(signal.SIGCONT)
        cluster.wait_until(lambda: leader.state()["status"] == "running" and not leader.leads(), "it does not follow")
    log.info("take-over from a frozen leader %.2f s", seconds)
    assert seconds < TAKE_OVER_SECONDS
    assert other.leads()
    [newest] = set(accepted_terms(cluster))
    with writing(leader) as writes:
        cluster.wait_until(lambda: writes.count >= 10, "it does not serve requests again")
    asyncio.run(check_refusal(cluster, NodeRef(1, cluster.addresses[0], AgentSettings("").port), outdated))
    assert set(accepted_terms(cluster)) == {newest}


async def check_refusal(cluster: LocalCluster, node: NodeRef, outdated: Term) -> None:
    """Check that the agent refuses a request that the former leader could have sent before it was frozen."""

    class Outdated:
        term: Term | None = outdated

        async def update(self, newest: int) -> bool:
            return False

    settings = Settings(state_dir=cluster.directory, database_url=cluster.environment["SHARDBOARD_DATABASE_URL"])
    store = Store(settings.store_url, Bus(), store_keys(settings))
    ca = ConsoleCa(await load_or_create(store, cluster.directory / "tls"), settings)
    agents = HttpAgents(ca.client_ssl_context, Outdated())
    with pytest.raises(TermRefused):
        await agents.shards(node)
    await agents.close()
    await store.close()


def test_a_planned_change_of_the_leader_fails_no_request(cluster: LocalCluster, pair: ConsolePair) -> None:
    leader, other = pair.by_role()
    uid = other.state()["uid"]
    with writing(leader), writing(other):
        for console in (leader, other):
            console.api.get("/v1/nodes").raise_for_status()
        ok(leader.api.post(f"/v1/consoles/{uid}/actions/lead"))
        seconds = pair.wait_for_leader(other)
        cluster.wait_until(lambda: not leader.leads(), "both lead")
    log.info("planned change of the leader %.2f s", seconds)
    assert seconds < TAKE_OVER_SECONDS


def test_a_stopped_leader_is_replaced_at_once(cluster: LocalCluster, pair: ConsolePair) -> None:
    leader, other = pair.by_role()
    with writing(other):
        pair.stop(leader)
        seconds = pair.wait_for_leader(other)
    log.info("take-over from a stopped leader %.2f s", seconds)
    assert seconds < TAKE_OVER_SECONDS
    stopped = [each for each in ok(other.api.get("/v1/consoles")) if not each["is_current"]]
    assert [each["status"] for each in stopped] == ["stopped"]
    pair.start(leader)


@contextmanager
def agents_unreachable(cluster: LocalCluster, group: int) -> Iterator[None]:
    """Drop all packets between agents and the processes of a group, in both directions, as a failed network does."""
    table = f"inet shardboard_cut_{group}"
    addresses, port = ", ".join(cluster.addresses), AgentSettings("").port
    rules = f"""
        add table {table}
        add chain {table} sent {{ type filter hook output priority 0; }}
        add rule {table} sent meta skgid {group} ip daddr {{ {addresses} }} tcp dport {port} ct mark set {group} drop
        add chain {table} received {{ type filter hook input priority 0; }}
        add rule {table} received ct mark {group} drop
    """
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", *table.split()], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("nft"), reason="needs root and nftables")
def test_a_leader_that_reaches_no_agents_hands_over(cluster: LocalCluster, pair: ConsolePair) -> None:
    """It still reaches the store, so it does not lose the lease."""
    pair.stop(pair.second)
    pair.start_second(["setpriv", "--regid", str(CUT_GROUP), "--clear-groups"])
    pair.stop(pair.first)  # a leader that was chosen by a user would stay for a minute
    pair.wait_for_leader(pair.second)
    pair.start(pair.first)
    cluster.wait_until(lambda: pair.first.state()["agents_reached"] == 3, "the other console does not reach the agents")
    with agents_unreachable(cluster, CUT_GROUP), writing(pair.first), writing(pair.second):
        seconds = pair.wait_for_leader(pair.first, 60)
        cluster.wait_until(lambda: pair.second.state()["agents_reached"] == 0, "the former leader reaches agents")
        assert not pair.second.leads()
        # The former leader has recorded the nodes as lost.
        cluster.wait_until(lambda: len(cluster.connected()) == 3, "the new leader does not record connected nodes")
        uid = ok(pair.first.api.post("/v1/bdbs", json=database_helpers.request_body(1)))["uid"]
        assert database_helpers.wait_until_settled(cluster, uid)["status"] == "active"
    log.info("take-over from a leader that is cut off from agents %.2f s", seconds)
    assert seconds > HOLD_SECONDS
    [change] = [each for each in ok(pair.first.api.get("/v1/logs")) if each["type"] == "leader_changed"][-1:]
    assert change["reason"] == "more_agents"
    cluster.wait_until(lambda: pair.second.state()["agents_reached"] == 3, "the former leader does not reach agents")
    assert pair.first.leads()
