"""Endpoint that returns JSON Schemas, for clients that build forms."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import JSONResponse

from shardboard.api.http.api_router import ApiRouter
from shardboard.api.http.database_scope import AnyViewer
from shardboard.api.http.error_replies import error_responses
from shardboard.domain import rule_schemas
from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.cluster.policy import Policy
from shardboard.errors import BadRequest
from shardboard.schemas.benchmarks.benchmark_requests import BenchmarkCreate
from shardboard.schemas.cluster.nodes import NodeUpdate
from shardboard.schemas.databases.bdb_requests import BdbCreate

router = ApiRouter(prefix="/v1", tags=["cluster"])

OBJECTS: dict[str, Callable[[], dict[str, Any]]] = {
    "bdb": BdbCreate.model_json_schema,
    "benchmark": BenchmarkCreate.model_json_schema,
    "cluster": lambda: rule_schemas.table_schema(ClusterSettings),
    "node": NodeUpdate.model_json_schema,
    "policy": lambda: rule_schemas.table_schema(Policy),
}


@router.get("/jsonschema", summary="Get JSON Schema", responses=error_responses())
async def get_jsonschema(
    _viewer: AnyViewer, name: Annotated[str, Query(alias="object", description=f"One of {', '.join(OBJECTS)}.")]
) -> JSONResponse:
    """Return the JSON Schema of the writable fields of an object: types, ranges, and defaults."""
    if name not in OBJECTS:
        raise BadRequest("bad_request", f"`object` must be one of {', '.join(OBJECTS)}.", field="object")
    return JSONResponse(OBJECTS[name]())
