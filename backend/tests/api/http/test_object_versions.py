"""Tests of `ETag` and `If-Match`: a change based on an outdated object is rejected."""

from typing import Any

import httpx
import pytest
from backend.tests.api.http.test_query_check import CHANGES, ROUTES, contents
from backend.tests.support import active_database
from sqlalchemy import update

from shardboard.api.http.object_versions import VERSIONED
from shardboard.console import Console
from shardboard.driver.fake_agents import FakeAgents
from shardboard.state.cluster.nodes import Node
from shardboard.state.databases.bdbs import Bdb

WITHOUT_VERSION = {
    "/v1/actions/{action_uid}",
    "/v1/backups/{uid}",
    "/v1/bdb_groups/{group_uid}",
    "/v1/bdbs/{uid}/certificates",
    "/v1/bdbs/{uid}/uploads/{upload_uid}",
    "/v1/benchmarks/{uid}",
    "/v1/cluster/actions/{action}",
    "/v1/cluster/auditing/db_conns",
    "/v1/cluster/certificates",
    "/v1/cluster/ldap",
    "/v1/cluster/oidc",
    "/v1/cluster/services_configuration",
    "/v1/cluster/sso",
    "/v1/cm_settings",
    "/v1/console_backups/schedule",
    "/v1/console_backups/{uid}",
    "/v1/crdbs/{guid}",
    "/v1/diagnostics",
    "/v1/job_scheduler",
    "/v1/license",
    "/v1/metrics_config",
    "/v1/nodes/{uid}/actions/{action}",
    "/v1/ocsp",
    "/v1/proxies",
    "/v1/scenario_runs/{uid}",
    "/v1/session",
    "/v1/users/{uid}/sessions",
}
"""Records of operations, lists, settings that are verified outside of the store before they are changed, settings objects of the
reference, and objects that never exist."""
CREATED: dict[str, Any] = {
    "/v1/backup_locations": {"name": "share", "location": {"type": "mount_point", "path": "/srv/backups"}},
    "/v1/ldap_mappings": {"name": "ops", "dn": "cn=ops,dc=example,dc=org", "role": "db_member"},
    "/v1/redis_acls": {"name": "reader", "acl": "+@read ~*"},
    "/v1/roles": {"name": "team", "management": "db_viewer"},
    "/v1/users": {"email": "ann@example.org", "password": "long enough password"},
    "/v1/webhooks": {"name": "chat", "url": "https://chat.example.org/hook"},
}
CHANGED: dict[str, Any] = {
    "/v1/backup_locations/{uid}": {"name": "other"},
    "/v1/bdbs/{uid}": {"memory_size": 2 * 10**9},
    "/v1/benchmarks/cost_model": {"currency": "EUR", "ram_gb": 1.0, "flash_gb": 1.0, "node": 1.0},
    "/v1/cluster": {"dns_suffix": "db.example.org"},
    "/v1/cluster/policy": {"default_shards_placement": "sparse"},
    "/v1/ldap_mappings/{uid}": {"name": "other"},
    "/v1/nodes/{uid}": {"max_redis_servers": 50},
    "/v1/proxies/{uid}": {"proxy": {"max_threads": 5}},
    "/v1/redis_acls/{uid}": {"name": "other"},
    "/v1/roles/{uid}": {"name": "other"},
    "/v1/users/{uid}": {"name": "Ann"},
    "/v1/webhooks/{uid}": {"name": "other"},
}
"""Bodies of PUT that change the object."""


@pytest.fixture
async def database(console: Console, agents: FakeAgents, nodes: list[Node]) -> None:
    await active_database.create_active_database(console, agents)


def test_every_object_that_can_be_changed_has_a_version() -> None:
    read = {route.path for route in ROUTES if "GET" in route.methods}
    changed = {path for method, path in CHANGES if method in ("PUT", "DELETE")}
    assert read & changed == VERSIONED.keys() | WITHOUT_VERSION
    assert CHANGED.keys() == VERSIONED.keys()


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize("path", sorted(VERSIONED))
async def test_a_change_of_an_outdated_object_is_rejected(
    console: Console, client: httpx.AsyncClient, path: str
) -> None:
    uid = 1
    if body := CREATED.get(path.removesuffix("/{uid}")):
        uid = (await client.post(path.removesuffix("/{uid}"), json=body)).json()["uid"]
    address = path.replace("{uid}", str(uid))
    tag = (await client.get(address)).headers["etag"]
    assert (await client.get(address)).headers["etag"] == tag
    before = await contents(console)
    methods = [method for method, changed_path in CHANGES if changed_path == path]
    for method in methods:
        outdated = await client.request(method, address, json=CHANGED[path], headers={"If-Match": '"outdated"'})
        assert (outdated.status_code, outdated.json()["error_code"]) == (412, "precondition_failed"), method
        assert outdated.json()["field"] == "If-Match"
    assert await contents(console) == before
    changed = await client.put(address, json=CHANGED[path], headers={"If-Match": f'"other", W/{tag}'})
    assert changed.status_code == 200, changed.text
    assert (await client.put(address, json=CHANGED[path], headers={"If-Match": tag})).status_code == 412
    assert (await client.get(address)).headers["etag"] != tag
    if "DELETE" in methods and path != "/v1/bdbs/{uid}":
        assert (await client.delete(address, headers={"If-Match": "*"})).status_code == 200
        assert (await client.delete(address, headers={"If-Match": "*"})).status_code == 404


@pytest.mark.usefixtures("database")
async def test_versions_do_not_change_with_the_status(console: Console, client: httpx.AsyncClient) -> None:
    tag = (await client.get("/v1/bdbs/1")).headers["etag"]
    async with console.store.begin() as session:
        await session.execute(update(Bdb).values(status="active-change-pending", action_uid="x"))
    assert (await client.get("/v1/bdbs/1")).headers["etag"] == tag
    assert (await client.get("/v1/bdbs/1?fields=name")).headers["etag"] == tag


async def test_if_match_is_refused_where_it_has_no_effect(console: Console, client: httpx.AsyncClient) -> None:
    before = await contents(console)
    for method, path in CHANGES:
        if path not in VERSIONED and not path.endswith("/content"):
            address = path.replace("{uid}", "1")
            reply = await client.request(method, address, json={}, headers={"If-Match": '"x"'})
            assert (reply.status_code, reply.json()["field"]) == (400, "If-Match"), (method, path)
    assert await contents(console) == before
    assert (await client.get("/v1/bdbs", headers={"If-Match": '"x"'})).status_code == 200


async def test_roles_are_checked_before_the_version(client: httpx.AsyncClient, browser: httpx.AsyncClient) -> None:
    await client.post("/v1/users", json={"email": "ann", "password": "long enough password", "role": "db_viewer"})
    reply = await browser.put(
        "/v1/cluster", json={"name": "x"}, headers={"If-Match": '"x"'}, auth=("ann", "long enough password")
    )
    assert reply.status_code == 403
    assert "etag" not in (await browser.get("/v1/cluster")).headers
