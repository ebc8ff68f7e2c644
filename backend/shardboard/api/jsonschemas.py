"""What objects look like, for clients that make forms of it."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from shardboard.api.reach import AnyViewer
from shardboard.api.replies import errors
from shardboard.domain import rule_schemas
from shardboard.domain.cluster_settings import ClusterSettings
from shardboard.domain.policy import Policy
from shardboard.errors import BadRequest
from shardboard.schemas.bdb_requests import BdbCreate
from shardboard.schemas.benchmark_requests import BenchmarkCreate
from shardboard.schemas.nodes import NodeUpdate

router = APIRouter(tags=["cluster"])

OBJECTS: dict[str, Callable[[], dict[str, Any]]] = {
    "bdb": BdbCreate.model_json_schema,
    "benchmark": BenchmarkCreate.model_json_schema,
    "cluster": lambda: rule_schemas.of_table(ClusterSettings),
    "node": NodeUpdate.model_json_schema,
    "policy": lambda: rule_schemas.of_table(Policy),
}


@router.get("/jsonschema", responses=errors())
async def get_jsonschema(
    _viewer: AnyViewer, name: Annotated[str, Query(alias="object", description=f"one of {', '.join(OBJECTS)}")]
) -> JSONResponse:
    """The JSON Schema of an object's fields that may be set: types, ranges, and defaults."""
    if name not in OBJECTS:
        raise BadRequest("bad_request", f"object is one of {', '.join(OBJECTS)}.", field="object")
    return JSONResponse(OBJECTS[name]())
