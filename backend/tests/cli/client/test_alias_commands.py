"""Tests of the words of `rladmin`."""

import httpx
import pytest
from backend.tests.cli.client.conftest import FakeConsole, Run, SentRequest

SHARDS = [
    {"uid": "4", "bdb_uid": 1, "node_uid": "1", "role": "master"},
    {"uid": "5", "bdb_uid": 1, "node_uid": "2", "role": "slave"},
    {"uid": "6", "bdb_uid": 2, "node_uid": "1", "role": "master"},
]
ENDPOINT = {
    "uid": "1:1",
    "port": 12000,
    "proxy_policy": "single",
    "tls": True,
    "proxies": [{"uid": 1, "address": "192.0.2.1", "status": "active"}],
}


NODE_ACTIONS = ("maintenance_on", "enslave_node", "remove")
CHANGES = (
    *("PUT /v1/proxies", "PUT /v1/proxies/2", "PUT /v1/bdbs/1", "PUT /v1/nodes/1", "PUT /v1/nodes/2"),
    *("PUT /v1/cluster/policy", "POST /v1/shards/actions/migrate", "POST /v1/shards/actions/failover"),
    "POST /v1/bdbs/1/upgrade",
)


@pytest.fixture(autouse=True)
def objects(fake_console: FakeConsole) -> None:
    fake_console.replies = {
        "GET /v1/cluster": {"name": "cluster.example.org"},
        "GET /v1/cluster/policy": {"rack_aware": False},
        "GET /v1/bdbs": [{"uid": 1, "name": "orders", "status": "active"}],
        "GET /v1/bdbs/1/endpoint": ENDPOINT,
        "GET /v1/nodes": [{"uid": 1, "addr": "192.0.2.1"}, {"uid": 2, "addr": "192.0.2.2"}],
        "GET /v1/shards": SHARDS,
        "GET /v1/proxies": [{"uid": 1, "threads": 4}, {"uid": 2, "threads": 4}],
        "GET /v1/proxies/2": {"uid": 2, "threads": 4},
        **{f"POST /v1/nodes/1/actions/{name}": {"action_uid": "a1"} for name in NODE_ACTIONS},
        **{request: {} for request in CHANGES},
    }


@pytest.mark.parametrize(
    ("command", "requests"),
    [
        ("tune proxy all threads 24", [("PUT", "/v1/proxies", {"proxy": {"threads": 24}})]),
        ("tune proxy all max_threads 24", [("PUT", "/v1/proxies", {"proxy": {"max_threads": 24}})]),
        ("tune proxy 2 mode static", [("PUT", "/v1/proxies/2", {"proxy": {"dynamic_threads_scaling": False}})]),
        ("tune db orders oss_cluster enabled", [("PUT", "/v1/bdbs/1", {"oss_cluster": True})]),
        ("tune db db:1 memory_size 2GiB", [("PUT", "/v1/bdbs/1", {"memory_size": 2**31})]),
        (
            "tune node all max_listeners 9",
            [("PUT", f"/v1/nodes/{uid}", {"max_listeners": 9}) for uid in (1, 2)],
        ),
        ("tune cluster rack_aware yes", [("PUT", "/v1/cluster/policy", {"rack_aware": True})]),
        (
            "migrate shard redis:4 5 target_node 2",
            [("POST", "/v1/shards/actions/migrate", {"shard_uids": ["4", "5"], "target_node_uid": 2})],
        ),
        (
            "migrate db orders all_shards target_node 192.0.2.2 override_rack_policy",
            [
                (
                    "POST",
                    "/v1/shards/actions/migrate",
                    {"shard_uids": ["4", "5"], "target_node_uid": 2, "override_rack_policy": True},
                )
            ],
        ),
        (
            "migrate node 1 all_master_shards target_node 2",
            [("POST", "/v1/shards/actions/migrate", {"shard_uids": ["4", "6"], "target_node_uid": 2})],
        ),
        ("failover db orders shard 4", [("POST", "/v1/shards/actions/failover", {"shard_uids": ["4"]})]),
        ("failover shard 4 immediate", [("POST", "/v1/shards/actions/failover", {"shard_uids": ["4"], "force": True})]),
        ("bind db orders endpoint 1:1 policy all-nodes", [("PUT", "/v1/bdbs/1", {"proxy_policy": "all-nodes"})]),
        ("placement db orders sparse", [("PUT", "/v1/bdbs/1", {"shards_placement": "sparse"})]),
        ("restart db orders", [("POST", "/v1/bdbs/1/upgrade", {"force_restart": True})]),
        ("node 1 maintenance_mode on --no-wait", [("POST", "/v1/nodes/1/actions/maintenance_on", None)]),
        ("node 192.0.2.1 enslave --no-wait", [("POST", "/v1/nodes/1/actions/enslave_node", None)]),
        ("node node:1 remove --no-wait --yes", [("POST", "/v1/nodes/1/actions/remove", None)]),
        ("upgrade db orders", [("POST", "/v1/bdbs/1/upgrade", None)]),
    ],
)
def test_words_lead_to_requests(
    fake_console: FakeConsole, run: Run, command: str, requests: list[tuple[str, str, object]]
) -> None:
    result = run(*command.split())
    assert result.status == 0, result.err
    assert fake_console.sent == [SentRequest(*each) for each in requests]


@pytest.mark.parametrize(
    ("command", "native"),
    [
        ("tune", "shardboard db update NAME --set FIELD=VALUE"),
        ("tune db orders maxclients", "shardboard db update orders --set FIELD=VALUE"),
        ("tune proxy all", "shardboard api PUT /v1/proxies --set threads=24"),
        ("info license", "shardboard db get NAME"),
        ("migrate shard 4", "shardboard api POST /v1/shards/actions/migrate"),
        ("failover", "shardboard api POST /v1/shards/actions/failover"),
        ("bind endpoint 1:1 include 2", "shardboard db update NAME --set proxy_policy=VALUE"),
        ("placement db orders loose", "shardboard db update NAME --set shards_placement=VALUE"),
        ("restart proxy 1", "shardboard api POST /v1/bdbs/UID/upgrade"),
        ("verify balance", "shardboard status shards"),
        ("node 1 addr set 192.0.2.9", "shardboard node update"),
    ],
)
def test_unknown_words_are_reported_with_the_native_command(
    fake_console: FakeConsole, run: Run, command: str, native: str
) -> None:
    result = run(*command.split())
    assert (result.status, fake_console.sent) == (2, [])
    assert f"the native command is `{native}" in result.err


def test_unknown_field_is_reported_with_the_native_command(
    run: Run, fake_console: FakeConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = httpx.Response(400, json={"error_code": "bad_request", "description": 'Unknown field "mkms".'})
    handle = fake_console.handle_request
    monkeypatch.setattr(fake_console, "handle_request", lambda sent: refusal if sent.method == "PUT" else handle(sent))
    result = run("tune", "db", "orders", "mkms", "enabled")
    expected = 'Unknown field "mkms"; the native command is `shardboard db update orders --set FIELD=VALUE`'
    assert (result.status, expected in result.err) == (2, True)


def test_status_and_info_show_objects(run: Run) -> None:
    assert "cluster.example.org: 2 nodes, 1 database" in run("status").out
    assert run("status", "endpoints").out.splitlines()[1].split() == [
        *("orders", "1:1", "192.0.2.1", "single", "12000", "yes", "active")
    ]
    assert [line.split()[0] for line in run("status", "shards").out.splitlines()[1:]] == ["4", "5", "6"]
    assert "rack_aware" in run("info", "cluster").out
    assert "name    orders" in run("info", "db", "orders").out
    assert run("info", "proxy", "all").out.count("threads") == 2
