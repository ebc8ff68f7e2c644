"""Tests of filters, order, pages and fields of lists."""

from typing import Any, get_args, get_origin

import httpx
import pytest
from fastapi.routing import APIRoute

from shardboard.api.http.lists import FieldSelection, ListQuery
from shardboard.app import AREAS

ITEMS: list[dict[str, Any]] = [
    {"uid": 1, "name": "b", "size": 5, "status": "active", "tags": [{"key": "team", "value": "shop"}]},
    {"uid": 2, "name": "a", "size": None, "status": "pending", "tags": [{"key": "team", "value": "ops"}]},
    {"uid": 3, "name": "c", "size": 5, "status": "active", "tags": []},
]
OTHER_LISTS = {
    "/v1/audit",
    "/v1/backups",
    "/v1/bdbs/certificates",
    "/v1/bdbs/stats",
    "/v1/bdbs/{uid}/actions/optimize_shards_placement",
    "/v1/bdbs/{uid}/address_changes",
    "/v1/benchmarks",
    "/v1/benchmarks/scenarios",
    "/v1/consoles",
    "/v1/crdb_tasks",
    "/v1/endpoints/stats",
    "/v1/incidents",
    "/v1/logs",
    "/v1/modules",
    "/v1/nodes/stats",
    "/v1/nodes/{uid}/address_changes",
    "/v1/nodes/{uid}/host",
    "/v1/nodes/{uid}/snapshots",
    "/v1/restores",
    "/v1/scenario_runs",
    "/v1/scenarios",
    "/v1/shards/stats",
    "/v1/suffixes",
    "/v1/timeline",
    "/v2/actions",
    "/v2/local/modules/user-defined/artifacts",
}
"""Lists with other parameters, and lists that are always short or empty."""


def select(**changes: Any) -> list[int]:
    query = ListQuery(
        **{"fields": FieldSelection(frozenset()), "filters": {}, "sort": (), "limit": 100, "offset": 0, **changes}
    )
    return [item["uid"] for item in query.select(ITEMS)[0]]


@pytest.mark.parametrize(
    ("changes", "uids"),
    [
        ({}, [1, 2, 3]),
        ({"filters": {"name": ["a"]}}, [2]),
        ({"filters": {"name": ["a", "c"], "status": ["active"]}}, [3]),
        ({"filters": {"tag": ["team"]}}, [1, 2]),
        ({"filters": {"tag": ["team:shop"]}}, [1]),
        ({"filters": {"tag": ["team", "other"]}}, []),
        ({"sort": ["name"]}, [2, 1, 3]),
        ({"sort": ["-name"]}, [3, 1, 2]),
        ({"sort": ["size", "-uid"]}, [3, 1, 2]),
        ({"limit": 1, "offset": 1}, [2]),
        ({"offset": 3}, []),
    ],
)
def test_lists_are_filtered_sorted_and_paged(changes: dict[str, Any], uids: list[int]) -> None:
    assert select(**changes) == uids


def test_every_list_has_the_common_parameters() -> None:
    without = set()
    for route in (route for area in AREAS for router in area.ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        if get_origin(route.response_model) is not list or "GET" not in route.methods:
            continue
        names = {param.alias for each in route.dependant.dependencies for param in each.query_params}
        if not {"sort", "limit", "offset"} <= names:
            without.add(route.path)
        else:
            fields = get_args(route.response_model)[0].model_fields
            assert ("name" in names, "status" in names) == ("name" in fields, "status" in fields), route.path
    assert without == OTHER_LISTS


async def test_pages_have_the_total_number(client: httpx.AsyncClient) -> None:
    reply = await client.get("/v1/roles", params={"sort": "-uid", "limit": 2, "offset": 1, "fields": "uid"})
    assert reply.json() == [{"uid": 5}, {"uid": 4}]
    assert reply.headers["x-total-count"] == "6"
    assert (await client.get("/v1/roles?name=Admin&name=None&sort=name&fields=name")).json() == [
        {"name": "Admin"},
        {"name": "None"},
    ]
    refused = await client.get("/v1/roles?sort=-size")
    assert (refused.status_code, refused.json()["field"]) == (400, "sort")
    assert (await client.get("/v1/roles?limit=0")).status_code == 400
