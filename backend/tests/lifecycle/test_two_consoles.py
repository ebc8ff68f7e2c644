"""Two consoles on one PostgreSQL database: each serves all requests, one leads, and the other takes over."""

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import asyncpg
import httpx
import pytest
from backend.tests.scenarios import database_helpers
from backend.tests.support.consoles.second_console import ConsolePair, ConsoleProcess, console_pair

from shardboard.agent.settings import AgentSettings
from shardboard.contract.terms import Term, parse_term
from shardboard.driver.agents import HttpAgents
from shardboard.driver.interfaces import NodeRef
from shardboard.driver.terms import TermRefused
from shardboard.kit.bus import Bus
from shardboard.local.cluster import LocalCluster, ok, private_cluster
from shardboard.pki.console_ca import ConsoleCa
from shardboard.services.cluster.console_certificates import load_or_create
from shardboard.settings import Settings
from shardboard.store.db import Store
from shardboard.store.store_key import store_keys

POSTGRES = os.environ.get("SHARDBOARD_TEST_POSTGRES_URL", "")
TAKE_OVER_SECONDS = 10.0
"""Limit on an overloaded machine. On an idle one, a take-over takes less than 2 s."""
log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.store,
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="needs PostgreSQL (scripts/with-postgres)"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    name = f"consoles_{uuid4().hex}"

    async def execute(statement: str) -> None:
        connection = await asyncpg.connect(POSTGRES.replace("+asyncpg", ""))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute(f"CREATE DATABASE {name}"))
    environment = {"SHARDBOARD_DATABASE_URL": f"{POSTGRES.rpartition('/')[0]}/{name}"}
    started = private_cluster(tmp_path_factory.mktemp("cluster"), nodes=3, environment=environment)
    with database_helpers.running(started) as running_cluster:
        yield running_cluster
    asyncio.run(execute(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="module")
def pair(cluster: LocalCluster) -> Iterator[ConsolePair]:
    with console_pair(cluster) as consoles:
        yield consoles


class Writes:
    """Results of the requests that a thread sends to one console."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.count = 0


@contextmanager
def writing(console: ConsoleProcess) -> Iterator[Writes]:
    """Change a setting in the store over and over through this console. No request may fail."""
    ended, writes = threading.Event(), Writes()

    def write() -> None:
        while not ended.wait(0.05):
            body = {"events_keep_days": 100 + writes.count % 100}
            try:
                reply = console.api.put("/v1/cluster/policy", json=body)
                if reply.status_code != 200:
                    writes.failures.append(reply.text)
            except httpx.TransportError as error:
                writes.failures.append(repr(error))
            writes.count += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield writes
    finally:
        ended.set()
        thread.join()
    assert writes.count
    assert writes.failures == []


def accepted_terms(cluster: LocalCluster) -> list[Term]:
    """Return the newest term that each agent has accepted."""
    files = (cluster.directory / "agents" / address / "term" for address in cluster.addresses)
    terms = [parse_term(file.read_text().strip()) for file in files]
    return [term for term in terms if term is not None]


def wait_for_new_term(cluster: LocalCluster, before: int) -> None:
    cluster.wait_until(
        lambda: all(term.number > before for term in accepted_terms(cluster)), "the agents do not know the new term"
    )


def measure_take_over(pair: ConsolePair, successor: ConsoleProcess) -> float:
    start = time.monotonic()
    pair.cluster.poll_seconds = 0.02
    # The killed console is still a child that has ended, so this does not use `LocalCluster.wait_until`.
    while not successor.leads():
        assert time.monotonic() - start < 30, "the other console does not lead"
        time.sleep(0.02)
    return time.monotonic() - start


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
        seconds = measure_take_over(pair, other)

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
            seconds = measure_take_over(pair, other)
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
        seconds = measure_take_over(pair, other)
        cluster.wait_until(lambda: not leader.leads(), "both lead")
    log.info("planned change of the leader %.2f s", seconds)
    assert seconds < TAKE_OVER_SECONDS


def test_a_stopped_leader_is_replaced_at_once(cluster: LocalCluster, pair: ConsolePair) -> None:
    leader, other = pair.by_role()
    with writing(other):
        leader.process.terminate()
        leader.process.wait(20)
        cluster.children.pop(leader.name)
        seconds = measure_take_over(pair, other)
    log.info("take-over from a stopped leader %.2f s", seconds)
    assert seconds < TAKE_OVER_SECONDS
    stopped = [each for each in ok(other.api.get("/v1/consoles")) if not each["is_current"]]
    assert [each["status"] for each in stopped] == ["stopped"]
    pair.start(leader)
