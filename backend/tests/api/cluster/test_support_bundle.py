"""Tests of support bundles: complete, and without secrets."""

import csv
import errno
import io
import json
import logging
import tarfile
import time
from array import array

import httpx
import pytest
from backend.tests.support import active_database

from shardboard.console import Console
from shardboard.contract.canary import info_section
from shardboard.domain.cluster.support_bundle import SupportBundle
from shardboard.domain.metrics.rollup import TopicFrame
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeLogs
from shardboard.errors import BadRequest
from shardboard.kit import log_buffer
from shardboard.services.cluster import support_bundle as service
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb
from shardboard.state.metrics import metric_history

pytestmark = pytest.mark.store_in_all
CLUSTER_BUNDLE = "/v1/cluster/debuginfo"


def files(reply: httpx.Response) -> dict[str, str]:
    """Return the content of the archive, by path below its directory."""
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/x-gzip"
    with tarfile.open(fileobj=io.BytesIO(reply.content), mode="r:gz") as archive:
        content = {}
        for entry in archive.getmembers():
            extracted = archive.extractfile(entry)
            assert extracted is not None
            directory, _, path = entry.name.partition("/")
            assert reply.headers["content-disposition"] == f'attachment; filename="{directory}.tar.gz"'
            content[path] = extracted.read().decode()
        return content


async def test_bundle_describes_the_cluster(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    agents.logged[1] = NodeLogs(agent="hello\n", proxy="served\n", shards={1: "born\n", 99: "of nobody\n"})
    agents.unreachable.add(2)
    bundle = files(await client.get(CLUSTER_BUNDLE))
    assert json.loads(bundle["version.json"])["store"] in ("sqlite", "postgresql")
    assert json.loads(bundle["cluster.json"]) == {
        name: value
        for name, value in (await client.get("/v1/cluster")).json().items()
        if name in json.loads(bundle["cluster.json"])
    }
    assert [bdb["name"] for bdb in json.loads(bundle["databases.json"])] == ["shop"]
    assert [shard["uid"] for shard in json.loads(bundle["shards.json"])] == ["1", "2", "3", "4", "5", "6"]
    assert [node["uid"] for node in json.loads(bundle["nodes.json"])] == [1, 2, 3]
    assert set(json.loads(bundle["checks.json"])) == {"1", "2", "3"}
    assert json.loads(bundle["events.ndjson"].splitlines()[0])["type"] == "user_created"
    assert {"policy.json", "alarms.json", "actions.json", "proxies.json", "logs/console.log"} < set(bundle)
    assert bundle["logs/node-1/agent.log"] == "hello\n"
    assert bundle["logs/node-1/proxy.log"] == "served\n"
    assert bundle["logs/node-1/shard-1.log"] == "born\n"
    assert "logs/node-1/shard-99.log" not in bundle
    assert bundle["missing.txt"].startswith("logs/node-2: ")
    assert "node 2" in bundle["missing.txt"]
    assert all(path.split("/")[0] in bundle["README.txt"] for path in bundle if path != "README.txt")
    [event] = [each for each in (await client.get("/v1/logs")).json() if each["type"] == "support_bundle_made"]
    assert event["originator"] == "admin@example.org"


async def test_bundle_contains_the_last_hour_of_metrics(
    client: httpx.AsyncClient, console: Console, nodes: list[Node]
) -> None:
    now = int(time.time()) // 10 * 10
    frame = TopicFrame(now - 60, array("q", [1, 2]), {"cpu_user": array("f", [0.5, float("nan")])})
    async with console.store.begin() as session:
        layout = await metric_history.add_layout(session, list(frame.columns))
        await metric_history.write(session, [("nodes", 10, layout, frame)])
    bundle = files(await client.get(CLUSTER_BUNDLE))
    [row] = csv.DictReader(io.StringIO(bundle["metrics/nodes.csv"]))
    assert (row["time"], row["uid"], row["cpu_user"], row["conns"]) == (str(now - 60), "1", "0.5", "")
    assert bundle["metrics/cluster.csv"].startswith("time,uid,")


async def test_bundle_contains_no_secrets(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        bdb.config = {
            **bdb.config,
            "authentication_redis_pass": 'open"sesame',
            "other_passwords": ["ten-words"],
            "backup_location": {"type": "s3", "secret_access_key": "wJalrXUtnFEMI", "bucket_name": "shelf"},
        }
        bdb.admin_password, bdb.hides_internals = "of-the-agents", True
    section = info_section("of-the-agents")
    url = "https://hooks.example.org/services/T0001"
    await client.post("/v1/webhooks", json={"name": "chat", "url": url, "secret": "hush-hush"})
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"
    log_text = (
        f'AUTH open"sesame {json.dumps("open" + chr(34) + "sesame")} wJalrXUtnFEMI of-the-agents hush-hush {url} {key} '
        f"ten-words {section} "
    )
    agents.logged[1] = NodeLogs(agent=log_text + "postgresql://me:word@store/db\n", shards={1: log_text})
    reply = await client.get(CLUSTER_BUNDLE)
    content = "\n".join(files(reply).values())
    for secret in (
        "sesame",
        "ten-words",
        "wJalrXUtnFEMI",
        "of-the-agents",
        "hush-hush",
        "T0001",
        "MIIE",
        "me:word",
        section,
    ):
        assert secret not in content
    assert (
        files(reply)["logs/node-1/agent.log"]
        == 'AUTH *** "***" *** *** *** *** *** *** *** postgresql://***@store/db\n'
    )
    assert "shelf" not in content  # backup locations are returned only to editors


async def test_passwords_equal_to_common_words_do_not_damage_the_bundle(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents)
    async with console.store.begin() as session:
        bdb = await session.get_one(Bdb, active_database.BDB)
        passwords = ["true", "null", str(bdb.memory_size), "name"]
        tags = [{"key": "team", "value": "shop"}]
        bdb.config = {**bdb.config, "authentication_redis_pass": "uid:", "other_passwords": passwords, "tags": tags}
    bundle = files(await client.get(CLUSTER_BUNDLE))
    bdb_body = (await client.get("/v1/bdbs/1")).json()
    [bundled] = json.loads(bundle["databases.json"])
    assert {**bundled, "authentication_redis_pass": "uid:"}.keys() == bdb_body.keys()
    assert bundled["memory_size"] == bdb_body["memory_size"]
    assert bundled["tags"] == tags
    assert all(json.loads(line)["uid"] for line in bundle["events.ndjson"].splitlines())
    assert "memory" in bundle["metrics/nodes.csv"] or "cpu_user" in bundle["metrics/nodes.csv"]


async def test_user_name_like_a_private_key_does_not_hide_events(client: httpx.AsyncClient, nodes: list[Node]) -> None:
    await client.get("/v1/bdbs", auth=("-----BEGIN PRIVATE KEY-----", "guess"))
    log = files(await client.get(CLUSTER_BUNDLE))["events.ndjson"]
    assert len(log.splitlines()) == len((await client.get("/v1/logs")).json()) - 1  # without the event of the bundle
    assert "user_created" in log


async def test_unavailable_part_is_listed_as_missing(
    client: httpx.AsyncClient, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> str:
        raise BadRequest("too_much", "Too many values at once.")

    monkeypatch.setattr(service, "metrics", refused)
    bundle = files(await client.get(CLUSTER_BUNDLE))
    assert "metrics/shards.csv: Too many values at once." in bundle["missing.txt"].splitlines()
    assert not any(path.startswith("metrics/") for path in bundle)


async def test_full_disk_is_reported(
    client: httpx.AsyncClient, console: Console, nodes: list[Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SupportBundle, "add", full)
    reply = await client.get(CLUSTER_BUNDLE)
    assert (reply.status_code, reply.json()["error_code"]) == (503, "no_room")
    assert "No space left on device" in reply.json()["description"]
    assert not console.bundle_lock.locked()


async def test_only_one_bundle_is_created_at_a_time(
    client: httpx.AsyncClient, console: Console, nodes: list[Node]
) -> None:
    async with console.bundle_lock:
        reply = await client.get(CLUSTER_BUNDLE)
    assert (reply.status_code, reply.json()["error_code"]) == (409, "busy")
    assert (await client.get(CLUSTER_BUNDLE)).status_code == 200


async def test_bundle_of_one_node_or_database(
    client: httpx.AsyncClient, console: Console, agents: FakeAgents, nodes: list[Node]
) -> None:
    await active_database.create_active_database(console, agents, pairs=1)  # on nodes 1 and 2
    node_files = files(await client.get("/v1/nodes/3/debuginfo"))
    assert {path.split("/")[1] for path in node_files if path.startswith("logs/node")} == {"node-3"}
    for path in ("/v1/bdbs/1/debuginfo", "/v1/debuginfo/all/bdb/1", "/v1/debuginfo/node/bdb/1"):
        bdb_files = files(await client.get(path))
        assert {path.split("/")[1] for path in bdb_files if path.startswith("logs/node")} == {"node-1", "node-2"}
    for path in ("/v1/nodes/9/debuginfo", "/v1/bdbs/9/debuginfo", "/v1/debuginfo/all/bdb/9"):
        assert (await client.get(path)).status_code == 404
    for path in ("/v1/nodes/debuginfo", "/v1/bdbs/debuginfo", "/v1/debuginfo/all", "/v1/debuginfo/node"):
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(("role", "status"), [("cluster_viewer", 403), ("db_member", 403), ("cluster_member", 200)])
async def test_bundle_requires_a_cluster_role(client: httpx.AsyncClient, role: str, status: int) -> None:
    user = {"email": "ana", "password": "correct horse", "role": role}
    assert (await client.post("/v1/users", json=user)).status_code == 200
    assert (await client.get(CLUSTER_BUNDLE, auth=("ana", "correct horse"))).status_code == status


def test_log_buffer_is_limited() -> None:
    buffer = log_buffer.LogBuffer()
    log = logging.getLogger("test of the recent log")
    log.addHandler(buffer)
    for number in range(100):
        log.warning("%s %s", number, "x" * log_buffer.MAX_ENTRY_CHARACTERS)
    log.warning("the last one")
    text = buffer.text()
    assert text.endswith("the last one\n")
    assert len(text) <= log_buffer.MAX_CHARACTERS
    assert " 0 x" not in text
